// The query log. Appending keeps the encoded entry in memory and returns; entries are sent to the log worker and
// committed together a little later. Reads are queued behind them, so a client finds its search at once. Waiting bytes
// are bounded: beyond the bound searches are not logged, which is counted and reported once. Runs on front threads and
// on the main thread.
import type { CollectionId } from '../../api/ids.js';
import { concat } from '../../base/bytes.js';
import type { Log } from '../../base/log.js';
import { GrowingIds } from '../../base/uuids.js';
import type { LogPool } from '../../pool/log-pool.js';
import type {
  FoundQuery,
  LogAnswer,
  LogCommands,
  LogOp,
  LoggedQuery,
  PackedEntries,
} from '../../storage/query-log-commands.js';
import { QUERY_ID_BYTES, encodeQuery, queryIdBytes } from '../../storage/query-log-records.js';

interface QueryLogOptions {
  pool: LogPool;
  /** If false, nothing is appended; existing entries can be read. */
  enabled: boolean;
  ageDaysMax: number;
  /** Maximum number of bytes of records that are not on disk yet. */
  waitingBytesMax: number;
  log: Log;
  nowMs: () => number;
  /** Makes the front threads send what they have gathered; absent if there are none. */
  flushFronts?: () => Promise<unknown>;
}

interface NewEntry {
  id: string;
  collection: CollectionId;
  record: Buffer;
}

/** Packs entries for the log worker: the bytes of many records in a few buffers. */
function packEntries(entries: readonly NewEntry[]): PackedEntries {
  const records = entries.map(({ record }) => record);
  const ids = new Uint8Array(entries.length * QUERY_ID_BYTES);
  entries.forEach(({ id }, i) => ids.set(queryIdBytes(id), i * QUERY_ID_BYTES));
  return {
    collections: Uint32Array.from(entries, ({ collection }) => collection),
    ids,
    lengths: Uint32Array.from(records, ({ length }) => length),
    // The records get a buffer of their own, because transferring a view transfers its whole buffer.
    records: concat<Uint8Array>(records, (length) => new Uint8Array(length)),
  };
}

/**
 * Entries are gathered for `GATHER_MS` or up to `GATHERED_MAX`, unless a read needs them: one commit per turn of the
 * event loop cost a tenth of the search throughput.
 */
const GATHER_MS = 50;
const GATHERED_MAX = 512;
const SWEEP_MS = 60_000;
const DAY_MS = 86_400_000;
const PAGE_ENTRIES = 500;

type Page = Pick<LogCommands['list']['request'], 'before' | 'offset' | 'limit'>;

export class QueryLog {
  /** Entries since the start; `dropped` counts those that exceeded the buffer or could not be written. */
  readonly counts = { appended: 0, dropped: 0 };
  private readonly ids = new GrowingIds();
  private readonly fresh: NewEntry[] = [];
  private gathering: NodeJS.Timeout | undefined;
  private waiting = 0;
  private hasReportedDrops = false;
  private readonly undropped = new Set<CollectionId>();
  private sweepTimer: NodeJS.Timeout | undefined;
  private hasClosed = false;

  constructor(private readonly options: QueryLogOptions) {}

  get enabled(): boolean {
    return this.options.enabled;
  }

  get waitingBytes(): number {
    return this.waiting;
  }

  /** Returns the id of the new entry, or undefined if logging is off or the buffer is full. */
  append(collection: CollectionId, query: LoggedQuery): string | undefined {
    if (!this.options.enabled) return undefined;
    const record = encodeQuery(query);
    if (this.waiting + record.length > this.options.waitingBytesMax) {
      this.drop(1, 'the buffer for entries that are not on disk yet is full');
      return undefined;
    }
    this.waiting += record.length;
    const id = this.ids.next(query.executedAtMs);
    const gathered = this.fresh.push({ id, collection, record });
    if (gathered === 1) this.gathering = setTimeout(() => void this.flush(), GATHER_MS);
    if (gathered === GATHERED_MAX) setImmediate(() => void this.flush());
    return id;
  }

  /** Stores entries of an archive, invisible to reads, until the shadow collection is switched in. */
  async hold(shadow: CollectionId, entries: LogCommands['hold']['request']['entries']): Promise<void> {
    await this.request('hold', { shadow, entries });
  }

  /**
   * Moves the held entries to the log `to`, without replacing entries there, or discards them if `to` is null. `live`
   * are the existing logs; an entry whose id is in use in another of them is not moved.
   */
  async release(shadow: CollectionId, to: CollectionId | null, live: Uint32Array): Promise<void> {
    while ((await this.request('release', { shadow, to, live })) > 0);
  }

  /** The shadow collections that have held entries. */
  held(): Promise<CollectionId[]> {
    return this.request('held', {});
  }

  /** Entries, newest first. */
  async list(collection: CollectionId, page: Page): Promise<FoundQuery[]> {
    return this.request('list', { collection, ...page, oldestMs: oldestMs(this.options) });
  }

  /** Pages of the latest entries, newest first; up to a page more than `entriesMax`. */
  async *pages(collection: CollectionId, entriesMax: number): AsyncGenerator<FoundQuery[]> {
    for (let offset = 0; offset < entriesMax; offset += PAGE_ENTRIES) {
      const page = await this.list(collection, { offset, limit: PAGE_ENTRIES });
      yield page;
      if (page.length < PAGE_ENTRIES) return;
    }
  }

  /** Finds an entry in `collection`, or in any collection if none is given. */
  async get(id: string, collection?: CollectionId): Promise<FoundQuery | null> {
    return this.request('get', {
      id,
      ...(collection !== undefined && { collection }),
      oldestMs: oldestMs(this.options),
    });
  }

  /**
   * Removes the log of a deleted collection in the background. If the worker cannot be told now, the next sweep repeats
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
        .request('retain', { collections: Uint32Array.from(live) })
        .catch((error: unknown) => this.tell(error));
    await this.sweep();
  }

  /** Removes surplus and old entries, in the background of the log worker. */
  async sweep(): Promise<void> {
    if (this.hasClosed) return;
    await this.dropUndropped();
    await this.options.pool
      .request('sweep', { oldestMs: oldestMs(this.options) })
      .catch((error: unknown) => this.tell(error));
  }

  /** Terminates the worker thread, as a crash would. For tests. */
  kill(): Promise<void> {
    return this.options.pool.kill();
  }

  /** Writes all appended entries and stops the worker. */
  async close(): Promise<void> {
    this.hasClosed = true;
    clearInterval(this.sweepTimer);
    void this.flush();
    await this.options.pool.close();
  }

  /** Sends a request after all appended entries. */
  private async request<O extends LogOp>(op: O, request: LogCommands[O]['request']): Promise<LogAnswer<O>> {
    void this.flush();
    await this.options.flushFronts?.();
    return this.options.pool.request(op, request);
  }

  /** Sends the gathered entries. Resolves when they are stored, or have been counted as dropped. */
  async flush(): Promise<void> {
    clearTimeout(this.gathering);
    const entries = this.fresh.splice(0);
    if (entries.length === 0) return;
    const packed = packEntries(entries);
    await this.stored(packed);
    this.waiting -= packed.records.length;
  }

  /** Stores entries that a front thread has gathered. */
  async store(entries: PackedEntries): Promise<void> {
    this.waiting += entries.records.length;
    await this.stored(entries);
    this.waiting -= entries.records.length;
  }

  private async stored(entries: PackedEntries): Promise<void> {
    const { length } = entries.collections;
    await this.options.pool.request('append', { entries }).then(
      () => (this.counts.appended += length),
      (error: unknown) => this.drop(length, (error as Error).message),
    );
  }

  private async dropUndropped(): Promise<void> {
    const collections = [...this.undropped];
    if (collections.length === 0) return;
    const forgotten = (): void => collections.forEach((id) => this.undropped.delete(id));
    await this.options.pool.request('drop', { collections }).then(forgotten, (error: unknown) => this.tell(error));
  }

  /** Warns only once, because a log line for every dropped entry could grow without bound. */
  private drop(entries: number, reason: string): void {
    this.counts.dropped += entries;
    if (!this.hasReportedDrops)
      this.options.log.warn({ reason }, 'searches are not logged; see the metric sheaf_query_log_dropped_total');
    this.hasReportedDrops = true;
  }

  private tell(error: unknown): void {
    this.options.log.error({ reason: String(error) }, 'the query log could not be cleaned up');
  }
}

/** Entries that are older than this time are removed. */
const oldestMs = ({ nowMs, ageDaysMax }: QueryLogOptions): number => nowMs() - ageDaysMax * DAY_MS;
