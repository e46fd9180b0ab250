// The thread module of the log worker, which owns the LMDB environment of the query log. It runs the batches of
// commands that the main thread sends (src/pool/log-pool.ts), one at a time and in order. A worker that replaces a
// dead one reopens the store (see src/storage/lmdb.ts).
import { workerData } from 'node:worker_threads';
import type { Result } from '../../src/api/errors.js';
import { QUERY_LOG, SharedMeters } from '../../src/base/meters.js';
import { ReadGate } from '../../src/base/read-gate.js';
import { endThread, internalErrorOf, noteForLog, noteReady, takesOver } from '../../src/base/thread.js';
import type { LogAnswer, LogCommand, LogOp, LogWorkerStart } from '../../src/storage/query-log-commands.js';
import { QueryLogStore } from '../../src/storage/query-log.js';
import { attempt, LogCommands } from './commands.js';

const { directory, bounds, starts, meters, readGates } = workerData as LogWorkerStart;
let commands: LogCommands | undefined;
noteReady();

/**
 * Runs one batch; the results are in the order of the commands. A failed assertion ends this thread and with it the
 * batch.
 */
export function run(batch: LogCommand[]): Result<LogAnswer<LogOp>>[] | Promise<never> {
  try {
    const opened = attempt(() => ((commands ??= open()), null));
    return 'value' in opened ? (commands as LogCommands).run(batch) : batch.map(() => opened);
  } catch (error) {
    return endThread(error);
  }
}

/**
 * Opens the store with the first command, and again after a failure: Piscina does not replace a thread that fails while
 * loading.
 */
function open(): LogCommands {
  const store = QueryLogStore.open(
    directory,
    takesOver(starts, 0),
    SharedMeters.over(meters).store(QUERY_LOG),
    ReadGate.at(readGates, QUERY_LOG),
  );
  return new LogCommands(store, bounds, (error) =>
    noteForLog('error', { error: internalErrorOf(error) }, 'the log worker failed in the background'),
  );
}
