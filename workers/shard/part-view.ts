// What any thread can read of one collection's part in a shard: its vectors, its words and metadata where they are
// indexed, its priorities. Made from the roots in shared memory, within Kernel.read for a reader, and of no use after
// it.
import type { CollectionId, Ordinal } from '../../src/contract/ids.js';
import { storedOrdinal } from '../../src/contract/ordinals.js';
import type { Instance } from './instance.js';
import { LOST } from './reader-layout.js';
import type { PartRoots } from './part-directory.js';
import { Priorities } from './priorities.js';
import { VectorIndex } from './vector-index.js';
import { WordIndex } from './words/word-index.js';

export class PartView {
  readonly index: VectorIndex;
  /** Complete, or undefined. */
  readonly words: WordIndex | undefined;
  readonly fields: WordIndex | undefined;
  readonly priorities: Priorities;

  constructor(
    instance: Instance,
    readonly id: CollectionId,
    private readonly roots: PartRoots,
    readonly arena: number,
  ) {
    const wordIndex = (root: number): WordIndex | undefined =>
      root === 0 || root === LOST ? undefined : new WordIndex(instance, root);
    this.index = new VectorIndex(instance, roots.vectors);
    this.words = wordIndex(roots.words);
    this.fields = wordIndex(roots.fields);
    this.priorities = new Priorities(instance, roots.priorities);
  }

  /**
   * It has documents, and is not in memory: its owner brings it when it is asked to. Nothing else may be asked of this
   * view then.
   */
  get isAway(): boolean {
    return this.roots.vectors === 0 && this.roots.arenas === 0;
  }

  /** Memory had no room for the index of words. */
  get isWithoutWords(): boolean {
    return this.roots.words === LOST;
  }

  /** Memory had no room for the index of metadata: searches read the records instead. */
  get isWithoutFields(): boolean {
    return this.roots.fields === LOST;
  }

  /** The ordinal of a row as the store has it. */
  stored(row: Ordinal): Ordinal {
    return storedOrdinal(this.arena, row);
  }
}
