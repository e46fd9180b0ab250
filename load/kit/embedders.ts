// The embedders that load programs measure, through the embed workers as the server has them.
// Used by load/embed-quality.ts and load/embed-model.ts.
import type { EmbedderSpec } from '../../src/contract/embedder.js';
import type { DocId } from '../../src/contract/ids.js';
import { packDocument } from '../../src/contract/prepared-document.js';
import { readModelFolder } from '../../src/embedding/model-folder.js';
import { EmbedPool } from '../../src/pool/embed-pool.js';
import { dataFolder } from './data.js';

const GRAPHS: Readonly<Record<string, string | undefined>> = {
  builtin: undefined,
  minilm: 'onnx/model.onnx',
  'minilm-int8': 'onnx/model_quantized.onnx',
};
export const EMBEDDERS = Object.keys(GRAPHS);
export const DOCUMENT_CHUNKS = 4;
export const DOCUMENTS_UNDERWAY = 16;
const QUIET = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: (fields: object, message: string) => console.error(message, fields),
};

export interface LoadEmbedder {
  /** A row for each text. `progress` hears how many are done. */
  passages(texts: readonly string[], progress?: (done: number) => void): Promise<Float32Array[]>;
  queries(texts: readonly string[]): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** Undefined, said once on standard output, where its model is absent. */
export async function startEmbedder(name: string, workers: number): Promise<LoadEmbedder | undefined> {
  const file = GRAPHS[name];
  if (file === undefined) return startPool({ key: name, type: 'builtin' }, workers);
  const path = dataFolder('model-minilm-l6');
  return path === undefined
    ? undefined
    : startPool({ key: name, type: 'onnx', model: readModelFolder(name, { path, file }) }, workers);
}

/** `workers`: threads for passages, which use one core each. */
export function startPool(spec: EmbedderSpec, workers: number): LoadEmbedder {
  const pool = new EmbedPool({
    threads: { queries: 1, documents: workers, queryModel: workers, documentModel: 1 },
    embedders: [spec],
    rerankers: [],
    log: QUIET,
  });
  return {
    passages: (texts, progress) => embedAll(pool, spec.key, texts, progress),
    queries: (texts) => Promise.all(texts.map((text) => pool.embedQuery(spec.key, { text }))),
    close: () => pool.close(),
  };
}

async function embedAll(
  pool: EmbedPool,
  key: string,
  texts: readonly string[],
  progress?: (done: number) => void,
): Promise<Float32Array[]> {
  const rows: Float32Array[] = [];
  const starts = Array.from(
    { length: Math.ceil(texts.length / DOCUMENT_CHUNKS) },
    (_, i) => i * DOCUMENT_CHUNKS,
  ).values();
  let done = 0;
  const client = async (): Promise<void> => {
    for (const start of starts) {
      const batch = texts.slice(start, start + DOCUMENT_CHUNKS);
      const vectors = await embedDocument(pool, key, batch);
      batch.forEach(
        (_, i) =>
          (rows[start + i] = vectors.subarray(
            (i * vectors.length) / batch.length,
            ((i + 1) * vectors.length) / batch.length,
          )),
      );
      progress?.((done += batch.length));
    }
  };
  await Promise.all(Array.from({ length: DOCUMENTS_UNDERWAY }, client));
  return rows;
}

/** One document that has the texts as its chunks. */
async function embedDocument(pool: EmbedPool, key: string, texts: readonly string[]): Promise<Float32Array> {
  const chunks = texts.map((text, i) => ({ path: `chunk_${i}`, metaJson: '{}', text }));
  const documents = packDocument({ docid: 'D' as DocId, ingestedAtMs: 0, metadataJson: '{}', priority: 0, chunks });
  const { vectors, failures } = await pool.embedDocuments(key, { documents, ends: [documents.length] });
  if (failures) throw new Error(`${failures.length} documents could not be embedded`);
  return vectors;
}
