// The thread module of log workers, each of which owns an LMDB environment of the query log. A worker runs the batches of
// commands that the main thread sends (src/pool/log-pool.ts), one at a time and in order, and stores the entries that
// front threads send it over ports of their own. A worker that replaces a dead one reopens the store (see
// src/storage/lmdb.ts).
import { type MessagePort, workerData } from 'node:worker_threads';
import { AppError, ERROR_CODEC, type Result } from '../../src/api/errors.js';
import { placeOfLog, SharedMeters } from '../../src/base/meters.js';
import { ReadGate } from '../../src/base/read-gate.js';
import { RpcPeer, WorkerError } from '../../src/base/rpc.js';
import { endThread, internalErrorOf, noteForLog, noteReady, takesOver } from '../../src/base/thread.js';
import {
  LOG_APPEND,
  type LogAnswer,
  type LogCommand,
  type LogOp,
  type LogWorkerStart,
  type PackedEntries,
} from '../../src/storage/query-log-commands.js';
import { QueryLogStore } from '../../src/storage/query-log.js';
import { attempt, LogCommands } from './commands.js';

const { store: number, directory, bounds, starts, meters, readGates } = workerData as LogWorkerStart;
const sharedMeters = SharedMeters.over(meters);
let commands: LogCommands | undefined;
noteReady();

/**
 * Runs one batch; the results are in the order of the commands. A failed assertion ends this thread and with it the
 * batch.
 */
export function run(batch: LogCommand[] | MessagePort): Result<LogAnswer<LogOp>>[] | Promise<never> {
  if (!Array.isArray(batch)) return connect(batch), [];
  return within(
    (opened) => opened.run(batch),
    (failed) => batch.map(() => failed),
  );
}

type Failed = Result<never>;

/** Runs `work` on the open store; if that cannot be opened, answers what `failed` makes of the error. */
function within<T>(work: (opened: LogCommands) => T, failed: (why: Failed) => T): T | Promise<never> {
  try {
    const opened = attempt(() => ((commands ??= open()), null));
    return 'value' in opened ? work(commands as LogCommands) : failed(opened);
  } catch (error) {
    return endThread(error);
  }
}

/** Messages of front threads that came in this turn of the event loop, which share a commit. */
interface Waiting {
  entries: PackedEntries;
  resolve: (stored: null) => void;
  reject: (error: Error) => void;
}
let waiting: Waiting[] = [];

function connect(port: MessagePort): void {
  const append = (entries: PackedEntries): Promise<null> =>
    new Promise((resolve, reject) => {
      if (waiting.push({ entries, resolve, reject }) === 1) setImmediate(() => void storeWaiting());
    });
  new RpcPeer(port, { [LOG_APPEND]: append }, ERROR_CODEC, (error) =>
    noteForLog('error', { error: internalErrorOf(error) }, 'the log worker failed to store entries'),
  );
}

function storeWaiting(): void | Promise<never> {
  const taken = waiting;
  waiting = [];
  const settle = (result: Result<LogAnswer<LogOp>>): void => {
    for (const { resolve, reject } of taken)
      if ('value' in result) resolve(null);
      else reject('error' in result ? AppError.fromWire(result.error) : new WorkerError(result.internalError));
  };
  return within((opened) => settle(attempt(() => opened.append(taken.map(({ entries }) => entries)))), settle);
}

/**
 * Opens the store with the first command, and again after a failure: Piscina does not replace a thread that fails while
 * loading.
 */
function open(): LogCommands {
  const place = placeOfLog(number);
  const store = QueryLogStore.open(
    directory,
    takesOver(starts, 0),
    sharedMeters.store(place),
    ReadGate.at(readGates, place),
  );
  return new LogCommands(store, bounds, sharedMeters.queryLog, (error) =>
    noteForLog('error', { error: internalErrorOf(error) }, 'a log worker failed in the background'),
  );
}
