// Read commands of a shard: documents and chunks as JSON texts, listed or single; counts; the stored vectors of texts;
// samples of vectors. Each read uses one snapshot, and long answers come in pages. Owner only.
import type { DocumentSummary } from '../api/documents.js';
import { type CollectionId, type Ordinal, chunkIdOf, parseChunkId } from '../api/ids.js';
import { type DocumentRecord, mergedMetaJson } from '../storage/records.js';
import type { ShardTxn } from '../storage/shard-reader.js';
import { textDigest } from '../text/chunking.js';
import type { Segment } from './segments/segment.js';
import type { Shard } from './shard.js';
import type { ShardAnswer, ShardCounts, ShardRequest } from './write/commands.js';
import { concat } from '../base/bytes.js';

const iso = (timeMs: number): string => new Date(timeMs).toISOString();

function summaryOf(
  { docid, version, ingestedAtMs, chunkCount, metadataJson }: DocumentRecord,
  { filename } = JSON.parse(metadataJson) as Record<string, unknown>,
): DocumentSummary {
  const summary = { docid, version, ingested_at: iso(ingestedAtMs), chunk_count: chunkCount };
  return typeof filename === 'string' ? { ...summary, filename } : summary;
}

/**
 * A page ends with the record that brings it to this many bytes, counting bytes read and bytes returned. That takes
 * about a millisecond, so no search waits for long.
 */
const PAGE_BYTES = 256 * 1024;

/** Implements `listDocuments`: summaries of documents in the order of their keys. */
export function listDocuments(
  shard: Shard,
  { collection, after, max }: ShardRequest<'listDocuments'>,
): ShardAnswer<'listDocuments'> {
  const page: ShardAnswer<'listDocuments'> = { docids: [], records: [], more: false };
  // A dropped collection may still have some of its records.
  if (shard.isDropped(collection)) return page;
  return shard.store.read((txn) => {
    let bytes = 0;
    for (const record of txn.documents(collection, after)) {
      if (page.records.length === max || bytes >= PAGE_BYTES) return { ...page, more: true };
      const text = JSON.stringify(summaryOf(record));
      bytes += record.metadataJson.length + text.length;
      page.docids.push(record.docid);
      page.records.push(text);
    }
    return page;
  });
}

/** Implements `getDocument`: a document's summary, metadata and chunk ids as JSON text; null if it does not exist. */
export function getDocument(
  shard: Shard,
  { collection, docid }: ShardRequest<'getDocument'>,
): ShardAnswer<'getDocument'> {
  return shard.store.read((txn) => {
    const record = txn.document(collection, docid);
    if (!record) return null;
    const { paths } = txn.members(collection, docid);
    const fields = { ...summaryOf(record), chunk_ids: paths.map((path) => chunkIdOf(docid, path)) };
    return withField(fields, 'metadata', record.metadataJson);
  });
}

/** Implements `listChunks`: chunks of a document from position `from` on; empty if the document does not exist. */
export function listChunks(
  shard: Shard,
  { collection, docid, from, max }: ShardRequest<'listChunks'>,
): ShardAnswer<'listChunks'> {
  const page: ShardAnswer<'listChunks'> = { records: [], more: false };
  if (shard.isDropped(collection)) return page;
  return shard.store.read((txn) => {
    const document = txn.document(collection, docid);
    if (!document) return page;
    const ordinals = (txn.members(collection, docid).ordinals as Ordinal[]).slice(from);
    for (
      let bytes = 0;
      page.records.length < Math.min(max, ordinals.length) && bytes < PAGE_BYTES;
      bytes += page.records.at(-1)?.length ?? 0
    ) {
      page.records.push(chunkJson(txn, collection, document, ordinals[page.records.length] as Ordinal));
    }
    return { ...page, more: page.records.length < ordinals.length };
  });
}

function chunkJson(txn: ShardTxn, id: CollectionId, document: DocumentRecord, ordinal: Ordinal): string {
  const { path, metaJson, docid } = txn.chunk(id, ordinal);
  const fields = { rid: chunkIdOf(docid, path), chunk_path: path, ingested_at: iso(document.ingestedAtMs) };
  return withField(fields, 'meta', mergedMetaJson(document.metadataJson, metaJson));
}

/** A JSON object of `fields` and one more field, whose value `json` is inserted without being parsed. */
const withField = (fields: object, name: string, json: string): string =>
  `${JSON.stringify(fields).slice(0, -1)},"${name}":${json}}`;

/** Implements `getChunk`: a chunk without its text, as JSON text; null if it does not exist. */
export function getChunk(shard: Shard, { collection, rid }: ShardRequest<'getChunk'>): ShardAnswer<'getChunk'> {
  return withChunk(shard, collection, rid, (txn, document, ordinal) => chunkDetail(txn, collection, document, ordinal));
}

/** Implements `getContent`: the text of a chunk; null if the chunk does not exist. */
export function getContent(shard: Shard, { collection, rid }: ShardRequest<'getContent'>): ShardAnswer<'getContent'> {
  return withChunk(shard, collection, rid, (txn, _, ordinal) => ({
    text: txn.text(collection, ordinal)?.toString() ?? null,
  }));
}

function withChunk<T>(
  shard: Shard,
  id: CollectionId,
  rid: string,
  read: (txn: ShardTxn, document: DocumentRecord, ordinal: Ordinal) => T,
): T | null {
  const parsed = parseChunkId(rid);
  if (!parsed) return null;
  return shard.store.read((txn) => {
    const document = txn.document(id, parsed.docid);
    const ordinal = document && txn.ordinalOf(id, parsed.docid, parsed.chunkPath);
    return document && ordinal !== undefined ? read(txn, document, ordinal) : null;
  });
}

function chunkDetail(txn: ShardTxn, id: CollectionId, document: DocumentRecord, ordinal: Ordinal): string {
  return `{"docid":${JSON.stringify(document.docid)},${chunkJson(txn, id, document, ordinal).slice(1)}`;
}

/**
 * Documents and chunks of each collection from the counts in the store, in one answer for any number of collections.
 * Nothing is loaded.
 */
export function countsOf(shard: Shard, ids: readonly CollectionId[]): ShardCounts[] {
  return shard.store.read((txn) =>
    ids.map((id) => {
      const { documents, chunks } = txn.counts(id);
      return shard.isDropped(id) ? { documents: 0, chunks: 0 } : { documents, chunks };
    }),
  );
}

/** Documents and chunks of all collections in this shard, except those in `without`. */
export function totals(shard: Shard, without: readonly CollectionId[]): ShardAnswer<'totals'> {
  const others = new Set(without);
  const memoryBytes = shard.arenas.used().reduce((bytes, kernel) => bytes + kernel.usedBytes(), 0);
  const sum = { documents: 0, chunks: 0, memoryBytes };
  shard.store.read((txn) => {
    for (const { id, documents, chunks } of txn.allCounts()) {
      if (shard.isDropped(id) || others.has(id)) continue;
      sum.documents += documents;
      sum.chunks += chunks;
    }
  });
  return sum;
}

/** The ordinals of all chunks of the documents. A document that does not exist has none. */
export function listOrdinals(
  shard: Shard,
  { collection, docids }: ShardRequest<'listOrdinals'>,
): ShardAnswer<'listOrdinals'> {
  // A dropped collection may still have some of its records.
  if (shard.isDropped(collection)) return new Uint32Array();
  return shard.store.read((txn) =>
    Uint32Array.from([...new Set(docids)].flatMap((docid) => txn.members(collection, docid).ordinals)),
  );
}

/**
 * Text digests and vectors of stored chunks. When a document is ingested again, only chunks whose text has changed need
 * to be embedded. Digest and vector of a chunk come from one snapshot, so they belong together even if the ordinal has
 * been reused since it was listed. A chunk without text is left out, since its vector came from the caller.
 */
export function textVectors(
  shard: Shard,
  { collection: ref, ordinals }: ShardRequest<'textVectors'>,
): ShardAnswer<'textVectors'> {
  if (shard.isDropped(ref.id))
    return { digests: new Uint8Array(), vectors: new Float32Array(), taken: ordinals.length };
  const digests: Uint8Array[] = [];
  const vectors: Float32Array[] = [];
  let taken = 0;
  shard.store.read((txn) => {
    for (let bytes = 0; taken < ordinals.length && bytes < PAGE_BYTES; taken++) {
      const ordinal = ordinals[taken] as Ordinal;
      const text = txn.text(ref.id, ordinal);
      const vector = text && txn.vector(ref, ordinal);
      if (!vector) continue;
      bytes += text.length + vector.byteLength;
      digests.push(textDigest(text));
      vectors.push(vector);
    }
  });
  return {
    digests: concat(digests, (length) => new Uint8Array(length)),
    vectors: concat(vectors, (length) => new Float32Array(length)),
    taken,
  };
}

/** Number of rows after each place that are searched for a live one. */
const STEPS_MAX = 4096;

/**
 * A sample of a collection's vectors as the store has them, for measuring what searches find. The caller chooses the
 * places, since a worker draws no random numbers. Returns null while the segment is being loaded. Places without a live
 * row after them, and zero vectors, are left out.
 */
export function sampleVectors(
  shard: Shard,
  { collection: ref, places }: ShardRequest<'sampleVectors'>,
): ShardAnswer<'sampleVectors'> {
  if (!shard.loads.load(ref)) return null;
  const segments = shard.segments.of(ref.id);
  const ids: string[] = [];
  const rows: Float32Array[] = [];
  if (segments.some(({ ordinals }) => ordinals.end > 0)) {
    shard.store.read((txn) => {
      for (const ordinal of new Set(Array.from(places, (place) => liveAt(segments, place)))) {
        const vector = ordinal === undefined ? undefined : txn.vector(ref, ordinal);
        if (ordinal === undefined || !vector || vector.every((value) => value === 0)) continue;
        const { docid, path } = txn.chunk(ref.id, ordinal);
        ids.push(chunkIdOf(docid, path));
        rows.push(vector);
      }
    });
  }
  const vectors = new Float32Array(rows.length * ref.dim);
  rows.forEach((row, i) => vectors.set(row, i * ref.dim));
  return { ids, vectors };
}

/**
 * The ordinal of the first live row from a place in [0, 1) on. The segments count as one sequence, and each wraps
 * around at its end.
 */
function liveAt(segments: readonly Segment[], place: number): Ordinal | undefined {
  let left = Math.floor(place * segments.reduce((sum, { ordinals }) => sum + ordinals.end, 0));
  for (const segment of segments) {
    const { end } = segment.ordinals;
    if (left < end) return firstLive(segment, left);
    left -= end;
  }
  return undefined;
}

function firstLive(segment: Segment, first: number): Ordinal | undefined {
  const { end } = segment.ordinals;
  for (let step = 0; step < Math.min(end, STEPS_MAX); step++) {
    const row = ((first + step) % end) as Ordinal;
    if (segment.index.isLive(row)) return segment.stored(row);
  }
  return undefined;
}
