// A shard worker owns one shard: it is the only one that opens the shard's LMDB environment and writes its shared
// memory; the worker of shard 0 owns the catalog too. It runs the batches of commands that the front thread sends
// (src/pool/shard-pool.ts). An internal error ends it: its successor rebuilds the shard from LMDB.
import { workerData } from 'node:worker_threads';
import type { Outcome } from '../../src/api/errors.js';
import { endThread, noteForLog, noteLoaded, takesOver, yieldToSearches } from '../../src/base/thread.js';
import type { ShardAnswer, ShardCommand, ShardOp, ShardWorkerStart } from '../../src/engine/write/commands.js';
import { Commands } from './commands.js';

yieldToSearches();
const start = workerData as ShardWorkerStart;
const commands = new Commands(start, takesOver(start.starts, start.shard), noteForLog);
noteLoaded();

/** Runs one batch; the results stand in the order of its commands. A broken assertion ends this thread. */
export async function run(batch: readonly ShardCommand[]): Promise<Outcome<ShardAnswer<ShardOp>>[]> {
  try {
    return await commands.run(batch);
  } catch (error) {
    return endThread(error);
  }
}

/** Writes the last checkpoint and closes the environments; nothing may be sent afterwards. */
export async function close(): Promise<void> {
  await commands.close();
}
