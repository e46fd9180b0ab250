// Runs the commands of the log worker: appends next to each other share a commit; what a command fails on fails that
// command alone. Log worker only.
import { AssertionFailed } from '../../src/base/assert.js';
import { faultOf } from '../../src/base/faults.js';
import { AppError } from '../../src/contract/errors.js';
import type { Outcome } from '../../src/contract/errors.js';
import type {
  LogAnswer,
  LogBounds,
  LogCommand,
  LogCommands as Commands,
  LogOp,
  LogRequest,
} from '../../src/contract/query-log.js';
import { DamagedRecord } from '../../src/store/damage.js';
import type { QueryLogStore } from '../../src/store/query-log-store.js';
import { Removal } from './removal.js';
import { unpackEntries } from './unpack.js';

type Answer = LogAnswer<LogOp>;
type Handlers = { [O in Exclude<LogOp, 'append'>]: (request: LogRequest<O>) => Commands[O]['answer'] };

export class LogCommands {
  private readonly removal: Removal;

  constructor(
    private readonly store: QueryLogStore,
    private readonly bounds: LogBounds,
    report: (error: unknown) => void,
  ) {
    this.removal = new Removal(store, bounds, report);
  }

  run(commands: readonly LogCommand[]): Outcome<Answer>[] {
    const outcomes: Outcome<Answer>[] = [];
    while (outcomes.length < commands.length) {
      const appends = appendsFrom(commands, outcomes.length);
      if (appends.length > 0) {
        const outcome = attempt(() => this.append(appends));
        outcomes.push(...appends.map(() => outcome));
      } else {
        const command = commands[outcomes.length] as Exclude<LogCommand, { op: 'append' }>;
        outcomes.push(attempt(() => (this.handlers[command.op] as (request: typeof command) => Answer)(command)));
      }
    }
    return outcomes;
  }

  private append(appends: readonly LogRequest<'append'>[]): null {
    this.store.append(
      appends.flatMap(({ entries }) => unpackEntries(entries)),
      this.bounds,
    );
    return null;
  }

  private readonly handlers: Handlers = {
    hold: ({ staged, entries }) => (
      this.store.hold(unpackEntries({ ...entries, collections: new Uint32Array(entries.lengths.length).fill(staged) })),
      null
    ),
    release: ({ staged, to, live }) => this.store.release(staged, to, new Set(live), this.bounds),
    held: () => this.store.held(),
    list: ({ collection, ...page }) => this.store.list(collection, page),
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

/** The run of appends that starts at `at`. */
function appendsFrom(commands: readonly LogCommand[], at: number): LogRequest<'append'>[] {
  const end = commands.findIndex(({ op }, i) => i >= at && op !== 'append');
  return commands.slice(at, end < 0 ? undefined : end) as LogRequest<'append'>[];
}

/** Only a broken assertion is thrown. */
export function attempt(work: () => Answer): Outcome<Answer> {
  try {
    return { value: work() };
  } catch (error) {
    if (error instanceof AppError) return { error: error.toWire() };
    if (error instanceof DamagedRecord)
      return {
        error: new AppError('collection_damaged', 'Entries of the query log are damaged on the disk.').toWire(),
      };
    if (error instanceof AssertionFailed) throw error;
    return { fault: faultOf(error) };
  }
}
