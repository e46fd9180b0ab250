// One collection's vectors in a shard's memory: rows by ordinal, exact and graph search by cosine. A thin door: checks and
// copies here, the work in the kernel (assembly/). The owner's thread writes; any thread with a Kernel of its own may search.
import { assert } from '../../src/base/assert.js';
import { countOf, type Instance } from './instance.js';
import {
  EF_MIN, FIRST_ROWS, LINE_BYTES, ORDINALS_MAX, ROOT_DIM, ROOT_GRAPH_MIN, ROOT_LINES, ROOT_LINKED, ROOT_LIVE, ROOT_ROW_BLOCKS, ROOT_ROW_BYTES,
  ROOT_WATERMARK, ROW_WORDS_BYTES, WALK_ROWS_PER_EF,
} from './layout.js';

/** Hits, best first, equal scores by ordinal. Copies: they stay as they are whatever is written later. */
export interface Hits {
  readonly count: number;
  readonly ordinals: Uint32Array;
  /** The version of the row each hit saw: compare with `stampOf` to know whether the ordinal still holds it. */
  readonly stamps: Uint32Array;
  /** Cosines, in [-1, 1]. */
  readonly scores: Float32Array;
}

export interface SearchOptions {
  /** Breadth of the walk through the graph, where there is one; raised to k. Chosen by default; then small indexes are scanned. */
  readonly ef?: number;
  /** Scan every row. */
  readonly exact?: boolean;
}

export class VectorIndex {
  readonly dim: number;

  /** `root` is the address of the index; another thread's Kernel attaches by it. */
  constructor(
    private readonly instance: Instance,
    readonly root: number,
  ) {
    this.dim = instance.word(root + ROOT_DIM);
  }

  get liveCount(): number {
    return this.instance.word(this.root + ROOT_LIVE);
  }

  /** Live rows that wait to be linked into the graph; searches scan them meanwhile. */
  get pendingCount(): number {
    const small = this.liveCount < this.instance.word(this.root + ROOT_GRAPH_MIN) && this.instance.word(this.root + ROOT_WATERMARK) === 0;
    return small ? 0 : this.liveCount - this.instance.word(this.root + ROOT_LINKED);
  }

  get usedBytes(): number {
    return this.instance.word(this.root + ROOT_LINES) * LINE_BYTES;
  }

  /** Writes a vector, finite and not all zero, into a row that is not live. No search sees it until `publish`; staging again overwrites it. Throws ArenaFull. */
  stage(ordinal: number, vector: Float32Array): void {
    assert(Number.isInteger(ordinal) && ordinal >= 0 && ordinal < ORDINALS_MAX, `ordinal ${ordinal}`);
    assert(vector.length === this.dim, `a vector of ${vector.length} for ${this.dim} dimensions`);
    assert(!this.isLive(ordinal), `staging live row ${ordinal}`);
    this.instance.setInput(vector);
    countOf(this.instance.calls.stage(this.instance.scratch, this.root, ordinal));
  }

  /** Makes a staged row live. Cannot fail for want of memory. */
  publish(ordinal: number): void {
    assert(this.stampAt(ordinal) !== 0 && !this.isLive(ordinal), `publishing row ${ordinal}, which is not staged`);
    this.instance.calls.publish(this.instance.scratch, this.root, ordinal);
  }

  /** Stages and publishes; a live row is replaced. Throws ArenaFull with nothing changed. */
  put(ordinal: number, vector: Float32Array): void {
    // The room a live row needs it has already, but the input's may be missing.
    this.instance.setInput(vector);
    if (this.isLive(ordinal)) this.remove(ordinal);
    this.stage(ordinal, vector);
    this.publish(ordinal);
  }

  remove(ordinal: number): void {
    assert(this.isLive(ordinal), `removing row ${ordinal}, which is not live`);
    this.instance.calls.remove(this.root, ordinal);
  }

  /** The version of a row: odd while it is live, never used twice for a live row in this memory; 0 for one that never was. */
  stampOf(ordinal: number): number {
    const at = this.stampAt(ordinal);
    return at === 0 ? 0 : this.instance.word(at);
  }

  isLive(ordinal: number): boolean {
    return (this.stampOf(ordinal) & 1) === 1;
  }

  /** The `k` nearest live rows, or all where there are fewer. `query` is finite and need not be of unit length. Throws ArenaFull. */
  search(query: Float32Array, k: number, { ef = this.breadthFor(k), exact = false }: SearchOptions = {}): Hits {
    assert(query.length === this.dim, `a query of ${query.length} for ${this.dim} dimensions`);
    assert(Number.isInteger(k) && k >= 1 && Number.isInteger(ef) && ef >= 0, `k ${k}, ef ${ef}`);
    this.instance.setInput(query);
    const count = countOf(this.instance.calls.search(this.instance.scratch, this.root, k, exact || ef === 0 ? 0 : Math.max(ef, k)));
    const { output } = this.instance;
    return {
      count,
      ordinals: this.instance.copyWords(output, count),
      stamps: this.instance.copyWords(output + 4 * k, count),
      scores: this.instance.copyFloats(output + 8 * k, count),
    };
  }

  /** The cosine of every row by ordinal; NaN for a row that is not live. Throws ArenaFull. */
  scores(query: Float32Array): Float32Array {
    assert(query.length === this.dim, `a query of ${query.length} for ${this.dim} dimensions`);
    this.instance.setInput(query);
    const count = countOf(this.instance.calls.scores(this.instance.scratch, this.root));
    return this.instance.copyFloats(this.instance.output, count);
  }

  /** Links up to `max` waiting rows into the graph. Answers how many still wait; 0 also where memory is full and no link can be made. */
  linkSome(max: number): number {
    return this.instance.calls.linkSome(this.instance.scratch, this.root, max);
  }

  /** Gives the memory back. The index must not be used after it, on any thread. */
  drop(): void {
    this.instance.calls.dropIndex(this.root);
  }

  /** Breadth of the walk for `k` hits; 0, a scan, where that is faster. */
  private breadthFor(k: number): number {
    const ef = Math.max(EF_MIN, 2 * k);
    return this.instance.word(this.root + ROOT_WATERMARK) < ef * WALK_ROWS_PER_EF ? 0 : ef;
  }

  /** Address of a row's stamp, as assembly/rows.ts computes it; 0 where the row has no block. */
  private stampAt(ordinal: number): number {
    const place = ordinal + FIRST_ROWS;
    const shift = 29 - Math.clz32(place);
    const slot = ((shift - 2) << 2) + (place >>> shift) - 4;
    const block = this.instance.word(this.root + ROOT_ROW_BLOCKS + 4 * slot);
    if (block === 0) return 0;
    const rowBytes = this.instance.word(this.root + ROOT_ROW_BYTES);
    return block + rowBytes * 2 ** shift + ROW_WORDS_BYTES * (place & ((1 << shift) - 1));
  }
}
