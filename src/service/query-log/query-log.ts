// The query log. New entries go through a buffer (log-buffer.ts) to the log workers; reads are queued behind them, so a
// client finds its search at once. The entries of a collection may be in the stores of all workers: a read merges them in
// the order of their ids, after what exceeds the bounds over all stores has been removed, so what is read does not depend
// on the number of stores. In a cluster each node logs what it was asked for, and a read merges the logs of all nodes. Runs
// on the main thread.
import type { CollectionId } from '../../api/ids.js';
import type { Log } from '../../base/log.js';
import type { LogCounts, LogMeter } from '../../base/meters.js';
import type { LogPool } from '../../pool/log-pool.js';
import {
  type FoundQuery,
  type LogBounds,
  type LogCommands,
  type LogRange,
  type LogSize,
  type LoggedQuery,
  isBeyond,
} from '../../storage/query-log-commands.js';
import { QUERY_ID_BYTES } from '../../storage/query-log-records.js';
import { LogBuffer } from './log-buffer.js';

/** Commands whose answers of several stores are one. */
export type ReadOp = 'list' | 'earliest' | 'ids' | 'get' | 'owners';
type Read<O extends ReadOp> = LogCommands[O]['request'];
type Entries<O extends ReadOp> = LogCommands[O]['answer'];

/** Asks the query logs of the other nodes of a cluster; resolves to what those have that answer. */
export type AskOthers = <O extends ReadOp>(op: O, read: Read<O>) => Promise<Entries<O>[]>;

interface QueryLogOptions {
  pool: LogPool;
  /** If false, nothing is appended; existing entries can be read. */
  enabled: boolean;
  bounds: LogBounds;
  ageDaysMax: number;
  /** Maximum number of bytes of records that are not on disk yet. */
  waitingBytesMax: number;
  meter: LogMeter;
  log: Log;
  nowMs: () => number;
  /** Makes the front threads store what they have gathered; absent if there are none. */
  flushFronts?: () => Promise<unknown>;
  /** Absent on a single machine. */
  askOthers?: AskOthers | undefined;
}

const SWEEP_MS = 60_000;
const DAY_MS = 86_400_000;
const PAGE_ENTRIES = 500;
/** Ids that a store is asked for at once. */
const IDS_MAX = 2000;
/** The store that takes what waits for its collection. */
const HELD_STORE = 0;

interface Page {
  /** Only entries older than this one. */
  before?: string;
  /** How many of the newest to skip. */
  offset: number;
  limit: number;
}

export class QueryLog {
  private readonly buffer: LogBuffer;
  private readonly undropped = new Set<CollectionId>();
  private sweepTimer: NodeJS.Timeout | undefined;
  private hasClosed = false;

  constructor(private readonly options: QueryLogOptions) {
    let turn = 0;
    this.buffer = new LogBuffer({
      ...options,
      store: (entries) => options.pool.append(turn++, { entries }),
    });
  }

  get enabled(): boolean {
    return this.options.enabled;
  }

  /** Bytes that wait on this thread. */
  get waitingBytes(): number {
    return this.buffer.waitingBytes;
  }

  /** What became of the searches of all threads since the start. */
  get counts(): LogCounts {
    return this.options.meter.read();
  }

  /** The number of stores. */
  get stores(): number {
    return this.options.pool.size;
  }

  /** As `LogBuffer.append`. */
  append(collection: CollectionId, query: LoggedQuery): string | undefined {
    return this.buffer.append(collection, query);
  }

  /** As `LogBuffer.flush`. */
  flush(): Promise<void> {
    return this.buffer.flush();
  }

  /** Stores entries of an archive, invisible to reads, until the shadow collection is switched in. */
  async hold(shadow: CollectionId, entries: LogCommands['hold']['request']['entries']): Promise<void> {
    await this.options.pool.request(HELD_STORE, 'hold', { shadow, entries });
  }

  /**
   * Moves the held entries to the log `to`, without replacing entries there, or discards them if `to` is null. `live`
   * are the existing logs; an entry whose id is in use in another of them is not moved.
   */
  async release(shadow: CollectionId, to: CollectionId | null, live: Uint32Array): Promise<void> {
    const { pool } = this.options;
    await this.flushAll();
    const released = async (): Promise<number> => {
      const owners = to === null ? new Uint32Array() : await this.ownersElsewhere(shadow, to, live);
      return pool.request(HELD_STORE, 'release', { shadow, to, live, owners });
    };
    while ((await released()) > 0);
  }

  /** The shadow collections that have held entries. */
  held(): Promise<CollectionId[]> {
    return this.options.pool.request(HELD_STORE, 'held', {});
  }

  /** Entries, newest first. Resolves when all searches that have been answered are in the stores. */
  async list(collection: CollectionId, { before, offset, limit }: Page): Promise<FoundQuery[]> {
    const range = { collection, oldestMs: oldestMs(this.options), ...(before !== undefined && { before }) };
    const from = await this.skip(range, offset);
    return from ? this.read('list', { ...from, limit }) : [];
  }

  /** Pages of the latest entries, newest first, or of those before an id; up to a page more than `entriesMax`. */
  async *pages(collection: CollectionId, entriesMax: number, from?: string): AsyncGenerator<FoundQuery[]> {
    let before: { before?: string } = from === undefined ? {} : { before: from };
    for (let read = 0; read < entriesMax; read += PAGE_ENTRIES) {
      const page = await this.list(collection, { ...before, offset: 0, limit: PAGE_ENTRIES });
      yield page;
      const last = page.at(-1);
      if (!last || page.length < PAGE_ENTRIES) return;
      before = { before: last.id };
    }
  }

  /** Finds an entry in `collection`, or in any collection if none is given. */
  async get(id: string, collection?: CollectionId): Promise<FoundQuery | null> {
    return this.read('get', { id, ...(collection !== undefined && { collection }), oldestMs: oldestMs(this.options) });
  }

  /** A page of what only the other nodes of a cluster have logged, oldest first: entries newer than `after` if given. */
  async elsewhere(collection: CollectionId, after: string | undefined): Promise<FoundQuery[]> {
    const { askOthers } = this.options;
    const range = { collection, oldestMs: oldestMs(this.options), limit: PAGE_ENTRIES };
    const read = { ...range, ...(after !== undefined && { after }) };
    return askOthers ? MERGED.earliest(await askOthers('earliest', read), read) : [];
  }

  /** Whether other nodes of a cluster log searches too. */
  get isShared(): boolean {
    return this.options.askOthers !== undefined;
  }

  /** What the stores of this server have. */
  async readHere<O extends ReadOp>(op: O, read: Read<O>): Promise<Entries<O>> {
    const { pool } = this.options;
    await this.flushAll();
    const found = async (): Promise<Entries<O>> => MERGED[op](await pool.requestAll(op, read), read);
    const first = await found();
    const collection =
      'collection' in read ? read.collection : op === 'get' ? (first as FoundQuery | null)?.collection : undefined;
    return collection !== undefined && (await this.settle(collection)) ? found() : first;
  }

  /**
   * Removes the log of a deleted collection in the background. If the workers cannot be told now, the next sweep repeats
   * it.
   */
  forget(collection: CollectionId): void {
    this.undropped.add(collection);
    void this.dropUndropped();
  }

  /**
   * Starts the periodic sweep of old entries; called once the catalog is loaded. Removes the logs that are not in
   * `live`, unless `live` is undefined because the existing collections are not known completely.
   */
  async start(live: readonly CollectionId[] | undefined): Promise<void> {
    if (this.hasClosed) return;
    this.sweepTimer ??= setInterval(() => void this.sweep(), SWEEP_MS).unref();
    if (live)
      await this.options.pool
        .requestAll('retain', { collections: Uint32Array.from(live) })
        .catch((error: unknown) => this.tell(error));
    await this.sweep();
  }

  /** Removes surplus and old entries. */
  async sweep(): Promise<void> {
    if (this.hasClosed) return;
    await this.dropUndropped();
    try {
      await this.options.pool.requestAll('sweep', { oldestMs: oldestMs(this.options) });
      if (this.stores > 1) for (const collection of await this.surplus()) await this.settle(collection);
    } catch (error) {
      this.tell(error);
    }
  }

  /** Terminates the worker threads, as a crash would. For tests. */
  kill(): Promise<void> {
    return this.options.pool.kill();
  }

  /** Writes all appended entries and stops the workers. */
  async close(): Promise<void> {
    this.hasClosed = true;
    clearInterval(this.sweepTimer);
    void this.flush();
    await this.options.pool.close();
  }

  /** Sends what this thread has gathered, and waits for what the front threads have. */
  private async flushAll(): Promise<void> {
    void this.flush();
    await this.options.flushFronts?.();
    // With several workers, nothing keeps a read of one behind an append to another.
    if (this.stores > 1) await this.flush();
  }

  /** What the stores of all nodes have. */
  private async read<O extends ReadOp>(op: O, read: Read<O>): Promise<Entries<O>> {
    const { askOthers } = this.options;
    if (!askOthers) return this.readHere(op, read);
    const [own, others] = await Promise.all([this.readHere(op, read), askOthers(op, read)]);
    return MERGED[op]([own, ...others], read);
  }

  /** The range without its `offset` newest entries; undefined if it has no more than these. */
  private async skip(range: LogRange, offset: number): Promise<LogRange | undefined> {
    let from = range;
    for (let left = offset; left > 0; ) {
      const count = Math.min(left, IDS_MAX);
      const ids = await this.read('ids', { ...from, count });
      if (ids.length < count) return undefined;
      from = { ...from, before: ids[0] as string };
      left -= count;
    }
    return from;
  }

  /**
   * Removes the oldest entries of a collection over all stores until its log is within its bounds. Returns whether it
   * was not. Appends that come meanwhile are left to the next call.
   */
  private async settle(collection: CollectionId): Promise<boolean> {
    const { pool, bounds } = this.options;
    // What exceeds the bounds in one store, an append to it removes.
    if (this.stores === 1) return false;
    const size = sumOf(await pool.requestAll('oldest', { collection, count: 0 }));
    if (!isBeyond(size, bounds)) return false;
    for (let steps = Math.ceil(size.entries / IDS_MAX); steps > 0; steps--) {
      const stores = await pool.requestAll('oldest', { collection, count: IDS_MAX });
      const id = lastSurplus(stores, bounds);
      if (id === undefined) break;
      await pool.requestAll('removeUpTo', { collection, id });
    }
    return true;
  }

  /** The collections whose logs exceed their bounds over all stores. */
  private async surplus(): Promise<CollectionId[]> {
    const sums = new Map<CollectionId, LogSize>();
    for (const { collection, ...size } of (await this.options.pool.requestAll('sizes', {})).flat())
      sums.set(collection, sumOf([sums.get(collection) ?? { entries: 0, bytes: 0 }, size]));
    return [...sums].filter(([, size]) => isBeyond(size, this.options.bounds)).map(([collection]) => collection);
  }

  /** For each entry that the next release moves, the collection that has its id elsewhere, or 0. */
  private async ownersElsewhere(shadow: CollectionId, to: CollectionId, live: Uint32Array): Promise<Uint32Array> {
    const { pool, askOthers } = this.options;
    if (this.stores === 1 && !askOthers) return new Uint32Array();
    const read = { ids: await pool.request(HELD_STORE, 'releasable', { shadow }), to, live };
    const [here, others] = await Promise.all([
      Promise.all(Array.from({ length: this.stores - 1 }, (_, i) => pool.request(i + 1, 'owners', read))),
      askOthers?.('owners', read),
    ]);
    return MERGED.owners([...here, ...(others ?? [])], read);
  }

  private async dropUndropped(): Promise<void> {
    const collections = [...this.undropped];
    if (collections.length === 0) return;
    const forgotten = (): void => collections.forEach((id) => this.undropped.delete(id));
    await this.options.pool.requestAll('drop', { collections }).then(forgotten, (error: unknown) => this.tell(error));
  }

  private tell(error: unknown): void {
    this.options.log.error({ reason: String(error) }, 'the query log could not be cleaned up');
  }
}

/**
 * One answer from those of several stores. Ids come in their order, of which the newest are the last. Two nodes have the
 * same entry where one of them has restored an archive that the other one's log is in.
 */
const MERGED: { readonly [O in ReadOp]: (answers: readonly Entries<O>[], read: Read<O>) => Entries<O> } = {
  list: (answers, { limit }) => distinct(answers.flat().sort(newestFirst)).slice(0, limit),
  earliest: (answers, { limit }) =>
    distinct(answers.flat().sort((one, other) => newestFirst(other, one))).slice(0, limit),
  ids: (answers, { count }) => [...new Set(answers.flat())].sort().slice(-count),
  get: (answers) => answers.find((query) => query !== null) ?? null,
  owners: (answers, { ids, to }) =>
    Uint32Array.from({ length: ids.length / QUERY_ID_BYTES }, (_, i) => {
      const owners = answers.map((of) => of[i]);
      return owners.includes(to) ? to : (owners.find((owner) => owner !== 0) ?? 0);
    }),
};

/** The order of ids is the order of their times, and that of their text. */
const newestFirst = (a: FoundQuery, b: FoundQuery): number => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);

const distinct = (sorted: readonly FoundQuery[]): FoundQuery[] =>
  sorted.filter(({ id }, i) => id !== sorted[i - 1]?.id);

const sumOf = (sizes: readonly LogSize[]): LogSize => ({
  entries: sizes.reduce((sum, { entries }) => sum + entries, 0),
  bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
});

/**
 * The newest of the entries that have to go for a log to be within its bounds, as far as the oldest ones of each store
 * tell; undefined if none has to.
 */
function lastSurplus(stores: readonly LogCommands['oldest']['answer'][], bounds: LogBounds): string | undefined {
  const left = sumOf(stores);
  // Beyond the last id of a store that has more, the order is not known.
  const known = stores.filter(({ ids, entries }) => ids.length < entries).map(({ ids }) => ids.at(-1) ?? '');
  const oldest = stores.flatMap(({ ids, lengths }) => ids.map((id, i) => ({ id, length: lengths[i] as number })));
  oldest.sort((a, b) => (a.id < b.id ? -1 : 1));
  let last: string | undefined;
  for (const { id, length } of oldest) {
    if (!isBeyond(left, bounds) || known.some((end) => id > end)) break;
    left.entries--;
    left.bytes -= length;
    last = id;
  }
  return last;
}

/** Entries that are older than this time are removed. */
const oldestMs = ({ nowMs, ageDaysMax }: QueryLogOptions): number => nowMs() - ageDaysMax * DAY_MS;
