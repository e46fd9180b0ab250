// The read access of a searching thread to the memories and stores of all shards, and the views of one search, which
// keep what they show from being freed or closed. Each searching thread has its own instance and owns no shard.
// Searching threads only.
import type { CollectionRef } from '../../api/collections.js';
import { AppError } from '../../api/errors.js';
import type { Ordinal } from '../../api/ids.js';
import { nowSeconds } from '../../base/clock.js';
import { placeOfShard, SharedMeters } from '../../base/meters.js';
import { ReadGate } from '../../base/read-gate.js';
import { shardPath } from '../../storage/data-directory.js';
import { ShardReader, type ShardTxn, type Snapshot } from '../../storage/shard-reader.js';
import { Kernel } from '../memory/arena.js';
import { ARENAS, arenaOf, rowOf } from '../memory/ownership.js';
import type { SegmentPlace } from '../segments/directory.js';
import type { SegmentView } from '../segments/segment.js';
import type { SearchWorkerStart } from './params.js';
import { HitCache } from './payload-cache.js';

/**
 * One arena of a shard as one search sees it: the segment of its collection in shared memory, and a snapshot of the
 * store. Valid only inside the `Kernel.read` in which it is created.
 */
export class ShardView {
  /** undefined if nothing of the collection is in this arena. */
  readonly segment: SegmentView | undefined;
  /**
   * The last row version published before this view was created. If a publication was under way, the last one before
   * it.
   */
  readonly before: number;
  /** The segment's removal counter at that time. */
  readonly removals: number;
  private snapshot: Snapshot | undefined;

  constructor(
    readonly shard: number,
    /**
     * The incarnation of the shard's home arena. It stands for the whole shard, since the other arenas come and go with
     * the home arena.
     */
    readonly incarnation: number,
    kernel: Kernel,
    private readonly reader: ShardReader,
    { id }: CollectionRef,
    /** The cache of the thread. */
    readonly cache: HitCache,
    readonly arena = 0,
  ) {
    this.before = kernel.publishedRowVersion();
    cache.reach(this.memory, this.before);
    this.segment = kernel.view(id, arena);
    this.removals = this.segment?.index.removals ?? 0;
  }

  /** The memory's number among those of all shards. Row versions are unique only within one memory. */
  get memory(): number {
    return this.shard * ARENAS + this.arena;
  }

  /**
   * Whether rows have been removed since `removals` was read, or were being removed then. If so, the search may have
   * missed a document between the removal of its old rows and the publication of its new ones.
   */
  hasLost(removals: number): boolean {
    return (removals & 1) === 1 || (this.segment?.index.removals ?? 0) !== removals;
  }

  /** Runs `work` on a snapshot of its own. */
  read<T>(work: (txn: ShardTxn) => T): T {
    const { txn, end } = this.reader.snapshot(this.incarnation);
    try {
      return work(txn);
    } finally {
      end();
    }
  }

  /**
   * The snapshot from which hits are hydrated. It is taken at first use, which must come after the shard has been
   * ranked.
   */
  get txn(): ShardTxn {
    return (this.snapshot ??= this.reader.snapshot(this.incarnation)).txn;
  }

  /** The rows of a document in this arena, or of its chunk with this path; empty if there is none. */
  rowsOf(docid: string, path?: string): Ordinal[] {
    const { segment, arena } = this;
    if (!segment) return [];
    const { ordinals, paths } = this.txn.members(segment.id, docid);
    return (ordinals as Ordinal[])
      .filter((ordinal, i) => arenaOf(ordinal) === arena && (path === undefined || paths[i] === path))
      .map(rowOf)
      .filter((row) => row < segment.index.end);
  }

  end(): void {
    this.snapshot?.end();
  }
}

/**
 * Whether row version `rowVersion` was published after `before`. Row versions wrap around; two that are in use never
 * differ by 2^31 or more.
 */
export const isLater = (rowVersion: number, before: number): boolean => ((rowVersion - before) | 0) > 0;

/**
 * One shard for reading: its arenas and its store. The home arena's directory names the other arenas that hold segments
 * of a collection; a thread joins those when it first needs them.
 */
class ReadShard {
  private readonly home: Kernel;
  private readonly others = new Map<number, Kernel>();
  private readonly reader: ShardReader;

  constructor(
    private readonly shard: number,
    private readonly module: WebAssembly.Module,
    private readonly memories: readonly WebAssembly.Memory[],
    directory: string,
    private readonly cache: HitCache,
  ) {
    this.home = this.join(0);
    this.reader = new ShardReader(directory);
  }

  /**
   * Runs `work` on a view of each arena that holds the collection, or of the home arena if none does. Returns undefined
   * if the collection's arenas changed meanwhile, because a document may then be in an arena that was not searched.
   * Throws AppError `shard_unavailable` if no owner has the shard open.
   */
  view<T>(collection: CollectionRef, work: (views: ShardView[]) => T): T | undefined {
    const { directory } = this.home;
    const entered = this.home.read((incarnation) => {
      const before = directory.placeOf(collection.id);
      const answer = this.enter(arenasOf(before), [], { incarnation, collection }, (views) => ({ of: work(views) }));
      return { answer: isSame(before, directory.placeOf(collection.id)) ? answer : undefined };
    });
    if (!entered) throw new AppError('shard_unavailable', undefined, { retryAfterS: 1 });
    return entered.answer?.of;
  }

  /** Runs `work` on a snapshot of the store. Throws AppError `shard_unavailable` if no owner has the shard open. */
  read<T>(work: (txn: ShardTxn) => T): T {
    const read = this.home.read((incarnation) => {
      const { txn, end } = this.reader.snapshot(incarnation);
      try {
        return { of: work(txn) };
      } finally {
        end();
      }
    });
    if (!read) throw new AppError('shard_unavailable', undefined, { retryAfterS: 1 });
    return read.of;
  }

  private enter<T>(
    arenas: readonly number[] | undefined,
    views: readonly ShardView[],
    of: { incarnation: number; collection: CollectionRef },
    work: (views: ShardView[]) => T,
  ): T | undefined {
    if (!arenas) return undefined;
    const [arena, ...rest] = arenas;
    if (arena === undefined) return work([...views]);
    const kernel = arena === 0 ? this.home : (this.others.get(arena) ?? this.join(arena));
    return kernel.read(() => {
      const view = new ShardView(this.shard, of.incarnation, kernel, this.reader, of.collection, this.cache, arena);
      try {
        // The collection left this arena after the home arena's directory was read.
        if (arena > 0 && !view.segment) return undefined;
        if (arena > 0) this.home.directory.get(of.collection.id, nowSeconds());
        return this.enter(rest, [...views, view], of, work);
      } finally {
        view.end();
      }
    });
  }

  private join(arena: number): Kernel {
    const kernel = new Kernel(this.module, this.memories[arena] as WebAssembly.Memory);
    kernel.joinReaders();
    if (arena > 0) this.others.set(arena, kernel);
    return kernel;
  }
}

const HOME = [0];

/** The arenas of a collection: the home arena alone if it has none; undefined while it is being loaded or evicted. */
function arenasOf(place: SegmentPlace | undefined): readonly number[] | undefined {
  if (!place || place.arenas === 0) return HOME;
  if (place.vectors === 0 && (place.arenas & 1) === 1) return undefined;
  return Array.from({ length: 32 }, (_, arena) => arena).filter((arena) => (place.arenas >>> arena) & 1);
}

/**
 * A vector index root is not reused while a reader is inside, so the same root means the same segment, in memory
 * throughout.
 */
const isSame = (a: SegmentPlace | undefined, b: SegmentPlace | undefined): boolean =>
  a?.vectors === b?.vectors && a?.arenas === b?.arenas;

/** Limit on retries when a collection moves to other arenas or is evicted during a view. Two in a row are rare. */
const ATTEMPTS_MAX = 100;

/** All shards, as one search worker reads them. */
export class ShardSet {
  private readonly shards: readonly ReadShard[];
  /** The numbers of all shards. */
  readonly all: readonly number[];
  private readonly cache: HitCache;
  private readonly meters: SharedMeters;
  private readonly gates: readonly ReadGate[];

  constructor({ kernel, memories, directory, hitCacheBytes, meters, readGates }: SearchWorkerStart) {
    const cache = (this.cache = new HitCache(hitCacheBytes));
    this.meters = SharedMeters.over(meters);
    this.shards = memories.map(
      (arenas, shard) => new ReadShard(shard, kernel, arenas, shardPath(directory, shard), cache),
    );
    this.all = this.shards.map((_, shard) => shard);
    this.gates = this.all.map((shard) => ReadGate.at(readGates, placeOfShard(shard)));
  }

  /**
   * Runs `work` on views of the given shards, in their order. `work` must be synchronous; until it returns, nothing
   * that the views show is freed or closed. It may run more than once. Throws AppError `shard_unavailable` if a shard
   * has no owner or is still being opened.
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

  /**
   * Runs `work`, which must be synchronous, on a snapshot of the store of a shard: everything that was acknowledged
   * before the call is in it. Throws AppError `shard_unavailable` as `view` does.
   */
  read<T>(shard: number, work: (txn: ShardTxn) => T): T {
    return (this.shards[shard] as ReadShard).read(work);
  }

  /**
   * Keeps the given shards from committing for at most `ms`, as far as no other thread does. A commit that is under way
   * is still published. Returns a function that lets them go on.
   */
  hold(shards: readonly number[], ms: number): () => void {
    const held = shards.map((shard) => (this.gates[shard] as ReadGate).hold(ms));
    return () => held.forEach((end) => end?.());
  }

  /** Adds the cache hits and misses since the last call to the shared meters. */
  tellCounts(): void {
    const { hits, misses } = this.cache.takeCounts();
    this.meters.hydrated(hits, misses);
  }

  /** Returns undefined if a collection has moved meanwhile. */
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
