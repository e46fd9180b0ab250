// The memories and stores of all shards, for one search worker, which reads them and owns none; and views of them for
// one search, which nothing that they show is freed or closed beside. Search workers only, each with its own.
import type { CollectionRef } from '../../api/collections.js';
import { AppError } from '../../api/errors.js';
import { nowSeconds } from '../../base/clock.js';
import { SharedMeters } from '../../base/meters.js';
import { shardPath } from '../../storage/data-directory.js';
import { ShardReader, type ShardTxn, type Snapshot } from '../../storage/shard-reader.js';
import { Kernel } from '../memory/arena.js';
import { ARENAS } from '../memory/ownership.js';
import type { PartPlace } from '../segments/directory.js';
import type { PartView } from '../segments/segment.js';
import type { SearchWorkerStart } from './params.js';
import { HitCache } from './payload-cache.js';

/**
 * One arena of a shard as one search sees it: the part of its collection in shared memory, and snapshots of the store. Of
 * no use outside the `Kernel.read` that it is made in.
 */
export class ShardView {
  /** undefined where nothing of the collection was ever written to this shard. */
  readonly part: PartView | undefined;
  /** The stamp given out last before this view was made, or before the publication that was under way. */
  readonly before: number;
  /** Of its rows, as they stood then. */
  readonly removals: number;
  private snapshot: Snapshot | undefined;

  constructor(
    readonly shard: number,
    /** Of the home arena, for all of the shard: the others come and go with it. */
    readonly incarnation: number,
    kernel: Kernel,
    private readonly reader: ShardReader,
    { id }: CollectionRef,
    /** Of the thread. */
    readonly cache: HitCache,
    readonly arena = 0,
  ) {
    this.before = kernel.settledStamp();
    cache.reach(this.memory, this.before);
    this.part = kernel.view(id, arena);
    this.removals = this.part?.index.removals ?? 0;
  }

  /** Its number among those of all shards: a stamp is one of a memory. */
  get memory(): number {
    return this.shard * ARENAS + this.arena;
  }

  /**
   * Whether rows have gone since they stood at `removals`, or were going: then a document may have been missed between
   * its old rows and its new ones.
   */
  hasLost(removals: number): boolean {
    return (removals & 1) === 1 || (this.part?.index.removals ?? 0) !== removals;
  }

  /** A snapshot of its own. */
  read<T>(work: (txn: ShardTxn) => T): T {
    const { txn, end } = this.reader.snapshot(this.incarnation);
    try {
      return work(txn);
    } finally {
      end();
    }
  }

  /**
   * The snapshot that the answer is made from. It is taken when it is asked for first: after the shard has been ranked.
   */
  get txn(): ShardTxn {
    return (this.snapshot ??= this.reader.snapshot(this.incarnation)).txn;
  }

  end(): void {
    this.snapshot?.end();
  }
}

/** Whether a row was published after `before`. Stamps wrap around; no two in use are ever that far apart. */
export const isLater = (stamp: number, before: number): boolean => ((stamp - before) | 0) > 0;

/**
 * One shard: its arenas and its store. The home arena says in which others a collection has parts; of these a thread sees
 * nothing before it needs one.
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
   * Runs `work` inside the arenas where the collection is, on a view of each, and of the home where it is nowhere.
   * undefined where that has changed meanwhile: a document may have gone to an arena that was not looked into. Throws
   * 503 `shard_unavailable`.
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
        // Its collection has left the arena since the home was asked.
        if (arena > 0 && !view.part) return undefined;
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

/** The home alone where the collection is nowhere; undefined while it comes or leaves. */
function arenasOf(place: PartPlace | undefined): readonly number[] | undefined {
  if (!place || place.arenas === 0) return HOME;
  if (place.vectors === 0 && (place.arenas & 1) === 1) return undefined;
  return Array.from({ length: 32 }, (_, arena) => arena).filter((arena) => (place.arenas >>> arena) & 1);
}

/** A root is not used again while a reader is inside: the same one is the same part, in memory all the while. */
const isSame = (a: PartPlace | undefined, b: PartPlace | undefined): boolean =>
  a?.vectors === b?.vectors && a?.arenas === b?.arenas;

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
