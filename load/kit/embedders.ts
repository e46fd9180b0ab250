// The embedders that load programs measure, through the embed workers as the server has them.
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

/**
 * Vectors that took a model minutes are cached here from one load program to the next: a file for each embedder and list
 * of texts, float32 rows one after another.
 */
const CACHE = `${tmpdir()}/sheaf-load-vectors`;

/** The cached rows of the texts, or undefined where the embedder has not yet embedded just these. */
export function cachedRows(embedder: string, texts: readonly string[]): Float32Array[] | undefined {
  const file = fileOf(embedder, texts);
  if (!existsSync(file)) return undefined;
  const bytes = readFileSync(file);
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const width = all.length / texts.length;
  return texts.map((_, i) => all.subarray(i * width, (i + 1) * width));
}

/** Caches the rows for the next program, and gives them back. */
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
 * The vectors of an embedder for texts in any order: those that an earlier program has cached, and the embedder itself
 * for the rest, which is then started.
 */
export class CachedEmbedder {
  /** Texts that no program had cached. */
  missed = 0;
  private readonly rows = new Map<string, Float32Array>();
  private started: Promise<LoadEmbedder | undefined> | undefined;

  constructor(readonly name: string) {}

  /** Looks for what an earlier program may have cached of just this list. */
  load(texts: readonly string[]): void {
    cachedRows(this.name, texts)?.forEach((row, i) => this.rows.set((texts[i] as string).trim(), row));
  }

  /** Looks for just this list, and where nothing is cached of it, embeds and caches it for the next program. */
  async cache(texts: readonly string[]): Promise<void> {
    this.load(texts);
    if (!cachedRows(this.name, texts)) cacheRows(this.name, texts, await this.vectorsOf(texts));
  }

  /** Passages and queries alike: no embedder here tells them apart. Throws where its model is absent. */
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
