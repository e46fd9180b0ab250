// Embeds the chunks of prepared documents: those that have a text and no vector yet. A chunk whose text is longer than the
// embedder reads is told so in its meta. Called by worker.ts; embed worker only.
import type { EmbedDocuments, EmbeddedDocuments } from '../../src/contract/embed-messages.js';
import type { WireError } from '../../src/contract/errors.js';
import { packDocument, unpackDocuments, type PreparedDocument } from '../../src/contract/prepared-document.js';
import type { Runner } from './runner.js';

/** A chunk to embed: its row, and the document it is of. */
interface Wanted {
  row: number;
  document: number;
  text: string;
}

export async function embedDocuments(runner: Runner, request: EmbedDocuments): Promise<EmbeddedDocuments> {
  const documents = unpackDocuments(request.documents, request.ends);
  const rows = documents.reduce((sum, { chunks }) => sum + chunks.length, 0);
  const vectors = request.vectors ?? new Float32Array(rows * runner.dim);
  const wanted = wantedOf(documents, request.given);
  const isCancelled = (): boolean => Atomics.load(request.cancelled, 0) !== 0;
  const { vectors: embedded, failures } = await runner.embed(wanted.map(({ text }) => text), 'passage', isCancelled);
  wanted.forEach(({ row }, i) => vectors.set(embedded.subarray(i * runner.dim, (i + 1) * runner.dim), row * runner.dim));
  const packed = markTruncated(runner, documents) ? repacked(documents) : { documents: request.documents, ends: request.ends };
  return { ...packed, vectors, ...(failures?.size && { failures: failuresOf(wanted, failures) }) };
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

/** The first failure of each document that has one. */
function failuresOf(wanted: readonly Wanted[], failures: NonNullable<Awaited<ReturnType<Runner['embed']>>['failures']>): { document: number; error: WireError }[] {
  const first = new Map<number, WireError>();
  for (const [place, error] of failures) {
    const { document } = wanted[place] as Wanted;
    if (!first.has(document)) first.set(document, error.toWire());
  }
  return [...first].map(([document, error]) => ({ document, error }));
}

/** True where any chunk is. */
function markTruncated(runner: Runner, documents: readonly PreparedDocument[]): boolean {
  let isAny = false;
  for (const chunk of documents.flatMap(({ chunks }) => chunks)) {
    if (chunk.text === undefined || !runner.isTruncated(chunk.text)) continue;
    chunk.metaJson = JSON.stringify({ ...(JSON.parse(chunk.metaJson) as object), embedding_truncated: true });
    isAny = true;
  }
  return isAny;
}

function repacked(documents: readonly PreparedDocument[]): { documents: Uint8Array; ends: number[] } {
  const packed = documents.map(packDocument);
  const ends: number[] = [];
  for (const bytes of packed) ends.push((ends.at(-1) ?? 0) + bytes.length);
  const all = new Uint8Array(ends.at(-1) ?? 0);
  packed.forEach((bytes, i) => all.set(bytes, ends[i - 1] ?? 0));
  return { documents: all, ends };
}
