// Embedders for load programs, run by the same embed workers as in the server.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import type { DocId } from '../../src/api/ids.js';
import type { EmbedderSpec } from '../../src/embedding/embedder-spec.js';
import { readModelFolder } from '../../src/embedding/onnx/model-folder.js';
import { EmbedPool } from '../../src/pool/embed-pool.js';
import { packDocument } from '../../src/text/prepared-document.js';
import { dataFolder } from './text-sets.js';

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
  /** Vectors of passages, one row per text. `progress` is called with the number of finished texts. */
  passages(texts: readonly string[], progress?: (done: number) => void): Promise<Float32Array[]>;
  queries(texts: readonly string[]): Promise<Float32Array[]>;
  close(): Promise<void>;
}

/** Starts an embedder by name. Undefined if the model is absent, which is reported once on standard output. */
export async function startEmbedder(name: string, workers: number): Promise<LoadEmbedder | undefined> {
  const file = GRAPHS[name];
  if (file === undefined) return startPool({ key: name, type: 'builtin' }, workers);
  const path = dataFolder('model-minilm-l6');
  return path === undefined
    ? undefined
    : startPool({ key: name, type: 'onnx', model: readModelFolder(name, { path, file }) }, workers);
}

/** Starts an embed pool. `workers` is the number of threads for passages, which use one core each. */
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

/**
 * A cache of slow embeddings between runs of load programs: a file per embedder and list of texts, with consecutive
 * float32 rows.
 */
const CACHE = `${tmpdir()}/sheaf-load-vectors`;

/** The cached rows of these texts; undefined if exactly this list is not cached. */
export function cachedRows(embedder: string, texts: readonly string[]): Float32Array[] | undefined {
  const file = fileOf(embedder, texts);
  if (!existsSync(file)) return undefined;
  const bytes = readFileSync(file);
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const width = all.length / texts.length;
  return texts.map((_, i) => all.subarray(i * width, (i + 1) * width));
}

/** Caches the rows and returns them. */
export function cacheRows(embedder: string, texts: readonly string[], rows: Float32Array[]): Float32Array[] {
  const file = fileOf(embedder, texts);
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(
    `${file}.new`,
    Buffer.concat(rows.map((row) => Buffer.from(row.buffer, row.byteOffset, row.byteLength))),
  );
  renameSync(`${file}.new`, file);
  return rows;
}

function fileOf(embedder: string, texts: readonly string[]): string {
  return `${CACHE}/${embedder}-${createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)}.f32`;
}

/**
 * Vectors of an embedder for texts in any order: cached ones, and those of the embedder itself, which is started only
 * if needed.
 */
export class CachedEmbedder {
  /** Number of texts that were not cached. */
  missed = 0;
  private readonly rows = new Map<string, Float32Array>();
  private started: Promise<LoadEmbedder | undefined> | undefined;

  constructor(readonly name: string) {}

  /** Loads the cache of exactly this list, if there is one. */
  load(texts: readonly string[]): void {
    cachedRows(this.name, texts)?.forEach((row, i) => this.rows.set((texts[i] as string).trim(), row));
  }

  /** Loads the cache of exactly this list, or embeds and caches it. */
  async cache(texts: readonly string[]): Promise<void> {
    this.load(texts);
    if (!cachedRows(this.name, texts)) cacheRows(this.name, texts, await this.vectorsOf(texts));
  }

  /** Vectors of passages or queries, which these embedders do not distinguish. Throws if the model is absent. */
  async vectorsOf(texts: readonly string[]): Promise<Float32Array[]> {
    const missing = [...new Set(texts.map((text) => text.trim()))].filter((text) => !this.rows.has(text));
    if (missing.length > 0) await this.embed(missing);
    return texts.map((text) => this.rows.get(text.trim()) as Float32Array);
  }

  async close(): Promise<void> {
    await (await this.started)?.close();
  }

  private async embed(texts: readonly string[]): Promise<void> {
    const embedder = await (this.started ??= startEmbedder(this.name, availableParallelism()));
    if (!embedder) throw new Error(`there is no model for ${this.name}`);
    this.missed += texts.length;
    (await embedder.passages(texts)).forEach((row, i) => this.rows.set(texts[i] as string, row));
  }
}
