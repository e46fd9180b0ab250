// The query log as the use cases see it. An append leaves the bytes of an entry in memory and returns; a little later
// all entries since are sent and committed together, and nothing waits for them. Reads go the same way behind them, so
// a client finds its search at once. What waits is bounded: beyond that searches go unlogged, which is counted and
// told. Front thread.
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
  /** False: nothing is appended; what is there can be read. */
  enabled: boolean;
  ageDaysMax: number;
  /** Bytes of records on their way to the disk. */
  waitingBytesMax: number;
  log: Log;
  nowMs: () => number;
}

interface NewEntry {
  id: string;
  collection: CollectionId;
  record: Buffer;
}

/** Logged searches on their way to the log worker: each as the bytes of its record, many in a few buffers. */
function packEntries(entries: readonly NewEntry[]): PackedEntries {
  const records = entries.map(({ record }) => record);
  const ids = new Uint8Array(entries.length * QUERY_ID_BYTES);
  entries.forEach(({ id }, i) => ids.set(queryIdBytes(id), i * QUERY_ID_BYTES));
  return {
    collections: Uint32Array.from(entries, ({ collection }) => collection),
    ids,
    lengths: Uint32Array.from(records, ({ length }) => length),
    // In a buffer of its own: what travels between threads is the whole buffer beneath a view.
    records: concat<Uint8Array>(records, (length) => new Uint8Array(length)),
  };
}

/**
 * Entries are gathered so long and up to so many, unless a read wants them: a commit a turn cost a tenth of the
 * searches.
 */
const GATHER_MS = 50;
const GATHERED_MAX = 512;
const SWEEP_MS = 60_000;
const DAY_MS = 86_400_000;
const PAGE_ENTRIES = 500;

type Page = Pick<LogCommands['list']['request'], 'before' | 'offset' | 'limit'>;

export class QueryLog {
  /** Entries since the start; `dropped` are those that found no room or could not be written. */
  readonly counts = { appended: 0, dropped: 0 };
  private readonly ids = new GrowingIds();
  private readonly fresh: NewEntry[] = [];
  private gathering: NodeJS.Timeout | undefined;
  private waiting = 0;
  private hasToldOfDrops = false;
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

  /** The id of the new entry; undefined when nothing is logged, or there is no room. */
  append(collection: CollectionId, query: LoggedQuery): string | undefined {
    if (!this.options.enabled) return undefined;
    const record = encodeQuery(query);
    if (this.waiting + record.length > this.options.waitingBytesMax) {
      this.drop(1, 'the log worker is behind');
      return undefined;
    }
    this.waiting += record.length;
    const id = this.ids.next(query.executedAtMs);
    const gathered = this.fresh.push({ id, collection, record });
    if (gathered === 1) this.gathering = setTimeout(() => this.flush(), GATHER_MS);
    if (gathered === GATHERED_MAX) setImmediate(() => this.flush());
    return id;
  }

  /** Entries of an archive wait, unseen, until the collection that is staged has its name. */
  async hold(staged: CollectionId, entries: LogCommands['hold']['request']['entries']): Promise<void> {
    await this.ask('hold', { staged, entries });
  }

  /**
   * All that waits goes to the log `to`, whose own entries stay as they are, or away where that is null. `live`: the
   * logs there are; an id that another of them has by now is left to it.
   */
  async release(staged: CollectionId, to: CollectionId | null, live: Uint32Array): Promise<void> {
    while ((await this.ask('release', { staged, to, live })) > 0);
  }

  /** For which staged collections entries wait. */
  held(): Promise<CollectionId[]> {
    return this.ask('held', {});
  }

  /** Newest first. */
  async list(collection: CollectionId, page: Page): Promise<FoundQuery[]> {
    return this.ask('list', { collection, ...page, oldestMs: oldestMs(this.options) });
  }

  /** Pages of the latest `entriesMax` entries, or a few more, the newest first. */
  async *pages(collection: CollectionId, entriesMax: number): AsyncGenerator<FoundQuery[]> {
    for (let offset = 0; offset < entriesMax; offset += PAGE_ENTRIES) {
      const page = await this.list(collection, { offset, limit: PAGE_ENTRIES });
      yield page;
      if (page.length < PAGE_ENTRIES) return;
    }
  }

  /** In `collection`, or in any. */
  async get(id: string, collection?: CollectionId): Promise<FoundQuery | null> {
    return this.ask('get', {
      id,
      ...(collection !== undefined && { collection }),
      oldestMs: oldestMs(this.options),
    });
  }

  /** The collection is no more. Its log goes in the background; when that cannot be told now, with a later sweep. */
  forget(collection: CollectionId): void {
    this.undropped.add(collection);
    void this.dropUndropped();
  }

  /**
   * Once the catalog is loaded: the logs of collections that are no more go, where it is known which there are, and
   * from then on what is too old, now and then.
   */
  async start(live: readonly CollectionId[] | undefined): Promise<void> {
    if (this.hasClosed) return;
    this.sweepTimer ??= setInterval(() => void this.sweep(), SWEEP_MS).unref();
    if (live)
      await this.options.pool
        .ask('retain', { collections: Uint32Array.from(live) })
        .catch((error: unknown) => this.tell(error));
    await this.sweep();
  }

  /** Removes what is too much or too old, in the background of the worker. */
  async sweep(): Promise<void> {
    if (this.hasClosed) return;
    await this.dropUndropped();
    await this.options.pool
      .ask('sweep', { oldestMs: oldestMs(this.options) })
      .catch((error: unknown) => this.tell(error));
  }

  /** Ends the worker's thread, as a crash would: for tests. */
  kill(): Promise<void> {
    return this.options.pool.kill();
  }

  /** Writes what has been appended. */
  async close(): Promise<void> {
    this.hasClosed = true;
    clearInterval(this.sweepTimer);
    this.flush();
    await this.options.pool.close();
  }

  /** Behind all that has been appended. */
  private ask<O extends LogOp>(op: O, request: LogCommands[O]['request']): Promise<LogAnswer<O>> {
    this.flush();
    return this.options.pool.ask(op, request);
  }

  private flush(): void {
    clearTimeout(this.gathering);
    const entries = this.fresh.splice(0);
    if (entries.length === 0) return;
    const packed = packEntries(entries);
    this.options.pool
      .ask('append', { entries: packed })
      .then(
        () => (this.counts.appended += entries.length),
        (error: unknown) => this.drop(entries.length, (error as Error).message),
      )
      .finally(() => (this.waiting -= packed.records.length));
  }

  private async dropUndropped(): Promise<void> {
    const collections = [...this.undropped];
    if (collections.length === 0) return;
    const forgotten = (): void => collections.forEach((id) => this.undropped.delete(id));
    await this.options.pool.ask('drop', { collections }).then(forgotten, (error: unknown) => this.tell(error));
  }

  /** Told once: a log line for each search that finds no room would be the next thing that grows. */
  private drop(entries: number, reason: string): void {
    this.counts.dropped += entries;
    if (!this.hasToldOfDrops)
      this.options.log.warn({ reason }, 'searches go unlogged: see the metric sheaf_query_log_dropped_total');
    this.hasToldOfDrops = true;
  }

  private tell(error: unknown): void {
    this.options.log.error({ reason: String(error) }, 'the query log could not be tidied');
  }
}

/** What is older than this is too old. */
const oldestMs = ({ nowMs, ageDaysMax }: QueryLogOptions): number => nowMs() - ageDaysMax * DAY_MS;
