// Counters that worker threads keep in shared memory and the main thread reads at each scrape: commits of each store,
// hits of the payload caches, logged searches, and calls of each endpoint. Each store or endpoint has a block of cells, whose layout
// only this file knows. Any thread.
import { bucketOf } from './histogram.js';

/**
 * Integers in shared memory that any thread may change and that survive the thread; the main thread reads them without
 * asking busy workers. Each cell is atomic; several cells together are not.
 */
export class SharedCells {
  private readonly cells: BigInt64Array;

  constructor(readonly memory: SharedArrayBuffer) {
    this.cells = new BigInt64Array(memory);
  }

  /** Creates `count` cells with value 0. */
  static create(count: number): SharedCells {
    return new SharedCells(new SharedArrayBuffer(count * BigInt64Array.BYTES_PER_ELEMENT));
  }

  add(cell: number, amount: number): void {
    Atomics.add(this.cells, cell, BigInt(Math.round(amount)));
  }

  set(cell: number, value: number): void {
    Atomics.store(this.cells, cell, BigInt(Math.round(value)));
  }

  get(cell: number): number {
    return Number(Atomics.load(this.cells, cell));
  }
}

/** From a disk with a battery-backed cache to one that stalls. */
export const COMMIT_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5] as const;

const HIT_CACHE = { hits: 0, misses: 1 } as const;
const HIT_CACHE_CELLS = 2;
/**
 * Cells within the block of a store; they are followed by one cell per bucket, and one for values beyond the last
 * bound.
 */
const STORE = { micros: 0, usedBytes: 1, failures: 2, buckets: 3 } as const;
const STORE_CELLS = STORE.buckets + COMMIT_SECONDS.length + 1;

/** Maximum number of stores of the query log. */
export const LOG_STORES_MAX = 16;

/** Indexes of the stores: the catalog, those of the query log, the shards. */
export const CATALOG = 0;
export const placeOfLog = (store: number): number => 1 + store;
const OTHER_STORES = 1 + LOG_STORES_MAX;
export const placeOfShard = (shard: number): number => OTHER_STORES + shard;

export interface Commits {
  /** Count of each bucket, not cumulative. */
  counts: number[];
  seconds: number;
  failures: number;
  usedBytes: number;
}

/** The counters of one store; only its owner writes. */
export class StoreMeter {
  constructor(
    private readonly cells: SharedCells,
    private readonly at: number,
  ) {}

  /** Records a commit that has been synced. `usedBytes` is the used part of the file. */
  committed(ms: number, usedBytes: number): void {
    this.cells.add(this.at + STORE.micros, ms * 1000);
    this.cells.add(this.at + STORE.buckets + bucketOf(COMMIT_SECONDS, ms / 1000), 1);
    this.cells.set(this.at + STORE.usedBytes, usedBytes);
  }

  failed(): void {
    this.cells.add(this.at + STORE.failures, 1);
  }

  opened(usedBytes: number): void {
    this.cells.set(this.at + STORE.usedBytes, usedBytes);
  }

  read(): Commits {
    const cell = (place: number): number => this.cells.get(this.at + place);
    const counts = Array.from({ length: COMMIT_SECONDS.length + 1 }, (_, bucket) => cell(STORE.buckets + bucket));
    return {
      counts,
      seconds: cell(STORE.micros) / 1e6,
      failures: cell(STORE.failures),
      usedBytes: cell(STORE.usedBytes),
    };
  }
}

/**
 * What became of searches that were to be logged, since the start: stored; left out by sampling; not logged because too
 * much was waiting (`full`), because the store did not take them (`failed`), or because their front thread died with
 * them (`died`).
 */
const LOGGED = ['stored', 'sampledOut', 'full', 'failed', 'died'] as const;

export type LogCounts = Record<(typeof LOGGED)[number], number>;

/** The counters of the query log. Any thread adds to them. */
export class LogMeter {
  constructor(private readonly cells: SharedCells) {}

  add(what: keyof LogCounts, searches: number): void {
    if (searches > 0) this.cells.add(HIT_CACHE_CELLS + LOGGED.indexOf(what), searches);
  }

  read(): LogCounts {
    return Object.fromEntries(LOGGED.map((what, i) => [what, this.cells.get(HIT_CACHE_CELLS + i)])) as LogCounts;
  }
}

/**
 * Searches of a node of a cluster: sent to other nodes, sent to a second one, not answered by a node, and received from
 * others.
 */
const ROUTED = ['sent', 'hedged', 'unanswered', 'received'] as const;
const ROUTED_AT = HIT_CACHE_CELLS + LOGGED.length;

export type RoutedCounts = Record<(typeof ROUTED)[number], number>;

/** The counters of searches between nodes. Any thread adds to them. */
export class RoutedMeter {
  constructor(private readonly cells: SharedCells) {}

  add(what: keyof RoutedCounts): void {
    this.cells.add(ROUTED_AT + ROUTED.indexOf(what), 1);
  }

  read(): RoutedCounts {
    return Object.fromEntries(ROUTED.map((what, i) => [what, this.cells.get(ROUTED_AT + i)])) as RoutedCounts;
  }
}

const STORES_AT = ROUTED_AT + ROUTED.length;

export class SharedMeters {
  private constructor(private readonly cells: SharedCells) {}

  static create(shards: number): SharedMeters {
    return new SharedMeters(SharedCells.create(STORES_AT + (OTHER_STORES + shards) * STORE_CELLS));
  }

  static over(memory: SharedArrayBuffer): SharedMeters {
    return new SharedMeters(new SharedCells(memory));
  }

  get memory(): SharedArrayBuffer {
    return this.cells.memory;
  }

  store(place: number): StoreMeter {
    return new StoreMeter(this.cells, STORES_AT + place * STORE_CELLS);
  }

  get queryLog(): LogMeter {
    return new LogMeter(this.cells);
  }

  get routed(): RoutedMeter {
    return new RoutedMeter(this.cells);
  }

  /** Records the hits of one search whose payloads were cached, and those that were read. */
  hydrated(hits: number, misses: number): void {
    if (hits > 0) this.cells.add(HIT_CACHE.hits, hits);
    if (misses > 0) this.cells.add(HIT_CACHE.misses, misses);
  }

  get hitCache(): { hits: number; misses: number } {
    return { hits: this.cells.get(HIT_CACHE.hits), misses: this.cells.get(HIT_CACHE.misses) };
  }
}

const CELLS = ['calls', 'tokens', 'refused', 'rests', 'waiting'] as const;

export type EndpointCounts = Record<(typeof CELLS)[number], number>;

/** The counters of one endpoint, indexed as in the worker's start data; one thread writes. */
export class EndpointMeter {
  private constructor(
    private readonly cells: SharedCells,
    private readonly place: number,
  ) {}

  static create(endpoints: number): SharedArrayBuffer {
    return SharedCells.create(endpoints * CELLS.length).memory;
  }

  static over(memory: SharedArrayBuffer, place: number): EndpointMeter {
    return new EndpointMeter(new SharedCells(memory), place);
  }

  add(what: Exclude<(typeof CELLS)[number], 'waiting'>, amount: number): void {
    if (amount !== 0) this.cells.add(this.at(what), amount);
  }

  set waiting(count: number) {
    this.cells.set(this.at('waiting'), count);
  }

  read(): EndpointCounts {
    return Object.fromEntries(CELLS.map((what) => [what, this.cells.get(this.at(what))])) as EndpointCounts;
  }

  private at(what: (typeof CELLS)[number]): number {
    return this.place * CELLS.length + CELLS.indexOf(what);
  }
}
