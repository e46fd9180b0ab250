// Opens views of a shard that this thread owns, and searches it as a search worker does, after building the indexes
// that the search needs.
import { ShardReader } from '../../../src/storage/shard-reader.js';
import type { CollectionRef } from '../../../src/api/collections.js';
import type { CollectionSearch, ShardHits } from '../../../src/engine/search/params.js';
import type { Kernel } from '../../../src/engine/memory/arena.js';
import { prepare } from '../../../src/engine/segments/indexes.js';
import type { Shard } from '../../../src/engine/shard.js';
import { HitCache } from '../../../src/engine/search/payload-cache.js';
import { rankSegment } from '../../../src/engine/search/rank.js';
import { ShardView } from '../../../src/engine/search/snapshot.js';
import { missingIndexesOf } from '../../../src/engine/search/search.js';

export interface OwnedShard {
  shard: Shard;
  kernel: Kernel;
  /** The directory of the shard's store. */
  directory: string;
}

/** Runs `work` on a view of the collection, which has to be loaded. */
export function viewed<T>({ kernel, directory }: OwnedShard, ref: CollectionRef, work: (view: ShardView) => T): T {
  const answer = kernel.read((incarnation) => {
    const view = new ShardView(0, incarnation, kernel, new ShardReader(directory), ref, new HitCache(0));
    try {
      return { value: work(view) };
    } finally {
      view.end();
    }
  });
  if (!answer) throw new Error('the shard is not open');
  return answer.value;
}

/** A search of a collection with defaults for everything that is not given. */
export function searchFor(ref: CollectionRef, given: Partial<CollectionSearch>): CollectionSearch {
  const { k = 10 } = given;
  return {
    collection: ref,
    jsonPrefix: '{',
    priorityKey: '',
    k,
    depth: k,
    params: {},
    filteredBy: { fields: [] },
    fusion: { method: 'rank', k: 60, weights: { vector: 1, lexical: 1 } },
    boostWeight: 0,
    ...given,
  };
}

/** The statistics of a search without terms. */
export const NO_STATISTICS = { chunks: 0, tokens: 0, frequencies: [] };

const PREPARE_TURNS_MAX = 1000;

/** The hits that a search worker finds in the shard; null while a missing index is being built. */
export function ranked(owned: OwnedShard, ref: CollectionRef, given: Partial<CollectionSearch>): ShardHits | null {
  const search = searchFor(ref, given);
  const missing = viewed(owned, ref, (view) => missingIndexesOf([view], search))[0];
  // A turn of the owner does as much as its time allows, which is little on a busy machine.
  for (let turns = 1; missing && !prepare(owned.shard, { op: 'prepare', collection: ref, ...missing }); turns++)
    if (turns === PREPARE_TURNS_MAX) return null;
  return viewed(owned, ref, (view) => rankSegment(view, search, NO_STATISTICS));
}
