// The log worker: owns the LMDB environment of the query log. Asked by src/pool/log-pool.ts, one batch of commands at a
// time, which it runs in order. A worker that takes over from a dead one opens the store anew (src/storage/lmdb.ts says
// why).
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { endThread, faultOf } from '../../src/base/thread.js';
import { Latch } from '../../src/base/read-gate.js';
import type { LogAnswer, LogCommand, LogOp, LogWorkerStart } from '../../src/storage/query-log-commands.js';
import type { LoadedNote } from '../../src/base/log.js';
import type { Outcome } from '../../src/api/errors.js';
import { QUERY_LOG, SharedMeters } from '../../src/base/meters.js';
import { QueryLogStore } from '../../src/storage/query-log.js';
import { attempt, LogCommands } from './commands.js';

const { directory, bounds, openings, meters, latches } = workerData as LogWorkerStart;
let commands: LogCommands | undefined;
parentPort?.postMessage({ loaded: threadId } satisfies LoadedNote);

/** The outcomes stand in the order of the commands. A broken assertion ends this thread, and the batch with it. */
export function run(batch: LogCommand[]): Outcome<LogAnswer<LogOp>>[] | Promise<never> {
  try {
    const opened = attempt(() => ((commands ??= open()), null));
    return 'value' in opened ? (commands as LogCommands).run(batch) : batch.map(() => opened);
  } catch (error) {
    return endThread(error);
  }
}

/** With the first that is asked, and again where it fails: a thread that fails while it loads is not replaced. */
function open(): LogCommands {
  const isTakeOver = Atomics.add(new Int32Array(openings), 0, 1) > 0;
  const store = QueryLogStore.open(
    directory,
    isTakeOver,
    SharedMeters.over(meters).store(QUERY_LOG),
    Latch.at(latches, QUERY_LOG),
  );
  return new LogCommands(store, bounds, (error) => parentPort?.postMessage({ fault: faultOf(error) }));
}
