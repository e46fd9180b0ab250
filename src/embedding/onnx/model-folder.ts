// Reads a model folder in the layout of sentence-transformers: graph, pooling, maximum length, prefixes of queries and
// passages. Reads files only and runs no model. Errors are written for the operator.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { OnnxModel, OnnxReranker, Pooling } from '../embedder-spec.js';

/** The configured model folder is unusable. The message names the configuration key and the problem. */
export class ModelFolderError extends Error {
  override readonly name = 'ModelFolderError';
}

type JsonObject = Readonly<Record<string, unknown>>;

/** The configuration key, for messages, and the path of the folder. */
interface Folder {
  at: string;
  directory: string;
}

/** Parses a JSON file; undefined if it is absent. Throws ModelFolderError if it is not JSON. */
function readJson({ at, directory }: Folder, file: string): unknown {
  const path = join(directory, file);
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    const reason =
      error instanceof SyntaxError ? 'is not JSON' : `cannot be read (${(error as NodeJS.ErrnoException).code})`;
    throw new ModelFolderError(`${at}: ${path} ${reason}`);
  }
}

/** Parses a JSON file that must be an object; {} if it is absent. */
export function readObject(folder: Folder, file: string): JsonObject {
  const value = readJson(folder, file) ?? {};
  if (isObject(value)) return value;
  throw new ModelFolderError(`${folder.at}: ${join(folder.directory, file)} should be a JSON object`);
}

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The first of the named values that is a positive integer. */
function countOf(object: JsonObject, ...names: string[]): number | undefined {
  return names
    .map((name) => object[name])
    .find((value): value is number => Number.isInteger(value) && (value as number) > 0);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

interface Module {
  /** The class name without its package: `Pooling`. */
  kind: string;
  path: string;
}

const POOLING_FLAGS: Readonly<Record<string, Pooling>> = {
  pooling_mode_mean_tokens: 'mean',
  pooling_mode_cls_token: 'cls',
  pooling_mode_max_tokens: 'max',
  pooling_mode_mean_sqrt_len_tokens: 'mean_sqrt_len',
  pooling_mode_lasttoken: 'last_token',
};
/** Dropout has no effect at inference, and vectors are normalized anyway. */
const PLAIN_MODULES = ['Transformer', 'Pooling', 'Normalize', 'Dropout'];

/**
 * Reads pooling and output dimensions (modules.json). `modelDim` is undefined if no file has it. Throws
 * ModelFolderError for an unsupported pooling.
 */
function readModules(
  folder: Folder,
  config: JsonObject,
  configured: Pooling | undefined,
): Pick<OnnxModel, 'pooling' | 'ownVector'> & { modelDim: number | undefined } {
  const modules = modulesOf(folder);
  const poolingPath = modules.find(({ kind }) => kind === 'Pooling')?.path ?? '1_Pooling';
  const poolingConfig = readObject(folder, join(poolingPath, 'config.json'));
  const others = modules.filter(({ kind }) => !PLAIN_MODULES.includes(kind));
  if (others.length > 0 && configured !== undefined) {
    throw new ModelFolderError(
      `${folder.at}: the model has ${others.map(({ kind }) => kind).join(', ')} after its pooling, so its pooling cannot be configured`,
    );
  }
  const last = others.at(-1);
  const lastDim = last && countOf(readObject(folder, join(last.path, 'config.json')), 'out_features');
  return {
    modelDim:
      lastDim ??
      countOf(poolingConfig, 'word_embedding_dimension', 'embedding_dimension') ??
      countOf(config, 'hidden_size', 'd_model', 'n_embd', 'dim'),
    // Modules after the pooling can only be part of the graph, so the graph's own vector is required.
    ownVector: others.length > 0 ? 'always' : configured === undefined ? 'preferred' : 'never',
    pooling: configured ?? poolingOf(folder, join(poolingPath, 'config.json'), poolingConfig),
  };
}

function modulesOf(folder: Folder): Module[] {
  const modules = readJson(folder, 'modules.json') ?? [];
  if (!Array.isArray(modules))
    throw new ModelFolderError(`${folder.at}: ${join(folder.directory, 'modules.json')} should be a JSON list`);
  return modules
    .filter(isObject)
    .map(({ type, path }) => ({ kind: (textOf(type) ?? '').split('.').at(-1) as string, path: textOf(path) ?? '' }));
}

/** The pooling of the folder; mean if it has none. */
function poolingOf({ at, directory }: Folder, file: string, config: JsonObject): Pooling {
  const wanted = Object.keys(config).filter((name) => name.startsWith('pooling_mode_') && config[name] === true);
  const [flag = 'pooling_mode_mean_tokens', ...more] = wanted;
  const pooling = POOLING_FLAGS[flag];
  const place = join(directory, file);
  if (more.length > 0)
    throw new ModelFolderError(
      `${at}: ${place} requires ${wanted.join(' and ')}; only one way of pooling is supported at a time`,
    );
  if (!pooling)
    throw new ModelFolderError(
      `${at}: ${place} requires ${flag}, which is not supported; supported are ${Object.keys(POOLING_FLAGS).join(', ')}`,
    );
  if (config.include_prompt === false)
    throw new ModelFolderError(`${at}: ${place} leaves prompts out of the pooling, which is not supported`);
  return pooling;
}

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

/** Graph files to look for if none is configured. The choice does not affect the vector space. */
export const GRAPHS: readonly string[] = ['onnx/model.onnx', 'model.onnx'];
const TOKENIZERS = ['WordPiece', 'BPE', 'Unigram'];
/** Default for folders that do not state the training length: that of most models. */
const TOKENS_MAX = 512;
/** Models whose positions start after that of the padding token. */
const OFFSET_POSITIONS = ['roberta', 'xlm-roberta', 'camembert', 'mpnet', 'xmod', 'longformer'];

/** `at` is the configuration key, for messages. Throws ModelFolderError if the folder is unusable. */
export function readModelFolder(at: string, options: ModelFolderOptions): OnnxModel {
  const folder: Folder = { at, directory: resolve(options.path) };
  if (!statSync(folder.directory, { throwIfNoEntry: false })?.isDirectory())
    throw new ModelFolderError(`${at}: ${options.path} is not a folder`);
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

function graphOf({ at, directory }: Folder, configured: string | undefined): string {
  const file = (configured === undefined ? GRAPHS : [configured]).find((name) => existsSync(join(directory, name)));
  if (file !== undefined) return file;
  if (configured !== undefined) throw new ModelFolderError(`${at}: ${directory} has no file ${configured}`);
  const others = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.onnx'));
  const remedy =
    others.length > 0
      ? `name the one to use as its file: ${others.sort().join(', ')}`
      : 'export one, or download a copy of the model that has one';
  throw new ModelFolderError(`${at}: ${directory} has no ONNX graph ${GRAPHS.join(' or ')}; ${remedy}`);
}

function checkTokenizer(folder: Folder): void {
  const tokenizer = readJson(folder, 'tokenizer.json');
  const place = join(folder.directory, 'tokenizer.json');
  if (tokenizer === undefined)
    throw new ModelFolderError(`${folder.at}: ${place} is missing; the tokenizer is read from it`);
  const model = isObject(tokenizer) ? tokenizer.model : undefined;
  if (!isObject(model)) throw new ModelFolderError(`${folder.at}: ${place} has no tokenizer model`);
  const type = textOf(model.type);
  if (type !== undefined && !TOKENIZERS.includes(type))
    throw new ModelFolderError(
      `${folder.at}: ${place} is a tokenizer of type ${type}; supported are ${TOKENIZERS.join(', ')}`,
    );
}

/** Tokens that the model reads: as configured, else its training length, but at most its number of positions. */
function tokensMaxOf(folder: Folder, config: JsonObject, configured: number | undefined): number {
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
    throw new ModelFolderError(`${at}: ${directory} does not state the dimensions of its vectors: configure dim`);
  if (dim !== undefined && dim > known)
    throw new ModelFolderError(`${at}: the model's vectors have ${known} dimensions, not ${dim}`);
  return { modelDim: known, dim: dim ?? known };
}

/** The configured prefixes, else the folder's prompts by the names that sentence-transformers uses. */
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

interface RerankerFolderOptions {
  /** The folder, relative to the working directory. */
  path: string;
  /** The graph, relative to the folder. */
  file: string | undefined;
  maxTokens: number | undefined;
}

/**
 * Reads a cross-encoder folder: graph, and maximum tokens of a pair. `at` is the configuration key, for messages.
 * Throws ModelFolderError if the folder is unusable.
 */
export function readRerankerFolder(at: string, { path, file, maxTokens }: RerankerFolderOptions): OnnxReranker {
  const folder: Folder = { at, directory: resolve(path) };
  checkTokenizer(folder);
  return {
    directory: folder.directory,
    file: graphOf(folder, file),
    tokensMax: tokensMaxOf(folder, readObject(folder, 'config.json'), maxTokens),
  };
}
