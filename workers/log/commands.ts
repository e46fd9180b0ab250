// Runs the commands of a log worker. Adjacent appends share a commit; an error fails only its own command. Entries
// are removed in the background. Runs in log workers only.
import { AppError, type Result } from '../../src/api/errors.js';
import type { CollectionId } from '../../src/api/ids.js';
import type { LogMeter } from '../../src/base/meters.js';
import { AssertionFailed } from '../../src/base/assert.js';
import { internalErrorOf } from '../../src/base/thread.js';
import { DamagedRecord } from '../../src/storage/damage.js';
import type {
  LogCommands as Commands,
  LogAnswer,
  LogBounds,
  LogCommand,
  LogOp,
  LogRequest,
  PackedEntries,
} from '../../src/storage/query-log-commands.js';
import { QUERY_ID_BYTES } from '../../src/storage/query-log-records.js';
import { type LogEntry, NOTHING, type QueryLogStore } from '../../src/storage/query-log.js';

/** Entries removed per transaction, which takes about 5 ms. */
const STEP = 500;
/** Collections that are checked per turn of the event loop. */
const LOOKS_MAX = 200;

interface Work {
  collection: CollectionId;
  bounds: LogBounds;
  oldestMs: number;
}

/**
 * Removes logs of deleted collections and entries beyond the bounds, in short transactions between batches, so that
 * appends and reads are not delayed.
 */
class Removal {
  private work: Work[] = [];
  private scheduled: NodeJS.Immediate | undefined;

  constructor(
    private readonly store: QueryLogStore,
    private readonly bounds: LogBounds,
    /** Called with internal errors, because no request waits for this work. */
    private readonly report: (error: unknown) => void,
  ) {}

  drop(collections: readonly CollectionId[]): void {
    this.work = [...collections.map((collection) => ({ collection, bounds: NOTHING, oldestMs: 0 })), ...this.work];
    this.wake();
  }

  /** Checks all collections; if a sweep is in progress, that one continues instead. */
  sweep(oldestMs: number): void {
    if (this.work.length === 0)
      this.work = this.store.collections().map((collection) => ({ collection, bounds: this.bounds, oldestMs }));
    this.wake();
  }

  stop(): void {
    this.work = [];
    clearImmediate(this.scheduled);
  }

  private wake(): void {
    if (this.work.length === 0) return;
    this.scheduled ??= setImmediate(() => {
      this.scheduled = undefined;
      if (this.turn()) this.wake();
    });
  }

  /**
   * Runs at most one transaction. Returns false if nothing is left to do, or if the store is full, because removing
   * needs space too.
   */
  private turn(): boolean {
    for (let looks = 0; looks < LOOKS_MAX && this.work[0]; looks++) {
      try {
        if (this.step(this.work[0])) return true;
      } catch (error) {
        if (error instanceof AppError) return false;
        this.report(error);
      }
      this.work.shift();
    }
    return this.work.length > 0;
  }

  /** Returns true if entries were removed. */
  private step({ collection, bounds, oldestMs }: Work): boolean {
    return this.store.isOver(collection, bounds, oldestMs) && this.store.trim(collection, bounds, oldestMs, STEP) > 0;
  }
}

/**
 * Unpacks entries from their message without copying the records. The counterpart is `packEntries` in
 * src/service/query-log/log-buffer.ts.
 */
function unpackEntries({ collections, ids, lengths, records }: PackedEntries): LogEntry[] {
  const bytes = Buffer.from(records.buffer, records.byteOffset, records.byteLength);
  let end = 0;
  return Array.from(collections, (collection, i) => {
    const start = end;
    end += lengths[i] as number;
    const id = ids.subarray(i * QUERY_ID_BYTES, (i + 1) * QUERY_ID_BYTES);
    return { collection: collection as CollectionId, id, record: bytes.subarray(start, end) };
  });
}

type Answer = LogAnswer<LogOp>;
type Handlers = { [O in Exclude<LogOp, 'append'>]: (request: LogRequest<O>) => Commands[O]['answer'] };

export class LogCommands {
  private readonly removal: Removal;

  constructor(
    private readonly store: QueryLogStore,
    private readonly bounds: LogBounds,
    private readonly meter: LogMeter,
    report: (error: unknown) => void,
  ) {
    this.removal = new Removal(store, bounds, report);
  }

  run(commands: readonly LogCommand[]): Result<Answer>[] {
    const results: Result<Answer>[] = [];
    while (results.length < commands.length) {
      const appends = appendsFrom(commands, results.length);
      if (appends.length > 0) {
        const result = attempt(() => this.append(appends.map(({ entries }) => entries)));
        results.push(...appends.map(() => result));
      } else {
        const command = commands[results.length] as Exclude<LogCommand, { op: 'append' }>;
        results.push(attempt(() => (this.handlers[command.op] as (request: typeof command) => Answer)(command)));
      }
    }
    return results;
  }

  /**
   * Stores the entries of many messages in one commit. Entries that are stored already count too: they come again because
   * a worker died in its commit, before it had counted them.
   */
  append(messages: readonly PackedEntries[]): null {
    const entries = messages.flatMap(unpackEntries);
    this.store.append(entries, this.bounds);
    this.meter.add('stored', entries.length);
    return null;
  }

  private readonly handlers: Handlers = {
    hold: ({ shadow, entries }) => (
      this.store.hold(unpackEntries({ ...entries, collections: new Uint32Array(entries.lengths.length).fill(shadow) })),
      null
    ),
    release: ({ shadow, to, live, owners }) => this.store.release(shadow, to, new Set(live), owners, this.bounds),
    releasable: ({ shadow }) => this.store.releasable(shadow),
    owners: ({ ids, to, live }) => this.store.owners(ids, to, new Set(live)),
    held: () => this.store.held(),
    list: ({ limit, ...range }) => this.store.list(range, limit),
    earliest: (range) => this.store.earliest(range),
    ids: ({ count, ...range }) => this.store.ids(range, count),
    oldest: ({ collection, count }) => this.store.oldest(collection, count),
    removeUpTo: ({ collection, id }) => (this.store.removeUpTo(collection, id), null),
    sizes: () => this.store.sizes(),
    get: ({ id, collection, oldestMs }) => {
      const found = this.store.get(id, oldestMs);
      return found && (collection === undefined || found.collection === collection) ? found : null;
    },
    drop: ({ collections }) => (this.removal.drop(collections), null),
    retain: ({ collections }) => {
      const live = new Set(collections as Iterable<number>);
      this.removal.drop(this.store.collections().filter((id) => !live.has(id)));
      return null;
    },
    sweep: ({ oldestMs }) => (this.removal.sweep(oldestMs), null),
    close: () => {
      this.removal.stop();
      this.store.close();
      return null;
    },
  };
}

/** The adjacent appends that start at index `at`. */
function appendsFrom(commands: readonly LogCommand[], at: number): LogRequest<'append'>[] {
  const end = commands.findIndex(({ op }, i) => i >= at && op !== 'append');
  return commands.slice(at, end < 0 ? undefined : end) as LogRequest<'append'>[];
}

/** Returns errors as results, except a failed assertion, which is rethrown. */
export function attempt(work: () => Answer): Result<Answer> {
  try {
    return { value: work() };
  } catch (error) {
    if (error instanceof AppError) return { error: error.toWire() };
    if (error instanceof DamagedRecord)
      return {
        error: new AppError('collection_damaged', 'Entries of the query log are damaged on disk.').toWire(),
      };
    if (error instanceof AssertionFailed) throw error;
    return { internalError: internalErrorOf(error) };
  }
}
