// An embed worker: turns texts into vectors with the built-in embedder. Asked by src/pool/embed-pool.ts. A long document is
// embedded in slices, between which the queries that have arrived meanwhile get their turn.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, threadId } from 'node:worker_threads';
import { move, Piscina } from 'piscina';
import type { EmbedDocuments } from '../../src/contract/batch-messages.js';
import type { EmbedAnswer, EmbedDocument, EmbedQueries } from '../../src/contract/embed-messages.js';
import type { LoadedNote, Outcome } from '../../src/contract/messages.js';
import { unpackDocument, unpackDocuments } from '../../src/contract/prepared-document.js';
import { loadBuiltinEmbedder } from './builtin/builtin-embedder.js';

/** Characters a slice: about 2 ms of work (load/embed-rate). */
const SLICE_CHARACTERS = 32_768;

const embedder = loadBuiltinEmbedder();
parentPort?.postMessage({ loaded: threadId } satisfies LoadedNote);

export async function run(request: EmbedQueries | EmbedDocument | EmbedDocuments): Promise<Outcome<EmbedAnswer>> {
  if (request.kind === 'queries') return moved({ vectors: embedder.embed(request.texts) });
  if (request.kind === 'documents') return moved(await embedTexts(request));
  const { chunks } = unpackDocument(request.document);
  const vectors = await embedInSlices(chunks.map(({ text }) => text ?? ''));
  return moved({ vectors, document: request.document });
}

/** Chunks without a text keep the vector their row has. */
async function embedTexts({ documents, ends, vectors }: EmbedDocuments): Promise<EmbedAnswer> {
  const chunks = unpackDocuments(documents, ends).flatMap((document) => document.chunks);
  const rows = chunks.flatMap(({ text }, row) => (text === undefined ? [] : [row]));
  const embedded = await embedInSlices(rows.map((row) => chunks[row]?.text ?? ''));
  const { dim } = embedder;
  rows.forEach((row, i) => vectors.set(embedded.subarray(i * dim, (i + 1) * dim), row * dim));
  return { vectors, document: documents };
}

async function embedInSlices(texts: readonly string[]): Promise<Float32Array> {
  const vectors = new Float32Array(texts.length * embedder.dim);
  for (let from = 0; from < texts.length; ) {
    const to = endOfSlice(texts, from);
    vectors.set(embedder.embed(texts.slice(from, to)), from * embedder.dim);
    from = to;
    if (from < texts.length) await nextTurn();
  }
  return vectors;
}

function endOfSlice(texts: readonly string[], from: number): number {
  let characters = 0;
  let to = from;
  while (to < texts.length && characters < SLICE_CHARACTERS) characters += (texts[to++] as string).length;
  return to;
}

/** The answer, its vectors and bytes moved to the front thread instead of copied. */
function moved(answer: EmbedAnswer): Outcome<EmbedAnswer> {
  const buffers = [answer.vectors.buffer, ...(answer.document ? [answer.document.buffer] : [])];
  return move({ [Piscina.transferableSymbol]: buffers, [Piscina.valueSymbol]: { value: answer } } as never) as unknown as Outcome<EmbedAnswer>;
}
