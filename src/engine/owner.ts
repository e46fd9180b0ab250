// Everything that belongs to the ownership of a shard: the shard itself, maintenance between commands, eviction of idle
// segments, and checkpoints. It also tells when commands have to wait. Owner only.
import type { CollectionRef } from '../api/collections.js';
import type { MemoryPlacement } from '../api/memory-placement.js';
import type { CheckpointFiles } from '../storage/checkpoint-files.js';
import type { ShardStore } from '../storage/shard-store.js';
import { discard, restore } from './checkpoint/recovery.js';
import { Checkpoints, type Note } from './checkpoint/writer.js';
import { Maintenance } from './maintenance.js';
import type { Arenas } from './memory/arena.js';
import { IdleEviction } from './segments/eviction.js';
import { Holding } from './segments/holding.js';
import { type CollectionKinds, Shard, type ShardCollections } from './shard.js';

export interface OwnerOptions extends ShardCollections {
  /** The shard's number, which its checkpoints contain. */
  readonly number: number;
  readonly arenas: Arenas;
  /**
   * Called when no reader is inside the arenas any more, because a dead owner may have left readers in its environment.
   */
  readonly openStore: () => ShardStore;
  readonly files: CheckpointFiles;
  /** Interval of checkpoints while something changes; 0 disables them. */
  readonly checkpointMs: number;
  /** The previous owner died, possibly because of its checkpoint, so this one starts without it. */
  readonly isSuccessor: boolean;
  /** A small segment that is not used for this long is evicted; 0 disables it. */
  readonly idleSeconds: number;
  /** What the shard holds in memory at first; all if absent. */
  readonly placement?: MemoryPlacement | undefined;
  readonly note: Note;
}

/** The owner of one shard. Owner only. */
export class ShardOwner {
  private readonly maintenance: Maintenance;
  private readonly idleEviction: IdleEviction;

  private constructor(
    readonly shard: Shard,
    private readonly checkpoints: Checkpoints | undefined,
    idleSeconds: number,
  ) {
    this.maintenance = new Maintenance(shard);
    this.idleEviction = new IdleEviction(shard.segments, idleSeconds, () => this.wake());
  }

  static open(options: OwnerOptions): ShardOwner {
    const { number, arenas, openStore, files, checkpointMs, isSuccessor, idleSeconds, placement, note } = options;
    arenas.close();
    const restoreFrom = (shard: Shard, kinds: CollectionKinds): void =>
      checkpointMs > 0 && !isSuccessor ? restore(shard, number, files, kinds, note) : discard(shard, files);
    const shard = Shard.open(openStore(), arenas, options, restoreFrom, new Holding(placement, number));
    const checkpoints = checkpointMs > 0 ? new Checkpoints(shard, number, files, checkpointMs, note) : undefined;
    return new ShardOwner(shard, checkpoints, idleSeconds);
  }

  /**
   * Resolves when commands may run: those that write to the collections `refs` once what they need is loaded, those that
   * change memory when no write freeze is held. Other commands may run meanwhile.
   */
  async whenReady(refs: Iterable<CollectionRef>, isChanging: boolean): Promise<void> {
    await this.untilThawed(isChanging);
    const underWay = this.shard.loads.loadAllForWrites(refs);
    this.wake();
    if (underWay) await underWay;
    await this.untilThawed(isChanging);
  }

  private async untilThawed(isChanging: boolean): Promise<void> {
    while (isChanging && this.shard.writeFreeze.whenOver) await this.shard.writeFreeze.whenOver;
  }

  /** Schedules maintenance, after commands have run. */
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
