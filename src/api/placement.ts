// In which shards the documents of a collection are: a collection is spread over some of the shards of the data
// directory, which follow each other from its home shard on, and the hash of a document id says in which of them a
// document is. Fixed for ever, because data directories depend on it. Pure; any thread.
//
// All shards of a search are searched one after the other, each by its own graph, so a collection has no more of them
// than its size needs. A document never moves: another spread is another collection, which is filled beside the first
// and takes its name over (service/reindex/spread.ts).
import type { CollectionId } from './ids.js';

/** Where a collection is. */
export interface Placement {
  readonly id: CollectionId;
  /**
   * The number whose remainder by the number of shards is the home shard, if that is not the id: a collection keeps its
   * home when another vector space takes over.
   */
  readonly home?: number;
  /** The number of its shards; absent in records from before spreads: all, from shard 0 on. */
  readonly spread?: number;
}

/** The fields of a placement that are stored; the id aside. */
export const placementIn = ({ home, spread }: Omit<Placement, 'id'>): Omit<Placement, 'id'> => ({
  ...(home !== undefined && { home }),
  ...(spread !== undefined && { spread }),
});

/** The number of shards of a collection; `shards` is that of the data directory. */
export const spreadOf = ({ spread = Infinity }: Pick<Placement, 'spread'>, shards: number): number =>
  Math.min(spread, shards);

/**
 * The place of a document among the shards of its collection, from 0. FNV-1a (Fowler, Noll, Vo) over the UTF-8 bytes,
 * then the finalizer of MurmurHash3 (Appleby), modulo the spread. All chunks of a document are in its shard, so
 * replacing it is one transaction.
 */
export function slotOf(docid: string, spread: number): number {
  if (spread === 1) return 0;
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(docid)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % spread;
}

/** The shard at a place among those of the collection. */
export const shardAt = ({ id, home = id, spread }: Placement, slot: number, shards: number): number =>
  spread === undefined ? slot : (home + slot) % shards;

/** The shard of a document. */
export const shardOf = (docid: string, placement: Placement, shards: number): number =>
  shardAt(placement, slotOf(docid, spreadOf(placement, shards)), shards);

/** All shards of a collection, in the order of their places. */
export const shardsOf = (placement: Placement, shards: number): number[] =>
  Array.from({ length: spreadOf(placement, shards) }, (_, slot) => shardAt(placement, slot, shards));
