// Chooses the files of a repository that make a model folder: one graph with its external data, the tokenizer, and the
// files that say how the graph's output becomes a vector. Reads and writes nothing.
import { Refusal } from './faults.mjs';

const GRAPHS = ['onnx/model.onnx', 'model.onnx'];
const SETTINGS = [
  /^(config|tokenizer|tokenizer_config|special_tokens_map|modules|config_sentence_transformers|sentence_[\w-]+_config)\.json$/,
  /^\d+_\w+\/config\.json$/, // Modules of sentence-transformers: pooling, normalization, dense layers.
];

/** The path of the graph that the user named, or of the usual one. */
export function chooseGraph({ repo, files }, asked) {
  const graphs = files.map(({ path }) => path).filter((path) => path.endsWith('.onnx'));
  const graph = (asked === undefined ? GRAPHS : [asked]).find((path) => graphs.includes(path));
  if (graph !== undefined) return graph;
  if (graphs.length > 0)
    throw new Refusal(
      `${repo} has no ${asked ?? GRAPHS.join(' and no ')}: choose with --file one of ${graphs.join(', ')}`,
    );
  const base = repo.split('/').at(-1);
  throw new Refusal(
    `${repo} has no ONNX graph: look for a copy with one (onnx-community/${base} or Xenova/${base}, say), or make one: optimum-cli export onnx --model ${repo} models/${repo}`,
  );
}

/** All files that these graphs need, the graphs last: a folder that has a graph has all the rest. */
export function chooseFiles({ repo, files }, graphs) {
  const gone = graphs.find((graph) => !files.some(({ path }) => path === graph));
  if (gone !== undefined)
    throw new Refusal(
      `${repo} has no ${gone} any more, which is in the folder: remove the folder, or choose another with --to`,
    );
  if (!files.some(({ path }) => path === 'tokenizer.json'))
    throw new Refusal(
      `${repo} has no tokenizer.json, without which texts cannot be read: choose another model, or a copy for transformers.js`,
    );
  const settings = files.filter(({ path }) => SETTINGS.some((pattern) => pattern.test(path)));
  const weights = files.filter(({ path }) =>
    graphs.some((graph) => path.startsWith(graph) && /^[._]data(_\d+)?$/.test(path.slice(graph.length))),
  );
  return [...settings, ...weights, ...files.filter(({ path }) => graphs.includes(path))];
}
