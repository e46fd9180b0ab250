// One arena of a shard as one search sees it: the part of its collection in shared memory, and snapshots of the store.
// Made within Kernel.read by shard-set.ts, and of no use outside. Search workers only, each on its own thread.
import type { CollectionRef } from '../../src/contract/resources.js';
import { ARENAS } from '../../src/contract/ordinals.js';
import type { ShardReader, Snapshot } from '../../src/store/shard-reader.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import type { Kernel } from '../shard/kernel.js';
import type { PartView } from '../shard/part-view.js';
import type { HitCache } from './hit-cache.js';

export class ShardView {
  /** undefined where nothing of the collection was ever written to this shard. */
  readonly part: PartView | undefined;
  /** The stamp given out last before this view was made, or before the publication that was under way. */
  readonly before: number;
  /** Of its rows, as they stood then. */
  readonly removals: number;
  private snapshot: Snapshot | undefined;

  constructor(
    readonly shard: number,
    /** Of the home arena, for all of the shard: the others come and go with it. */
    readonly incarnation: number,
    kernel: Kernel,
    private readonly reader: ShardReader,
    { id }: CollectionRef,
    /** Of the thread. */
    readonly cache: HitCache,
    readonly arena = 0,
  ) {
    this.before = kernel.settledStamp();
    cache.reach(this.memory, this.before);
    this.part = kernel.view(id, arena);
    this.removals = this.part?.index.removals ?? 0;
  }

  /** Its number among those of all shards: a stamp is one of a memory. */
  get memory(): number {
    return this.shard * ARENAS + this.arena;
  }

  /**
   * Whether a row was published after this view was made. Stamps wrap around; no two in use are ever that far apart.
   */
  isLater(stamp: number): boolean {
    return isLater(stamp, this.before);
  }

  /**
   * Whether rows have gone since they stood at `removals`, or were going: then a document may have been missed between
   * its old rows and its new ones.
   */
  hasLost(removals: number): boolean {
    return (removals & 1) === 1 || (this.part?.index.removals ?? 0) !== removals;
  }

  /** A snapshot of its own. */
  read<T>(work: (txn: ShardTxn) => T): T {
    const { txn, end } = this.reader.snapshot(this.incarnation);
    try {
      return work(txn);
    } finally {
      end();
    }
  }

  /**
   * The snapshot that the answer is made from. It is taken when it is asked for first: after the shard has been ranked.
   */
  get txn(): ShardTxn {
    return (this.snapshot ??= this.reader.snapshot(this.incarnation)).txn;
  }

  end(): void {
    this.snapshot?.end();
  }
}

export const isLater = (stamp: number, before: number): boolean => ((stamp - before) | 0) > 0;
