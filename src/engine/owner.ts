// The owner of a shard, whole: the shard, the maintenance between its commands, the eviction of what nobody uses, and its
// checkpoints. It says when commands have to wait. One thread owns a shard, and everything here runs on it.
import type { CollectionRef } from '../api/collections.js';
import type { CheckpointFiles } from '../storage/checkpoint-files.js';
import type { ShardStore } from '../storage/shard-store.js';
import { discard, restore } from './checkpoint/recovery.js';
import { Checkpoints, type Note } from './checkpoint/writer.js';
import { Maintenance } from './maintenance.js';
import type { Arenas } from './memory/arena.js';
import { IdleEviction } from './segments/eviction.js';
import { Shard, type ShardCollections } from './shard.js';

export interface OwnerOptions extends ShardCollections {
  /** The number of the shard, which its checkpoints repeat. */
  readonly number: number;
  readonly arenas: Arenas;
  /** Called when no reader is inside the arenas any more: a dead owner may have left the environment open to them. */
  readonly openStore: () => ShardStore;
  readonly files: CheckpointFiles;
  /** How often a checkpoint is written while something changes; 0 for never. */
  readonly checkpointMs: number;
  /** The owner before has died, perhaps of what stands in its checkpoint: this one begins without. */
  readonly isSuccessor: boolean;
  /** A small segment that is not used for so long is evicted; 0 for never. */
  readonly idleSeconds: number;
  readonly note: Note;
}

export class ShardOwner {
  private readonly maintenance: Maintenance;
  private readonly idleEviction: IdleEviction;

  private constructor(
    readonly shard: Shard,
    private readonly checkpoints: Checkpoints | undefined,
    idleSeconds: number,
  ) {
    this.maintenance = new Maintenance(shard);
    this.idleEviction = new IdleEviction(shard.parts, idleSeconds, () => this.wake());
  }

  static open(options: OwnerOptions): ShardOwner {
    const { number, arenas, openStore, files, checkpointMs, isSuccessor, idleSeconds, note } = options;
    arenas.close();
    const shard = Shard.open(openStore(), arenas, options, (opened, kinds) =>
      checkpointMs > 0 && !isSuccessor ? restore(opened, number, files, kinds, note) : discard(opened, files),
    );
    const checkpoints = checkpointMs > 0 ? new Checkpoints(shard, number, files, checkpointMs, note) : undefined;
    return new ShardOwner(shard, checkpoints, idleSeconds);
  }

  /**
   * Resolves when commands may run: those that write to some collections (`refs`) once these are in memory, those that
   * change the memory when no write freeze is held. Other commands may run meanwhile.
   */
  async whenReady(refs: Iterable<CollectionRef>, isChanging: boolean): Promise<void> {
    await this.untilThawed(isChanging);
    const underWay = this.shard.loads.bringAll(refs);
    this.wake();
    if (underWay) await underWay;
    await this.untilThawed(isChanging);
  }

  private async untilThawed(isChanging: boolean): Promise<void> {
    while (isChanging && this.shard.writeFreeze.whenOver) await this.shard.writeFreeze.whenOver;
  }

  /** There may be work: commands have run. */
  wake(): void {
    this.maintenance.wake();
  }

  /** Writes a checkpoint of what has changed, and closes the store. */
  async close(): Promise<void> {
    this.maintenance.stop();
    this.idleEviction.stop();
    await this.checkpoints?.finish();
    this.shard.close();
  }
}
