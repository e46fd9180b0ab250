// One collection's vectors in a shard's memory: rows by ordinal, exact and graph search by cosine. A thin door: checks and
// copies here, the work in the kernel (assembly/). The owner's thread writes; any thread with a Kernel of its own may search.
import { assert } from '../../src/base/assert.js';
import { firstHits, readHits, type Hits, type SearchOptions } from './hits.js';
import { countOf, type Instance } from './instance.js';
import {
  EF_MIN, FIRST_ROWS, LINE_BYTES, NONE, ORDINALS_MAX, ROOT_DIM, ROOT_GRAPH_MIN, ROOT_LINES, ROOT_LINKED, ROOT_LIVE,
  ROOT_ROW_BLOCKS, ROOT_ROW_BYTES, ROOT_WATERMARK, ROW_WORDS_BYTES, WALK_ROWS_PER_EF,
} from './layout.js';
import { withTies } from './with-ties.js';

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

  /** The `k` nearest of the live rows allowed, or all where there are fewer. `query` is finite, of any length but 0. Throws ArenaFull. */
  search(query: Float32Array, k: number, { ef, exact = false, allowed }: SearchOptions = {}): Hits {
    assert(Number.isInteger(k) && k >= 1 && (ef ?? 0) >= 0, `k ${k}, ef ${ef}`);
    const { instance, root } = this;
    this.setQuery(query);
    const end = instance.setBitmap(allowed);
    const breadth = exact ? 0 : (ef ?? this.breadthFor(k, end));
    const count = countOf(instance.calls.search(instance.scratch, root, k, breadth === 0 ? 0 : Math.max(breadth, k), end));
    return readHits(instance, k, count);
  }

  /** As search, with all further rows whose score equals the k-th. */
  searchWithTies(query: Float32Array, k: number, options: SearchOptions = {}): Hits {
    return withTies(k, (depth) => this.search(query, depth, options), firstHits);
  }

  /** The cosines of some rows; NaN for those that are not live. Throws ArenaFull. */
  scoresOf(query: Float32Array, ordinals: Uint32Array): Float32Array {
    this.setQuery(query);
    const at = this.instance.setOrdinals(ordinals);
    const count = countOf(this.instance.calls.scoresOf(this.instance.scratch, this.root, at, ordinals.length));
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

  private setQuery(query: Float32Array): void {
    assert(query.length === this.dim, `a query of ${query.length} for ${this.dim} dimensions`);
    this.instance.setInput(query);
  }

  /** Breadth of the walk for `k` hits; 0, a scan, where that is faster. `end` is the number of ordinals in the filter that has been set, or NONE. */
  private breadthFor(k: number, end: number): number {
    const ef = Math.max(EF_MIN, 2 * k);
    const linked = this.instance.word(this.root + ROOT_WATERMARK);
    const rows = end === NONE ? linked : this.instance.calls.countAllowed(this.instance.scratch, Math.min(end, linked));
    return rows < ef * WALK_ROWS_PER_EF ? 0 : ef;
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
