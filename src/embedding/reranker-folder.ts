// Reads a folder with a cross-encoder: which graph, how many tokens of a pair it reads. Files only, no model is run.
// Called by the configuration at start; front thread.
import { resolve } from 'node:path';
import type { OnnxReranker } from '../contract/embedder.js';
import { checkTokenizer, graphOf, tokensMaxOf } from './model-folder.js';
import { readObject, type Folder } from './model-json.js';

export interface RerankerFolderOptions {
  /** The folder, relative to the working directory. */
  path: string;
  /** The graph, relative to the folder. */
  file: string | undefined;
  maxTokens: number | undefined;
}

/** `at`: the place in the configuration, for messages. Throws ModelFolderError where the folder cannot be served. */
export function readRerankerFolder(at: string, { path, file, maxTokens }: RerankerFolderOptions): OnnxReranker {
  const folder: Folder = { at, directory: resolve(path) };
  checkTokenizer(folder);
  return {
    directory: folder.directory,
    file: graphOf(folder, file),
    tokensMax: tokensMaxOf(folder, readObject(folder, 'config.json'), maxTokens),
  };
}
