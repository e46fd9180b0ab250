// Opens a shard: its store, and kernels on its arenas, which it empties and says what is to be found in them. Called by commands.ts, in the shard
// worker's thread.
import { join } from 'node:path';
import { defined } from '../../src/base/assert.js';
import type { ShardRequest, ShardWorkerStart } from '../../src/contract/messages.js';
import { ShardStore } from '../../src/store/shard-store.js';
import type { Claim } from './claim.js';
import { Kernel } from './kernel.js';
import { Shard } from './shard.js';

export function openShard({ kernel: module, memories, arenaPagesMax, directory }: ShardWorkerStart, { shard, takeOver }: Claim, collections: ShardRequest<'open'>['collections']): Shard {
  const kernels = defined(memories[shard], 'arenas of the shard').map((memory) => new Kernel(module, memory, arenaPagesMax));
  // Readers are out before the environment is closed that a dead owner had open.
  for (const kernel of kernels) kernel.close();
  const opened = new Shard(ShardStore.open(join(directory, `shard-${shard}`), takeOver), ...kernels);
  opened.load(collections);
  return opened;
}
