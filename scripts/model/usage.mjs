// The lines that use a model folder, as `npm run model` ends with: the folder alone where its graph is the usual one,
// else an instance that names it. Called by model.mjs.
import { sep } from 'node:path';

/** What the server takes where no file is named. */
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

/** As a shell takes it. */
const quoted = (text) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);
