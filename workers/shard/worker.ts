// The thread module of shard workers. A shard worker owns one shard: only it opens the shard's LMDB environment and
// writes to its shared memory; the worker of shard 0 also owns the catalog. It runs the batches of commands that the
// main thread sends (src/pool/shard-pool.ts). An internal error in a batch ends it, and its successor recovers the
// shard.
import { workerData } from 'node:worker_threads';
import type { Result } from '../../src/api/errors.js';
import { endThread, noteForLog, noteReady, takesOver, yieldToSearches } from '../../src/base/thread.js';
import type { ShardAnswer, ShardCommand, ShardOp, ShardWorkerStart } from '../../src/engine/write/commands.js';
import type { LogBatch } from '../../src/engine/write/log-message.js';
import type { LogResults } from '../../src/engine/write/logged.js';
import { Commands } from './commands.js';

yieldToSearches();
const start = workerData as ShardWorkerStart;
const commands = new Commands(start, takesOver(start.starts, start.shard), noteForLog);
noteReady();

/** Runs one batch; the results are in the order of its commands. A failed assertion ends this thread. */
export async function run(batch: readonly ShardCommand[]): Promise<Result<ShardAnswer<ShardOp>>[]> {
  try {
    return await commands.run(batch);
  } catch (error) {
    return endThread(error);
  }
}

/** Applies messages of a cluster's command log. A failed assertion ends this thread. */
export async function apply(batch: LogBatch): Promise<LogResults> {
  try {
    return await commands.apply(batch);
  } catch (error) {
    return endThread(error);
  }
}

/** Copies the environments of this thread below a folder; other work goes on meanwhile. */
export async function copyTo(directory: string): Promise<void> {
  await commands.copyTo(directory);
}

/** Writes the final checkpoint and closes the environments; nothing may be sent afterwards. */
export async function close(): Promise<void> {
  await commands.close();
}
