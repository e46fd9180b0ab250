// An embed worker: turns texts into vectors with the built-in embedder. Asked by src/pool/embed-pool.ts. A long document is
// embedded in slices, between which the queries that have arrived meanwhile get their turn.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { move, Piscina } from 'piscina';
import type { EmbedAnswer, EmbedDocument, EmbedQueries, Outcome } from '../../src/contract/messages.js';
import { unpackDocument } from '../../src/contract/prepared-document.js';
import { loadBuiltinEmbedder } from './builtin/builtin-embedder.js';

/** Characters a slice: about 2 ms of work (load/embed-rate). */
const SLICE_CHARACTERS = 32_768;

const embedder = loadBuiltinEmbedder();

export async function run(request: EmbedQueries | EmbedDocument): Promise<Outcome<EmbedAnswer>> {
  if (request.kind === 'queries') return moved({ vectors: embedder.embed(request.texts) });
  const { chunks } = unpackDocument(request.document);
  const vectors = await embedInSlices(chunks.map(({ text }) => text ?? ''));
  return moved({ vectors, document: request.document });
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
