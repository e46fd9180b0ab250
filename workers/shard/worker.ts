// A shard worker: claims a shard when it starts, then runs the batches of commands that the front thread sends it
// (src/pool/shard-pool.ts). Owns the shard's LMDB environment and is the only writer of its shared memory; the worker
// of shard 0 owns the catalog too. A fault of ours ends the worker: another takes over and rebuilds from LMDB.
import { parentPort, threadId, workerData } from 'node:worker_threads';
import { endThread, yieldToSearches } from '../../src/base/thread.js';
import type { ShardAnswer, ShardCommand, ShardOp, ShardWorkerStart } from '../../src/engine/write/commands.js';
import type { LogNote } from '../../src/base/log.js';
import type { LoadedNote } from '../../src/base/log.js';
import type { Outcome } from '../../src/api/errors.js';
import { claimShard } from '../../src/engine/memory/ownership.js';
import { Commands } from './commands.js';

yieldToSearches();
const start = workerData as ShardWorkerStart;
const claim = claimShard(new Int32Array(start.owners));
const commands = new Commands(start, claim, (level, fields, message) =>
  parentPort?.postMessage({ level, fields, message } satisfies LogNote),
);
// The front thread looks at the slots when it hears anything.
parentPort?.postMessage({ loaded: threadId } satisfies LoadedNote);

/**
 * Runs one batch; the outcomes stand in the order of its commands. A broken assertion ends this thread, and the batch
 * with it.
 */
export async function run(batch: {
  shard: number;
  commands: ShardCommand[];
}): Promise<Outcome<ShardAnswer<ShardOp>>[]> {
  if (batch.shard !== claim.shard) throw new Error(`a batch for shard ${batch.shard} at the owner of ${claim.shard}`);
  try {
    return await commands.run(batch.commands);
  } catch (error) {
    return endThread(error);
  }
}

/** Writes the last checkpoint and closes the environments; nothing may be sent afterwards. */
export async function close(): Promise<void> {
  await commands.close();
}
