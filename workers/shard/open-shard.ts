// Opens a shard: its store, and kernels on its arenas, which it empties, fills from the checkpoint, and says what is to
// be found in them. Called by commands.ts, in the shard worker's thread.
import { join } from 'node:path';
import { defined } from '../../src/base/assert.js';
import { Latch } from '../../src/base/latch.js';
import type { ShardRequest, ShardWorkerStart } from '../../src/contract/messages.js';
import { CATALOG, placeOfShard, SharedMeters } from '../../src/contract/shared-meters.js';
import { CatalogStore } from '../../src/store/catalog-store.js';
import { CheckpointFiles } from '../../src/store/checkpoint-files.js';
import { checkpointPath, shardPath } from '../../src/store/paths.js';
import { ShardStore } from '../../src/store/shard-store.js';
import { Checkpoints, type Note } from './checkpoint/checkpoints.js';
import { discard, restore } from './checkpoint/restore.js';
import type { Claim } from './claim.js';
import { Kernel } from './kernel.js';
import { Shard } from './shard.js';

export interface OpenedShard {
  shard: Shard;
  /** undefined where none are to be written. */
  checkpoints: Checkpoints | undefined;
}

/** A shard that is taken over begins without its checkpoint: what its owner died of may stand in it. */
export function openShard(
  { kernel: module, kernelName, memories, arenaPagesMax, directory, meters, latches, checkpointMs }: ShardWorkerStart,
  { shard: number, takeOver }: Claim,
  { collections, isWhole }: ShardRequest<'open'>,
  note: Note,
): OpenedShard {
  const kernels = defined(memories[number], 'arenas of the shard').map(
    (memory) => new Kernel(module, memory, arenaPagesMax),
  );
  // Readers are out before the environment is closed that a dead owner had open.
  for (const kernel of kernels) kernel.close();
  const place = placeOfShard(number);
  const shard = new Shard(
    ShardStore.open(
      shardPath(directory, number),
      takeOver,
      SharedMeters.over(meters).store(place),
      Latch.at(latches, place),
    ),
    ...kernels,
  );
  const files = new CheckpointFiles(checkpointPath(directory, number));
  const identity = { shard: number, kernel: kernelName };
  const isOfUse = !takeOver && checkpointMs > 0;
  shard.load(collections, isWhole, (kinds) =>
    isOfUse ? restore(shard, files, identity, kinds, note) : discard(shard, files),
  );
  return {
    shard,
    checkpoints: checkpointMs > 0 ? new Checkpoints(shard, files, identity, checkpointMs, note) : undefined,
  };
}

/** For the owner of shard 0. */
export function openCatalog({ directory, meters }: ShardWorkerStart, { takeOver }: Claim): CatalogStore {
  return CatalogStore.open(join(directory, 'catalog'), takeOver, SharedMeters.over(meters).store(CATALOG));
}
