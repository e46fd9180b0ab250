// The buffer of logged searches on the threads that search. Appending keeps the encoded entry in memory and returns;
// entries are sent to a log worker together and committed a little later. Waiting bytes are bounded. While more than
// half of the bound waits, the log workers do not keep up: then only every n-th search of a collection is logged, with
// the number of searches that its entry stands for, and n grows with what waits. Beyond the bound searches are not
// logged. Every search that is not logged is counted with the reason. Runs on front threads and on the main thread.
import type { CollectionId } from '../../api/ids.js';
import { concat } from '../../base/bytes.js';
import type { Log } from '../../base/log.js';
import type { LogCounts, LogMeter } from '../../base/meters.js';
import { GrowingIds } from '../../base/uuids.js';
import type { LoggedQuery, PackedEntries } from '../../storage/query-log-commands.js';
import { QUERY_ID_BYTES, encodeQuery, queryIdBytes } from '../../storage/query-log-records.js';

export interface LogBufferOptions {
  /**
   * Stores entries durably. Rejects if they could not be stored. `sent` is called when they no longer die with this
   * thread.
   */
  store: (entries: PackedEntries, sent: () => void) => Promise<unknown>;
  /** If false, nothing is appended. */
  enabled: boolean;
  /** Maximum number of bytes of records that are not on disk yet. */
  waitingBytesMax: number;
  meter: LogMeter;
  log: Log;
  /** Is told by how many the gathered entries, which die with this thread, have changed. */
  gathered?: (change: number) => void;
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
    // The records get a buffer of their own, because sending a view sends its whole buffer.
    records: concat<Uint8Array>(records, (length) => new Uint8Array(length)),
  };
}

/**
 * Entries are gathered for `GATHER_MS`, or up to `GATHERED_MAX` or an eighth of the bytes that may wait, unless a read
 * needs them: one commit per turn of the event loop cost a tenth of the search throughput.
 */
const GATHER_MS = 50;
const GATHERED_MAX = 512;
const GATHERED_SHARE = 1 / 8;

/** The share of the bytes that may wait from which on searches are sampled. */
const SAMPLED_FROM = 1 / 2;
/** Of so many searches one is logged when almost all bytes that may wait do. */
const SAMPLED_MAX = 128;
/** Collections whose skipped searches are remembered; those of others are counted only in the metrics. */
const SKIPPED_COLLECTIONS_MAX = 65_536;

/** Of how many searches one is logged while `waiting` of at most `max` bytes wait: 1, or 2 to `SAMPLED_MAX`. */
export function samplingOf(waiting: number, max: number): number {
  const beyond = (waiting / max - SAMPLED_FROM) / (1 - SAMPLED_FROM);
  return beyond <= 0 ? 1 : 2 ** Math.ceil(Math.min(1, beyond) * Math.log2(SAMPLED_MAX));
}

export class LogBuffer {
  private readonly ids = new GrowingIds();
  private fresh: NewEntry[] = [];
  private freshBytes = 0;
  private gathering: NodeJS.Timeout | undefined;
  private waiting = 0;
  /** What has been sent and is not stored yet. */
  private readonly underWay = new Set<Promise<void>>();
  /** How many searches of a collection have been left out since its latest entry. */
  private readonly skipped = new Map<CollectionId, number>();
  private readonly reported = new Set<string>();

  constructor(private readonly options: LogBufferOptions) {}

  get enabled(): boolean {
    return this.options.enabled;
  }

  get waitingBytes(): number {
    return this.waiting;
  }

  /**
   * Returns the id of the new entry; undefined if logging is off, the search is left out by sampling, or the buffer is
   * full.
   */
  append(collection: CollectionId, query: LoggedQuery): string | undefined {
    const { enabled, waitingBytesMax } = this.options;
    if (!enabled) return undefined;
    const skipped = this.skipped.get(collection) ?? 0;
    if (skipped + 1 < samplingOf(this.waiting, waitingBytesMax)) return this.leaveOut(collection, skipped);
    const sampled = skipped + 1;
    const record = encodeQuery(sampled === 1 ? query : { ...query, rest: { ...query.rest, sampled } });
    if (this.waiting + record.length > waitingBytesMax) {
      this.lost('full', 1, 'the buffer for entries that are not on disk yet is full');
      return undefined;
    }
    if (skipped > 0) this.skipped.delete(collection);
    return this.add({ id: this.ids.next(query.executedAtMs), collection, record });
  }

  /** Sends the gathered entries. Resolves when all entries so far are stored, or have been counted as lost. */
  async flush(): Promise<void> {
    clearTimeout(this.gathering);
    const entries = this.fresh;
    if (entries.length > 0) {
      this.fresh = [];
      this.freshBytes = 0;
      const sent = this.send(packEntries(entries)).finally(() => this.underWay.delete(sent));
      this.underWay.add(sent);
    }
    await Promise.all(this.underWay);
  }

  private add(entry: NewEntry): string {
    const { length } = entry.record;
    this.waiting += length;
    this.freshBytes += length;
    const gathered = this.fresh.push(entry);
    this.options.gathered?.(1);
    if (gathered === 1) this.gathering = setTimeout(() => void this.flush(), GATHER_MS);
    const roomLeft = this.options.waitingBytesMax * GATHERED_SHARE - this.freshBytes;
    if (gathered === GATHERED_MAX || (roomLeft < 0 && roomLeft + length >= 0)) setImmediate(() => void this.flush());
    return entry.id;
  }

  private async send(packed: PackedEntries): Promise<void> {
    let isSent = false;
    const sent = (): void => {
      if (!isSent) this.options.gathered?.(-packed.collections.length);
      isSent = true;
    };
    await this.options
      .store(packed, sent)
      .catch((error: unknown) => this.lost('failed', packed.collections.length, (error as Error).message));
    sent();
    this.waiting -= packed.records.length;
  }

  private leaveOut(collection: CollectionId, skipped: number): undefined {
    this.options.meter.add('sampledOut', 1);
    if (skipped > 0 || this.skipped.size < SKIPPED_COLLECTIONS_MAX) this.skipped.set(collection, skipped + 1);
    this.warn(
      'sampledOut',
      'more searches come than are written',
      'only some of the searches are logged; see the metric sheaf_query_log_sampled_out_total',
    );
  }

  private lost(what: keyof LogCounts, entries: number, reason: string): void {
    this.options.meter.add(what, entries);
    this.warn(what, reason, 'searches are not logged; see the metric sheaf_query_log_dropped_total');
  }

  /** Warns only once of each kind, because a log line for every search could grow without bound. */
  private warn(what: keyof LogCounts, reason: string, message: string): void {
    if (this.reported.has(what)) return;
    this.reported.add(what);
    this.options.log.warn({ reason }, message);
  }
}
