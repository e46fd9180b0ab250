// One collection's part in an arena of this shard, as the worker holds it in memory: its vectors in shared memory, its
// free ordinals, its priorities. All of it is a cache of the store and is rebuilt from there. Used by the shard worker
// alone.
import type { Ordinal } from '../../src/contract/ids.js';
import type { CollectionRef } from '../../src/contract/resources.js';
import { arenaOf, rowOf, storedOrdinal } from '../../src/contract/ordinals.js';
import { GRAPH_MIN } from './layout.js';
import { OrdinalPool } from './ordinal-pool.js';
import type { PartTerms } from './part-terms.js';
import type { Priorities } from './priorities.js';
import type { VectorIndex } from './vector-index.js';

export class Part {
  readonly ordinals = new OrdinalPool();
  /** A batch of writes is under way on it. */
  isChanging = false;
  /** Rows from this one on are hidden; their blocks go when the readers of this epoch have left (compaction.ts). */
  hidden: { from: number; epoch: number } | undefined;

  /** Made by the first search that wants words. */
  words: PartTerms<string> | undefined;
  /** Made by the first search with metadata filters. */
  fields: PartTerms<readonly string[]> | undefined;

  constructor(
    readonly ref: CollectionRef,
    readonly index: VectorIndex,
    readonly priorities: Priorities,
    readonly arena = 0,
  ) {}

  /**
   * Of an index that has rows already: those that are live are taken, and what stands behind the last of them is given
   * back. Requires that there are no readers.
   */
  claimRows(): void {
    const { index, ordinals } = this;
    for (const row of index.liveRows()) ordinals.claim(row as Ordinal);
    index.freeFrom(index.end);
  }

  /** The ordinal of a row as the store has it. */
  stored(row: Ordinal): Ordinal {
    return storedOrdinal(this.arena, row);
  }

  /** Of what the store has from a row on, in the order of ordinals, that which is in this arena, by its rows. */
  *within<T extends { ordinal: Ordinal }>(entries: Iterable<T>): Generator<T> {
    for (const entry of entries) {
      if (arenaOf(entry.ordinal) !== this.arena) return;
      yield { ...entry, ordinal: rowOf(entry.ordinal) };
    }
  }

  /** It has no graph. */
  get isSmall(): boolean {
    return this.index.liveCount < GRAPH_MIN;
  }

  /** Gives the memory back. Requires that readers do not find it any more. */
  drop(): void {
    this.index.drop();
    this.words?.drop();
    this.fields?.drop();
    this.priorities.drop();
  }
}
