// The kernel on one shard's shared memory: the making of indexes in its arena, and the finding of them. One per thread.
// The owner of the shard formats the memory and writes; other threads join as readers and search within `read`. The
// rules: README.md beside this file.
import { assert } from '../../src/base/assert.js';
import type { CollectionId } from '../../src/contract/ids.js';
import type { Precision } from '../../src/contract/precision.js';
import { ArenaImage } from './checkpoint/arena-image.js';
import { CODES_MIN } from './codes/layout.js';
import { addressOf } from './instance.js';
import { DIM_MAX, GRAPH_MIN, ROOT_CODES_NEXT } from './layout.js';
import { PartView } from './part-view.js';
import { Priorities } from './priorities.js';
import { SharedArena } from './shared-arena.js';
import { VectorIndex } from './vector-index.js';
import { WordIndex } from './words/word-index.js';

export { ArenaFull } from './instance.js';

export interface IndexOptions {
  /** With fewer live rows it is scanned. */
  readonly graphMin?: number;
  /** Live rows at which it gets codes. */
  readonly codesMin?: number;
  /** Of the numbers of a row. */
  readonly precision?: Precision | undefined;
}

export class Kernel extends SharedArena {
  /**
   * What this thread can see of the part of a collection in this arena; undefined for one without documents here. Of no
   * use after the `read` it was made in. `arena` is the number of this one.
   */
  view(id: CollectionId, arena = 0): PartView | undefined {
    const roots = this.directory.get(id, Math.floor(Date.now() / 1000));
    return roots && new PartView(this.instance, id, roots, arena);
  }

  /** What checkpoints copy of this arena, and fill it from. Owner only. */
  image(): ArenaImage {
    return new ArenaImage(this.instance);
  }

  /** The priorities of a part; it has none yet unless `root` says where. Owner only. */
  createPriorities(root = 0): Priorities {
    return new Priorities(this.instance, root);
  }

  /**
   * The index with this root that a checkpoint has brought back, to be gone on with. Codes that were being made are
   * made anew. Owner only.
   */
  resumeIndex(root: number): VectorIndex {
    if (this.instance.word(root + ROOT_CODES_NEXT) !== 0) this.instance.calls.dropNext(root);
    return new VectorIndex(this.instance, root, CODES_MIN);
  }

  /** Makes an empty index of `dim`-dimensional vectors. Throws ArenaFull. Owner only. */
  createIndex(
    dim: number,
    { graphMin = GRAPH_MIN, codesMin = CODES_MIN, precision = 'int16' }: IndexOptions = {},
  ): VectorIndex {
    assert(Number.isInteger(dim) && dim >= 1 && dim <= DIM_MAX, `dimension ${dim}`);
    this.assertFormatted();
    return new VectorIndex(
      this.instance,
      addressOf(this.instance.calls.createIndex(dim, graphMin, precision === 'int8')),
      codesMin,
    );
  }

  /** The index with the `root` that another thread's Kernel made on the same memory. */
  attach(root: number): VectorIndex {
    this.assertFormatted();
    return new VectorIndex(this.instance, root);
  }

  /** Makes an empty index of words. Throws ArenaFull. Owner only. */
  createWords(): WordIndex {
    this.assertFormatted();
    return this.attachWords(addressOf(this.instance.calls.createWords()));
  }

  /** The index of words with the `root` that another thread's Kernel made on the same memory. */
  attachWords(root: number): WordIndex {
    this.assertFormatted();
    return new WordIndex(this.instance, root);
  }
}
