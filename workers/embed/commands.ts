// Runs the requests of an embed worker: query texts, the chunks of prepared documents that have a text and no vector,
// and rerank pairs. A chunk whose text exceeds the input length of the embedder is marked in its metadata. Runs in
// embed workers only.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WireError } from '../../src/api/errors.js';
import type { Models } from '../../src/embedding/load.js';
import type {
  EmbedDocuments,
  EmbedRequest,
  EmbeddedDocuments,
  QueryVectors,
  RerankScores,
} from '../../src/embedding/messages.js';
import type { Embedded, Embedder } from '../../src/embedding/embedder.js';
import {
  type PreparedDocument,
  joinDocuments,
  packDocument,
  unpackDocuments,
} from '../../src/text/prepared-document.js';

export type Answer = QueryVectors | EmbeddedDocuments | RerankScores;

export async function answer({ embedders, rerankers }: Models, request: EmbedRequest): Promise<Answer> {
  switch (request.kind) {
    case 'queries': {
      const embedder = known(embedders, request.embedder);
      const { vectors, failures } = await embedder.embed(request.texts, 'query', () => false, request.traceparent);
      for (const failure of failures?.values() ?? []) throw failure;
      return { vectors };
    }
    case 'documents':
      return embedDocuments(known(embedders, request.embedder), request);
    case 'rerank': {
      const reranker = known(rerankers, request.reranker);
      return { scores: await reranker.score(request.query, request.texts, request.traceparent) };
    }
  }
}

function known<T>(models: ReadonlyMap<string, T>, key: string): T {
  const model = models.get(key);
  if (!model) throw new Error(`this worker does not run ${key}`);
  return model;
}

/**
 * Number of chunks whose length is checked before other messages get the thread; counting the tokens of a model takes
 * some milliseconds for so many.
 */
const TURN_CHUNKS = 16;

/** A chunk to embed: its row, and the index of its document. */
interface Wanted {
  row: number;
  document: number;
  text: string;
}

export async function embedDocuments(embedder: Embedder, request: EmbedDocuments): Promise<EmbeddedDocuments> {
  const documents = unpackDocuments(request.documents, request.ends);
  const rows = documents.reduce((sum, { chunks }) => sum + chunks.length, 0);
  const vectors = request.vectors ?? new Float32Array(rows * embedder.dim);
  const wanted = wantedOf(documents, request.given);
  const isCancelled = (): boolean => Atomics.load(request.cancelled, 0) !== 0;
  const {
    vectors: embedded,
    failures,
    truncated,
  } = await embedAll(
    embedder,
    wanted.map(({ text }) => text),
    isCancelled,
    request.traceparent,
  );
  wanted.forEach(({ row }, i) =>
    vectors.set(embedded.subarray(i * embedder.dim, (i + 1) * embedder.dim), row * embedder.dim),
  );
  const known = new Map(wanted.map(({ row }, i) => [row, truncated?.[i]]));
  const packed =
    !isCancelled() && (await markTruncated(embedder, documents, known))
      ? joinDocuments(documents.map(packDocument))
      : { documents: request.documents, ends: request.ends };
  return {
    ...packed,
    vectors,
    texts: wanted.length,
    ...(failures?.size && { failures: failuresOf(wanted, failures) }),
  };
}

/** Does not call the embedder without texts, because it may be unavailable. */
async function embedAll(
  embedder: Embedder,
  texts: readonly string[],
  isCancelled: () => boolean,
  traceparent: string | undefined,
): Promise<Embedded> {
  return texts.length === 0
    ? { vectors: new Float32Array() }
    : embedder.embed(texts, 'passage', isCancelled, traceparent);
}

function wantedOf(documents: readonly PreparedDocument[], given: Uint8Array | undefined): Wanted[] {
  const wanted: Wanted[] = [];
  let row = 0;
  documents.forEach(({ chunks }, document) => {
    for (const { text } of chunks) {
      if (text !== undefined && given?.[row] !== 1) wanted.push({ row, document, text });
      row++;
    }
  });
  return wanted;
}

/** The first failure of each failed document. */
function failuresOf(
  wanted: readonly Wanted[],
  failures: NonNullable<Embedded['failures']>,
): { document: number; error: WireError }[] {
  const first = new Map<number, WireError>();
  for (const [place, error] of failures) {
    const { document } = wanted[place] as Wanted;
    if (!first.has(document)) first.set(document, error.toWire());
  }
  return [...first].map(([document, error]) => ({ document, error }));
}

/**
 * Marks the chunks whose text was truncated; returns whether there are any. `known` has the answer by row if embedding
 * has given it.
 */
async function markTruncated(
  embedder: Embedder,
  documents: readonly PreparedDocument[],
  known: ReadonlyMap<number, number | undefined>,
): Promise<boolean> {
  let isAny = false;
  for (const [row, chunk] of documents.flatMap(({ chunks }) => chunks).entries()) {
    const isKnown = known.get(row);
    if (isKnown === undefined && row % TURN_CHUNKS === 0) await nextTurn();
    if (chunk.text === undefined || !(isKnown ?? embedder.isTruncated(chunk.text))) continue;
    chunk.metaJson = JSON.stringify({ ...(JSON.parse(chunk.metaJson) as object), embedding_truncated: true });
    isAny = true;
  }
  return isAny;
}
