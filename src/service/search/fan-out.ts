// Whether a search is worth more than one search worker: a long one, while others have nothing to do. Some rank a part
// of the shards each, and one of them makes the answer. Front thread.
import type { CollectionId } from '../../api/ids.js';
import type { CollectionSearch } from '../../engine/search/params.js';

/**
 * Estimates, still to be measured on a machine without other work, by `node dist/load/fan-out.js`, which shows both
 * ways side by side: some times what the further messages cost; a row of 384 numbers that is scored; the walk through
 * the graph of one shard.
 */
const COST_MIN_US = 1000;
const ROW_US = 0.04;
const WALK_US = 60;
/** Below that no search costs as much. */
const REMEMBERED_CHUNKS_MIN = 4096;

export class FanOut {
  /** Live chunks of large collections, as their last search found them. */
  private readonly chunks = new Map<CollectionId, number>();

  constructor(private readonly costMinUs = COST_MIN_US) {}

  learn(id: CollectionId, chunks: number): void {
    if (chunks >= REMEMBERED_CHUNKS_MIN) this.chunks.set(id, chunks);
    else this.chunks.delete(id);
  }

  /** It is dropped. */
  forget(id: CollectionId): void {
    this.chunks.delete(id);
  }

  /** The shards that each of at most `idle` workers ranks; undefined where one does it all. */
  split(search: CollectionSearch, shards: number, idle: number): number[][] | undefined {
    const parts = Math.min(shards, idle);
    if (parts < 2 || this.costUs(search, shards) < this.costMinUs) return undefined;
    return Array.from({ length: parts }, (_, part) =>
      Array.from({ length: shards }, (_, shard) => shard).filter((shard) => shard % parts === part),
    );
  }

  /** Filters and words look at a share of the chunks that nobody knows before: they count for a tenth of them. */
  private costUs(
    { collection: { id, dim }, vector, params: { exact }, narrowing, lexical }: CollectionSearch,
    shards: number,
  ): number {
    const chunks = this.chunks.get(id) ?? 0;
    const scored = (exact ? chunks : 0) + (narrowing || lexical ? chunks / 10 : 0);
    return scored * ROW_US * (dim / 384) + (vector && !exact ? shards * WALK_US : 0);
  }
}
