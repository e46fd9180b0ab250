// The vectors of a segment: rows by ordinal, exact and graph search by cosine. Checks and copies stand here, the work in
// the kernel. The owner's thread writes; any thread with a kernel of its own may search and read.
import type { SearchParams } from '../../api/search.js';
import { assert } from '../../base/assert.js';
import { withTies } from '../../ranking/top-k.js';
import { type Instance, countOf } from '../memory/bindings.js';
import {
  CODES_LINES,
  FINE_PLACE,
  FIRST_ROWS,
  LINE_BYTES,
  NONE,
  ORDINALS_MAX,
  ROOT_CODES,
  ROOT_CODES_NEXT,
  ROOT_DIM,
  ROOT_FILLING,
  ROOT_GRAPH_MIN,
  ROOT_LINES,
  ROOT_LINKED,
  ROOT_LIVE,
  ROOT_REMOVALS,
  ROOT_ROWS_END,
  ROOT_ROW_BYTES,
  ROOT_ROW_TABLE,
  ROOT_SMALL_TABLE,
  ROOT_UNFILLED,
  ROOT_WATERMARK,
  ROW_WORDS_BYTES,
  SCAN_CODES,
  SMALL_TABLE_BYTES,
  TABLE_BYTES,
} from '../memory/layout.js';
import { Tending } from './recall-tuner.js';
import { type Hits, type SearchScope, type Way, firstHits, planOf, readHits, wayOf } from './search-plan.js';

/** Indexes of fewer live rows have no graph, and those of fewer have no codes. */
export const GRAPH_MIN = 4096;
export const CODES_MIN = 4096;
/** Lists are filled when of so many nodes more than one has been linked since the last time. */
const FILL_SHARE = 3;

interface RowPlace {
  /** Offset of the block's address in a table. */
  readonly slot: number;
  /** Rows of the block. */
  readonly rows: number;
  /** Which of them it is. */
  readonly row: number;
}

/** Four blocks to each doubling, the first of four rows; from FINE_PLACE on thirty-two. */
export function placeOf(ordinal: number): RowPlace {
  const place = ordinal + FIRST_ROWS;
  const isFine = place >= FINE_PLACE;
  const shift = 29 - Math.clz32(place) - (isFine ? 3 : 0);
  const before = isFine ? (shift - 7) * 32 : (shift - 2) * 4 - 4;
  const rows = 1 << shift;
  return { slot: 4 * (before + (place >>> shift)), rows, row: place & (rows - 1) };
}

/** Rows of the block whose address stands at an offset of a table. */
export function blockRows(slot: number): number {
  return 2 ** (slot < SMALL_TABLE_BYTES ? 2 + (slot >>> 4) : 7 + ((slot - SMALL_TABLE_BYTES) >>> 7));
}

/** Address of the block that holds a row; 0 where there is none. */
function rowBlock(instance: Instance, root: number, { slot }: RowPlace): number {
  return slot < tableBytes(instance, root) ? instance.word(instance.word(root + ROOT_ROW_TABLE) + slot) : 0;
}

/** Bytes of all blocks of rows. */
function rowBlockBytes(instance: Instance, root: number): number {
  const rowBytes = instance.word(root + ROOT_ROW_BYTES) + ROW_WORDS_BYTES;
  const table = instance.word(root + ROOT_ROW_TABLE);
  let bytes = 0;
  for (let slot = 0; slot < tableBytes(instance, root); slot += 4)
    if (instance.word(table + slot) !== 0) bytes += rowBytes * blockRows(slot);
  return bytes;
}

function tableBytes(instance: Instance, root: number): number {
  return instance.word(root + ROOT_ROW_TABLE) === root + ROOT_SMALL_TABLE ? SMALL_TABLE_BYTES : TABLE_BYTES;
}

export class VectorIndex {
  readonly dim: number;
  private made: Tending | undefined;

  /**
   * `root` is the address of the index; another thread's Kernel attaches by it. The owner makes codes at `codesMin`
   * live rows.
   */
  constructor(
    private readonly instance: Instance,
    readonly root: number,
    private readonly codesMin = Infinity,
  ) {
    this.dim = instance.word(root + ROOT_DIM);
  }

  get liveCount(): number {
    return this.instance.word(this.root + ROOT_LIVE);
  }

  /** One more than the highest ordinal ever published. */
  get end(): number {
    return this.instance.word(this.root + ROOT_ROWS_END);
  }

  /**
   * Odd while a publication takes rows out, and another number after it: a search between two equal even ones has
   * looked at all rows that were there throughout, and at no document between its old rows and its new ones.
   */
  get removals(): number {
    return this.instance.word(this.root + ROOT_REMOVALS);
  }

  /** Live rows that wait to be linked into the graph; searches scan them meanwhile. */
  get pendingCount(): number {
    const small =
      this.liveCount < this.instance.word(this.root + ROOT_GRAPH_MIN) &&
      this.instance.word(this.root + ROOT_WATERMARK) === 0;
    return small ? 0 : this.liveCount - this.instance.word(this.root + ROOT_LINKED);
  }

  /**
   * True while lists of the graph wait to be filled: all rows are linked, and enough of them since the last time
   * (kernel/hnsw/graph-builder.ts).
   */
  get isFillDue(): boolean {
    const [unfilled, filling, linked] = [ROOT_UNFILLED, ROOT_FILLING, ROOT_LINKED].map((at) =>
      this.instance.word(this.root + at),
    ) as [number, number, number];
    return this.pendingCount === 0 && (filling !== 0 || FILL_SHARE * unfilled > linked);
  }

  get usedBytes(): number {
    return this.instance.word(this.root + ROOT_LINES) * LINE_BYTES + this.codesBytes;
  }

  /** Of the vectors, with the words of each row. */
  get rowsBytes(): number {
    return rowBlockBytes(this.instance, this.root);
  }

  /** Of the codes in use, and of those being made. */
  get codesBytes(): number {
    const codes = [ROOT_CODES, ROOT_CODES_NEXT]
      .map((at) => this.instance.word(this.root + at))
      .filter((address) => address !== 0);
    return codes.reduce((sum, address) => sum + this.instance.word(address + CODES_LINES) * LINE_BYTES, 0);
  }

  /**
   * The version of a row: odd while it is live, never used twice for a live row in this memory; 0 for one that never
   * was.
   */
  stampOf(ordinal: number): number {
    const at = this.stampAt(ordinal);
    return at === 0 ? 0 : this.instance.word(at);
  }

  isLive(ordinal: number): boolean {
    return (this.stampOf(ordinal) & 1) === 1;
  }

  /** The rows that are live, in order: block by block, as there may be millions. */
  *liveRows(): Generator<number, undefined> {
    const wordsPerRow = ROW_WORDS_BYTES >> 2;
    for (let first = 0; first < this.end; ) {
      const { rows, row: before } = placeOf(first);
      const count = rows - before;
      const at = this.stampAt(first);
      const words = at === 0 ? new Uint32Array() : this.instance.copyWords(at, count * wordsPerRow);
      for (let row = first; row < Math.min(first + count, this.end); row++)
        if (((words[(row - first) * wordsPerRow] ?? 0) & 1) === 1) yield row;
      first += count;
    }
  }

  /** The numbers of a row as a vector of unit length, but for rounding. Throws ArenaFull. */
  rowOf(ordinal: number): Float32Array {
    countOf(this.instance.calls.readRow(this.instance.scratch, this.root, ordinal));
    return this.instance.copyFloats(this.instance.output, this.dim);
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
  search(query: Float32Array, k: number, params: SearchParams = {}, { share = 1, allowed }: SearchScope = {}): Hits {
    assert(Number.isInteger(k) && k >= 1 && (params.ef ?? 0) >= 0, `k ${k}, ef ${params.ef}`);
    const end = this.instance.setBitmap(allowed);
    return this.searchBy(query, k, planOf(this.instance, this.root, k, params, share, end), end);
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
  searchWithTies(query: Float32Array, k: number, params?: SearchParams, scope?: SearchScope): Hits {
    return withTies(k, (depth) => this.search(query, depth, params, scope), firstHits);
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

  /** Address of a row's stamp; 0 where the row has no block. */
  private stampAt(ordinal: number): number {
    const place = placeOf(ordinal);
    const block = rowBlock(this.instance, this.root, place);
    return block === 0
      ? 0
      : block + this.instance.word(this.root + ROOT_ROW_BYTES) * place.rows + ROW_WORDS_BYTES * place.row;
  }
}
