// The settings that use a downloaded model folder: only the folder where its graph is one of the usual files, else an
// embedder instance that names the file.
import { sep } from 'node:path';

/** The graphs that the server looks for where no file is named. */
const USUAL = ['onnx/model.onnx', 'model.onnx'];

export function usageLines(folder, graph) {
  const path = folder.startsWith(sep) ? folder : `./${folder}`.replace(/^\.\/\.\//, './');
  if (USUAL.includes(graph)) {
    return [
      'Use it as the default, in sheaf.yaml or by the environment:',
      `  embedder: {model: ${JSON.stringify(path)}}`,
      `  SHEAF_EMBEDDER__MODEL=${quoted(path)} npm start`,
    ];
  }
  const instances = `[{key: model, type: onnx, path: ${JSON.stringify(path)}, file: ${JSON.stringify(graph)}}]`;
  return [
    'Use it as the default, in sheaf.yaml or by the environment:',
    `  embedder: {default: model, instances: ${instances}}`,
    `  SHEAF_EMBEDDER__DEFAULT=model SHEAF_EMBEDDER__INSTANCES=${quoted(instances)} npm start`,
  ];
}

/** A text quoted for the shell. */
const quoted = (text) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
