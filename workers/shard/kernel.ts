// The vector kernel on one shard's shared memory: the arena and the making of indexes. One per thread. The owner of the shard
// formats the memory and writes; other threads may attach to its indexes and search. The rules: README.md beside this file.
import { assert } from '../../src/base/assert.js';
import { createCodes, type CodedIndex, type CodeShape } from './codes/coded-index.js';
import { addressOf, Instance } from './instance.js';
import { DIM_MAX, GRAPH_MIN, LINE_BYTES, MAGIC, MAGIC_AT, STATE_AT, USED_AT, VERSION, VERSION_AT } from './layout.js';
import { VectorIndex } from './vector-index.js';
import { WordIndex } from './words/word-index.js';

export { ArenaFull } from './instance.js';

export class Kernel {
  private readonly instance: Instance;

  /** `module` is kernel.wasm; `memory` is shared, with any maximum. Nothing but `format` may be called before its owner has formatted it. */
  constructor(module: WebAssembly.Module, memory: WebAssembly.Memory) {
    this.instance = new Instance(module, memory);
  }

  /** Empties the arena: for a new shard, or when its worker died and what it left cannot be trusted. Owner only; no other thread may be searching. */
  format(): void {
    this.instance.calls.format();
    this.instance.forgetScratch();
  }

  /** Makes an empty index of `dim`-dimensional vectors. With fewer than `graphMin` live rows it is scanned. Throws ArenaFull. Owner only. */
  createIndex(dim: number, graphMin = GRAPH_MIN): VectorIndex {
    assert(Number.isInteger(dim) && dim >= 1 && dim <= DIM_MAX, `dimension ${dim}`);
    this.assertFormatted();
    return this.attach(addressOf(this.instance.calls.createIndex(dim, graphMin)));
  }

  /** The index with the `root` that another thread's Kernel made on the same memory. */
  attach(root: number): VectorIndex {
    this.assertFormatted();
    return new VectorIndex(this.instance, root);
  }

  /** Makes codes for an index, without axes and rows yet. Throws ArenaFull. Owner only. */
  createCodes({ root }: VectorIndex, shape: CodeShape): CodedIndex {
    return createCodes(this.instance, root, shape);
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

  /** Bytes of memory that hold something. */
  usedBytes(): number {
    return this.instance.word(USED_AT) * LINE_BYTES;
  }

  /** Bytes the memory has grown to; it never shrinks. */
  reservedBytes(): number {
    return this.instance.reservedBytes;
  }

  private assertFormatted(): void {
    const { instance } = this;
    const ready = instance.word(MAGIC_AT) === MAGIC && instance.word(VERSION_AT) === VERSION && instance.word(STATE_AT) === 1;
    assert(ready, 'the memory of the shard is formatted');
  }
}
