// Read commands of a shard: stored documents, counts, the stored vectors of texts, samples of vectors. Each read uses one
// snapshot, and long answers come in pages. Owner only.
import type { CollectionRef } from '../api/collections.js';
import { type CollectionId, type Ordinal, chunkIdOf } from '../api/ids.js';
import { concat } from '../base/bytes.js';
import { nowSeconds } from '../base/clock.js';
import type { ShardTxn } from '../storage/shard-reader.js';
import { textDigest } from '../text/chunking.js';
import { arenaOf, rowOf, storedOrdinal } from './memory/ownership.js';
import type { Shard } from './shard.js';
import { type DocumentRead, NOTHING_STORED, PAGE_BYTES, readStored } from './stored-documents.js';
import type { ShardAnswer, ShardCommands, ShardCounts, ShardRequest } from './write/commands.js';

/** Implements the reads of stored documents. */
export function readDocuments<O extends DocumentRead>(
  shard: Shard,
  op: O,
  request: ShardCommands[O]['request'],
): ShardAnswer<O> {
  // A dropped collection may still have some of its records.
  if (shard.isDropped(request.collection)) return NOTHING_STORED[op];
  return shard.store.read((txn) => readStored(txn, op, request));
}

/**
 * Documents and chunks of each collection from the counts in the store, in one answer for any number of collections,
 * without those that have expired. Nothing is loaded.
 */
export function countsOf(shard: Shard, ids: readonly CollectionId[]): ShardCounts[] {
  const nowS = nowSeconds();
  return shard.store.read((txn) =>
    ids.map((id) => {
      if (shard.isDropped(id)) return { documents: 0, chunks: 0 };
      const { documents, chunks } = txn.counts(id);
      const expired = txn.expiredCounts(id, nowS);
      return { documents: documents - expired.documents, chunks: chunks - expired.chunks };
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

/**
 * A sample of a collection's vectors as the store has them, whether or not the collection is in memory. The caller
 * chooses the places, since a worker draws no random numbers. A place without a chunk at or after it, and zero vectors,
 * are left out.
 */
export function sampleVectors(
  shard: Shard,
  { collection: ref, places }: ShardRequest<'sampleVectors'>,
): ShardAnswer<'sampleVectors'> {
  const ids: string[] = [];
  const rows: Float32Array[] = [];
  if (!shard.isDropped(ref.id))
    shard.store.read((txn) => {
      const ranges = rangesOf(txn, ref);
      for (const ordinal of new Set(Array.from(places, (place) => firstAt(txn, ref, ranges, place)))) {
        const vector = ordinal === undefined ? undefined : txn.vector(ref, ordinal);
        if (ordinal === undefined || !vector || vector.every((value) => value === 0)) continue;
        const { docid, path } = txn.chunk(ref.id, ordinal);
        ids.push(chunkIdOf(docid, path));
        rows.push(vector);
      }
    });
  const vectors = new Float32Array(rows.length * ref.dim);
  rows.forEach((row, i) => vectors.set(row, i * ref.dim));
  return { ids, vectors };
}

/** Ordinals from `from` on. */
interface OrdinalRange {
  readonly from: Ordinal;
  readonly length: number;
}

/** The ordinals that a collection uses, a range for each arena that it is in. */
function rangesOf(txn: ShardTxn, ref: CollectionRef): OrdinalRange[] {
  const ranges: OrdinalRange[] = [];
  for (let last = txn.lastOrdinal(ref); last !== undefined; ) {
    const from = storedOrdinal(arenaOf(last), 0 as Ordinal);
    ranges.push({ from, length: rowOf(last) + 1 });
    last = txn.lastOrdinal(ref, from);
  }
  return ranges;
}

/** The ordinal of the first chunk from a place in [0, 1) of the ranges on. */
function firstAt(
  txn: ShardTxn,
  ref: CollectionRef,
  ranges: readonly OrdinalRange[],
  place: number,
): Ordinal | undefined {
  let left = Math.floor(place * ranges.reduce((sum, { length }) => sum + length, 0));
  for (const { from, length } of ranges) {
    if (left < length) {
      const [ordinal] = txn.ordinals(ref, (from + left) as Ordinal);
      return ordinal;
    }
    left -= length;
  }
  return undefined;
}
