// One collection's part in this shard, as the worker holds it in memory: its vectors in shared memory, its free ordinals,
// its counts and priorities. All of it is a cache of the store and is rebuilt from there. Used by the shard worker alone.
import type { Ordinal } from '../../src/contract/ids.js';
import type { CollectionRef, ShardCounts } from '../../src/contract/messages.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import { OrdinalPool } from './ordinal-pool.js';
import type { PartTerms } from './part-terms.js';
import type { VectorIndex } from './vector-index.js';

export class Part {
  readonly ordinals = new OrdinalPool();
  /** Chunks whose document has a priority other than 0. */
  readonly priorities = new Map<Ordinal, number>();
  readonly counts: ShardCounts = { documents: 0, chunks: 0 };

  /** Made by the first search that wants words. */
  words: PartTerms<string> | undefined;
  /** Made by the first search with metadata filters. */
  fields: PartTerms<readonly string[]> | undefined;

  constructor(
    readonly ref: CollectionRef,
    readonly index: VectorIndex,
  ) {}

  /** Fills an empty part from the store. */
  load(txn: ShardTxn): void {
    for (const { ordinal, vector } of txn.vectors(this.ref)) {
      this.index.stage(ordinal, vector);
      this.index.publish(ordinal);
      this.ordinals.claim(ordinal);
      this.counts.chunks++;
    }
    for (const { docid, priority } of txn.documents(this.ref.id)) {
      this.counts.documents++;
      if (priority !== 0) this.prioritize(txn.members(this.ref.id, docid).ordinals as Ordinal[], priority);
    }
  }

  /** Gives the memory back. */
  drop(): void {
    this.index.drop();
    this.words?.drop();
    this.fields?.drop();
  }

  prioritize(ordinals: readonly Ordinal[], priority: number): void {
    for (const ordinal of ordinals) this.priorities.set(ordinal, priority);
  }
}
