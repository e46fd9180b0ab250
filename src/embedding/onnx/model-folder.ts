// Reads a model folder in the layout of sentence-transformers: which graph, how its tokens become a vector, how much it
// reads, what stands before queries and passages. Files only, no model is run. Called by the configuration at start;
// front thread.
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { OnnxModel, Pooling } from '../contract/embedder.js';
import {
  countOf,
  isObject,
  ModelFolderError,
  readJson,
  readObject,
  textOf,
  type Folder,
  type JsonObject,
} from './model-json.js';
import { readModules } from './model-modules.js';

export { ModelFolderError } from './model-json.js';

export interface ModelFolderOptions {
  /** The folder, relative to the working directory. */
  path: string;
  /** The graph, relative to the folder. */
  file?: string;
  dim?: number;
  pooling?: Pooling;
  maxTokens?: number;
  queryPrefix?: string;
  passagePrefix?: string;
}

/** What a model folder is looked through for where no file is named: these do not shape the space. */
export const GRAPHS: readonly string[] = ['onnx/model.onnx', 'model.onnx'];
const TOKENIZERS = ['WordPiece', 'BPE', 'Unigram'];
/** Where the folder does not say how much its model was trained to read: what most were. */
const TOKENS_MAX = 512;
/** In these, positions begin behind that of the padding token. */
const OFFSET_POSITIONS = ['roberta', 'xlm-roberta', 'camembert', 'mpnet', 'xmod', 'longformer'];

/** `at`: the place in the configuration, for messages. Throws ModelFolderError where the folder cannot be served. */
export function readModelFolder(at: string, options: ModelFolderOptions): OnnxModel {
  const folder: Folder = { at, directory: resolve(options.path) };
  if (!statSync(folder.directory, { throwIfNoEntry: false })?.isDirectory())
    throw new ModelFolderError(`${at}: ${options.path} is no folder`);
  const config = readObject(folder, 'config.json');
  const { modelDim, pooling, ownVector } = readModules(folder, config, options.pooling);
  checkTokenizer(folder);
  return {
    directory: folder.directory,
    file: graphOf(folder, options.file),
    pooling,
    ownVector,
    tokensMax: tokensMaxOf(folder, config, options.maxTokens),
    ...dimsOf(folder, modelDim, options.dim),
    ...prefixesOf(folder, options),
  };
}

export function graphOf({ at, directory }: Folder, configured: string | undefined): string {
  const file = (configured === undefined ? GRAPHS : [configured]).find((name) => existsSync(join(directory, name)));
  if (file !== undefined) return file;
  if (configured !== undefined) throw new ModelFolderError(`${at}: ${directory} has no file ${configured}`);
  const others = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.onnx'));
  const remedy =
    others.length > 0
      ? `name the one to use as its file: ${others.sort().join(', ')}`
      : 'export one, or fetch a copy of the model that has one';
  throw new ModelFolderError(`${at}: ${directory} has no ONNX graph ${GRAPHS.join(' or ')}; ${remedy}`);
}

export function checkTokenizer(folder: Folder): void {
  const tokenizer = readJson(folder, 'tokenizer.json');
  const place = join(folder.directory, 'tokenizer.json');
  if (tokenizer === undefined)
    throw new ModelFolderError(`${folder.at}: ${place} is missing: the tokenizer is read from it`);
  const model = isObject(tokenizer) ? tokenizer.model : undefined;
  if (!isObject(model)) throw new ModelFolderError(`${folder.at}: ${place} has no tokenizer model`);
  const type = textOf(model.type);
  if (type !== undefined && !TOKENIZERS.includes(type))
    throw new ModelFolderError(
      `${folder.at}: ${place} is a tokenizer of type ${type}; there are ${TOKENIZERS.join(', ')}`,
    );
}

/** Tokens that the model reads: as configured, else as it was trained, never more than it has positions for. */
export function tokensMaxOf(folder: Folder, config: JsonObject, configured: number | undefined): number {
  const positions = positionsOf(config);
  if (configured !== undefined && configured > positions)
    throw new ModelFolderError(`${folder.at}: the model reads at most ${positions} tokens, not ${configured}`);
  const trained = countOf(readObject(folder, 'sentence_bert_config.json'), 'max_seq_length');
  const usual = Math.min(
    TOKENS_MAX,
    countOf(readObject(folder, 'tokenizer_config.json'), 'model_max_length') ?? Infinity,
  );
  return Math.min(configured ?? trained ?? usual, positions);
}

function positionsOf(config: JsonObject): number {
  const positions = countOf(config, 'max_position_embeddings', 'n_positions') ?? Infinity;
  if (!OFFSET_POSITIONS.includes(textOf(config.model_type) ?? '')) return positions;
  return positions - (Number.isInteger(config.pad_token_id) ? (config.pad_token_id as number) : 1) - 1;
}

function dimsOf(
  { at, directory }: Folder,
  modelDim: number | undefined,
  dim: number | undefined,
): Pick<OnnxModel, 'modelDim' | 'dim'> {
  const known = modelDim ?? dim;
  if (known === undefined)
    throw new ModelFolderError(`${at}: ${directory} does not say how long its vectors are: give dim`);
  if (dim !== undefined && dim > known)
    throw new ModelFolderError(`${at}: the model's vectors have ${known} dimensions, not ${dim}`);
  return { modelDim: known, dim: dim ?? known };
}

/** As configured, else the folder's prompts by the names that sentence-transformers uses. */
function prefixesOf(
  folder: Folder,
  { queryPrefix, passagePrefix }: ModelFolderOptions,
): Pick<OnnxModel, 'queryPrefix' | 'passagePrefix'> {
  const { prompts, default_prompt_name } = readObject(folder, 'config_sentence_transformers.json');
  const named = isObject(prompts) ? prompts : {};
  const usual = textOf(named[textOf(default_prompt_name) ?? '']) ?? '';
  return {
    queryPrefix: queryPrefix ?? textOf(named.query) ?? usual,
    passagePrefix: passagePrefix ?? textOf(named.passage) ?? textOf(named.document) ?? usual,
  };
}
