// The memories and stores of all shards, for one search worker: it reads them and owns none. Made once by worker.ts,
// when its thread starts; search.ts takes its views from here, one for each arena in which a shard has a part of the
// collection.
import { AppError } from '../../src/contract/errors.js';
import type { CollectionRef } from '../../src/contract/resources.js';
import type { SearchWorkerStart } from '../../src/contract/search-messages.js';
import { SharedMeters } from '../../src/contract/shared-meters.js';
import { shardPath } from '../../src/store/paths.js';
import { HitCache } from './hit-cache.js';
import { ReadShard } from './read-shard.js';
import type { ShardView } from './shard-view.js';

/** Collections that come to other arenas, or leave memory, while one looks for them: hardly twice. */
const ATTEMPTS_MAX = 100;

export class ShardSet {
  private readonly shards: readonly ReadShard[];
  /** Every shard. */
  readonly all: readonly number[];
  private readonly cache: HitCache;
  private readonly meters: SharedMeters;

  constructor({ kernel, memories, directory, hitCacheBytes, meters }: SearchWorkerStart) {
    const cache = (this.cache = new HitCache(hitCacheBytes));
    this.meters = SharedMeters.over(meters);
    this.shards = memories.map(
      (arenas, shard) => new ReadShard(shard, kernel, arenas, shardPath(directory, shard), cache),
    );
    this.all = this.shards.map((_, shard) => shard);
  }

  /**
   * Runs `work`, which waits for nothing, on views of the given shards, in their order: until it ends nothing that they
   * show is freed or closed. It may be run again. Throws 503 `shard_unavailable` where a shard has no owner, or one
   * that has not loaded it yet.
   */
  view<T>(shards: readonly number[], collection: CollectionRef, work: (views: ShardView[]) => T): T {
    for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
      const entered = this.enter(
        shards.map((shard) => this.shards[shard] as ReadShard),
        collection,
        [],
        work,
      );
      if (entered) return entered.answer;
    }
    throw new AppError('shard_unavailable', undefined, { retryAfterS: 1 });
  }

  /** Counts what the searches since the last time have had of the cache. */
  tellCounts(): void {
    const { hits, misses } = this.cache.takeCounts();
    this.meters.hydrated(hits, misses);
  }

  /** undefined where a collection has moved meanwhile. */
  private enter<T>(
    [shard, ...rest]: readonly ReadShard[],
    collection: CollectionRef,
    views: readonly ShardView[],
    work: (views: ShardView[]) => T,
  ): { answer: T } | undefined {
    if (!shard) return { answer: work([...views]) };
    const entered = shard.view(collection, (own) => ({
      within: this.enter(rest, collection, [...views, ...own], work),
    }));
    return entered?.within;
  }
}
