// The modules of a model folder (modules.json): what a text goes through behind the network, and how long its vector is
// then. Used by model-folder.ts at start; front thread.
import { join } from 'node:path';
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

interface Module {
  /** Without its package: `Pooling`. */
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
/** Dropout does nothing when a model is used; vectors are normalized anyway. */
const PLAIN_MODULES = ['Transformer', 'Pooling', 'Normalize', 'Dropout'];

/** `modelDim` is undefined where no file tells it. Throws ModelFolderError for a pooling that is not served. */
export function readModules(
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
      `${folder.at}: the model goes on with ${others.map(({ kind }) => kind).join(', ')} behind its pooling, which cannot be another then`,
    );
  }
  const last = others.at(-1);
  const lastDim = last && countOf(readObject(folder, join(last.path, 'config.json')), 'out_features');
  return {
    modelDim:
      lastDim ??
      countOf(poolingConfig, 'word_embedding_dimension', 'embedding_dimension') ??
      countOf(config, 'hidden_size', 'd_model', 'n_embd', 'dim'),
    // A graph does what lies behind the pooling, or nobody does: its own vector is wanted then.
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

/** Mean where the folder does not say. */
function poolingOf({ at, directory }: Folder, file: string, config: JsonObject): Pooling {
  const wanted = Object.keys(config).filter((name) => name.startsWith('pooling_mode_') && config[name] === true);
  const [flag = 'pooling_mode_mean_tokens', ...more] = wanted;
  const pooling = POOLING_FLAGS[flag];
  const place = join(directory, file);
  if (more.length > 0)
    throw new ModelFolderError(`${at}: ${place} wants ${wanted.join(' and ')}: one way of pooling is served at a time`);
  if (!pooling)
    throw new ModelFolderError(
      `${at}: ${place} wants ${flag}, which is not served; there are ${Object.keys(POOLING_FLAGS).join(', ')}`,
    );
  if (config.include_prompt === false)
    throw new ModelFolderError(`${at}: ${place} leaves prompts out of the pooling, which is not served`);
  return pooling;
}
