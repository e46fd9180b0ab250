// One collection's vectors in a shard's memory: rows by ordinal, exact and graph search by cosine. A thin door: checks
// and copies here, the work in the kernel (assembly/). The owner's thread writes; any thread with a Kernel of its own
// may search.
import { assert } from '../../src/base/assert.js';
import { BY_ROWS, filteredWayOf, walkOf, wayOf, type Way } from './breadth.js';
import { Tending } from './codes/tending.js';
import { firstHits, readHits, type Hits, type SearchOptions } from './hits.js';
import { IndexState } from './index-state.js';
import { countOf, type Instance } from './instance.js';
import { NONE, ORDINALS_MAX, ROOT_REMOVALS, SCAN_CODES } from './layout.js';
import { withTies } from './with-ties.js';

export class VectorIndex extends IndexState {
  private made: Tending | undefined;

  /**
   * `root` is the address of the index; another thread's Kernel attaches by it. The owner makes codes at `codesMin`
   * live rows.
   */
  constructor(
    instance: Instance,
    root: number,
    private readonly codesMin = Infinity,
  ) {
    super(instance, root);
  }

  /**
   * Writes a vector, finite and not all zero, into a row that is not live. No search sees it until `publish`; staging
   * again overwrites it. Throws ArenaFull.
   */
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

  /** Before the first row of a publication that takes rows out, and behind its last. */
  beginOrEndRemovals(): void {
    this.instance.setWord(this.root + ROOT_REMOVALS, this.removals + 1);
  }

  /**
   * The `k` nearest of the live rows allowed, or all where there are fewer. `query` is finite, of any length but 0.
   * Throws ArenaFull.
   */
  search(query: Float32Array, k: number, { ef, exact = false, share = 1, allowed }: SearchOptions = {}): Hits {
    assert(Number.isInteger(k) && k >= 1 && (ef ?? 0) >= 0, `k ${k}, ef ${ef}`);
    const { instance, root } = this;
    const end = instance.setBitmap(allowed);
    if (exact) return this.searchBy(query, k, BY_ROWS, end);
    if (end !== NONE) return this.searchBy(query, k, filteredWayOf(instance, root, k, end, ef), end);
    return this.searchBy(query, k, ef === undefined ? wayOf(instance, root, k, share) : walkOf(ef, k), end);
  }

  /** The same in one way. `end`: ordinals of the filter that has been set. */
  searchBy(
    query: Float32Array,
    k: number,
    { ef, rerank, through = false, broad = 0, last = 0 }: Way,
    end = NONE,
  ): Hits {
    const { instance, root } = this;
    this.setQuery(query);
    const count = countOf(instance.calls.search(instance.scratch, root, k, ef, rerank, end, through, broad, last));
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

  /** True while rows wait for links, or codes for their making. */
  get hasWork(): boolean {
    return this.pendingCount > 0 || this.tending.isDue;
  }

  /** True while codes wait for their making. */
  get isTended(): boolean {
    return this.tending.isDue;
  }

  /**
   * Makes codes where it is time, a slice at a time, and links up to `max` waiting rows into the graph. Answers how
   * many still wait; 0 also where memory is full and no link can be made.
   */
  linkSome(max: number): number {
    if (this.tending.step() && this.pendingCount > 0) return this.pendingCount;
    return this.instance.calls.linkSome(this.instance.scratch, this.root, max);
  }

  /** Fills the lists of up to `max` rows with links, where that is due. */
  fillSome(max: number): void {
    if (this.isFillDue) this.instance.calls.fillSome(this.instance.scratch, this.root, max);
  }

  /**
   * Lowers `end` past rows that are not live, a slice at a time, down to `end`; true when that is done. Throws
   * ArenaFull.
   */
  hideSome(end: number, max: number): boolean {
    return this.end <= end || countOf(this.instance.calls.hideRows(this.instance.scratch, this.root, end, max)) <= end;
  }

  /**
   * Gives the blocks of rows at or above `from` back. Requires that `end` is not above it since before the readers
   * inside came.
   */
  freeFrom(from: number): void {
    assert(this.end <= from, 'rows that are freed are hidden');
    this.instance.calls.freeRows(this.root, from);
  }

  /** Gives the memory back. The index must not be used after it, on any thread. */
  drop(): void {
    this.instance.calls.dropIndex(this.root);
  }

  /** Of the owner; searches have none. */
  private get tending(): Tending {
    return (this.made ??= new Tending(this.instance, this.root, this, this.codesMin));
  }

  private setQuery(query: Float32Array): void {
    assert(query.length === this.dim, `a query of ${query.length} for ${this.dim} dimensions`);
    this.instance.setInput(query);
  }

  /** Breadth of the walk for the `k` best of all rows that are searched, of which the index has `share`; 0 for a scan. */
  breadthFor(k: number, share = 1): number {
    const { ef } = wayOf(this.instance, this.root, k, share);
    return ef === SCAN_CODES ? 0 : ef;
  }
}
