// Model folders for tests: the models of ../shared/data, and copies of them in which single files are replaced.
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readModelFolder, type ModelFolderOptions } from '../../../src/embedding/onnx/model-folder.js';
import { createPrng } from '../../../src/base/prng.js';
import { openOnnxEmbedder } from '../../../src/embedding/onnx/embedder.js';
import type { Embedder } from '../../../src/embedding/embedder.js';
import { tempDirectory } from '../temp.js';

const SHARED = '../shared/data';
export const MINILM = `${SHARED}/model-minilm-l6`;
/**
 * Static word vectors: fast, with weak results. The graph has the outputs `last_hidden_state` and `sentence_embedding`.
 */
export const WORD_VECTORS = `${SHARED}/model-static-w2v-onnx`;
export const SMOKE = `${SHARED}/onnx-smoke`;

export const unlessThere = (...folders: string[]): { skip: string | false } => {
  const absent = folders.find((folder) => !existsSync(folder));
  return { skip: absent !== undefined && `${absent} is absent` };
};

/** Writes a folder with these files. Text and bytes are written as they are, other content as JSON. */
export function folderWith(files: Record<string, unknown>, directory = tempDirectory()): string {
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    rmSync(path, { force: true });
    if (content !== undefined)
      writeFileSync(
        path,
        typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content),
      );
  }
  return directory;
}

/** A copy of a model's folder with these files replaced; undefined removes a file. The graphs are symbolic links. */
export function modelWith(model: string, files: Record<string, unknown>): string {
  const directory = tempDirectory();
  cpSync(model, directory, { recursive: true, filter: (path) => !path.endsWith('.onnx') });
  mkdirSync(join(directory, 'onnx'), { recursive: true });
  for (const name of ['onnx/model.onnx', 'onnx/model_quantized.onnx']) {
    if (existsSync(join(model, name))) symlinkSync(resolve(model, name), join(directory, name));
  }
  return folderWith(files, directory);
}

export interface OpenRunner extends Embedder {
  faults: string[];
  /** The vectors of the texts. Rejects where a text fails. */
  rows(texts: readonly string[], purpose?: 'query' | 'passage'): Promise<Float32Array[]>;
}

/** Opens the model as the embed workers do, in this thread. */
export async function openModel(options: ModelFolderOptions): Promise<OpenRunner> {
  const faults: string[] = [];
  const runner = await openOnnxEmbedder(readModelFolder('test', options), 1, (fault) => faults.push(fault));
  const rows: OpenRunner['rows'] = async (texts, purpose = 'passage') => {
    const { vectors, failures } = await runner.embed(texts, purpose, () => false);
    for (const failure of failures?.values() ?? []) throw failure;
    return texts.map((_, i) => vectors.subarray(i * runner.dim, (i + 1) * runner.dim));
  };
  return { ...runner, faults, rows };
}

/** Texts of 0 to `wordsMax` words, some of which are in no vocabulary. */
export function randomTexts(seed: number, count: number, wordsMax: number): string[] {
  const prng = createPrng(seed);
  const words = [
    'market',
    'government',
    'health',
    'the',
    'record',
    'qzxv',
    'naïve',
    '数据',
    'play',
    'security',
    '3.14',
    'growth',
  ];
  return Array.from({ length: count }, () =>
    Array.from({ length: prng.int(wordsMax + 1) }, () => words[prng.int(words.length)]).join(' '),
  );
}
