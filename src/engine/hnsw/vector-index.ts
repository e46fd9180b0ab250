// The vector index of a segment: rows by ordinal, exact search and graph search by cosine (HNSW, Malkov and Yashunin
// 2016). This file checks arguments and copies results; the kernel does the work. The owner writes; any thread may read
// and search with a kernel of its own.
import type { SearchParams } from '../../api/search.js';
import { assert } from '../../base/assert.js';
import { withTies } from '../../ranking/top-k.js';
import { type Bitmap, emptyBitmap, setBit } from '../filter/bitmap.js';
import { type Instance, countOf } from '../memory/bindings.js';
import {
  FINE_PLACE,
  FIRST_ROWS,
  LINE_BYTES,
  NONE,
  ORDINALS_MAX,
  QUANTIZER_LINES,
  ROOT_DENSIFYING,
  ROOT_DIM,
  ROOT_GRAPH_MIN,
  ROOT_INDEXED,
  ROOT_INDEXED_TO,
  ROOT_LINES,
  ROOT_LIVE,
  ROOT_QUANTIZER,
  ROOT_QUANTIZER_NEXT,
  ROOT_REMOVALS,
  ROOT_ROWS_END,
  ROOT_ROW_BYTES,
  ROOT_ROW_TABLE,
  ROOT_SMALL_TABLE,
  ROOT_UNDENSIFIED,
  ROW_WORDS_BYTES,
  SCAN_QUANTIZED,
  SMALL_TABLE_BYTES,
  TABLE_BYTES,
} from '../memory/layout.js';
import { RecallTuner } from './recall-tuner.js';
import { type Hits, type SearchScope, type Way, firstHits, planOf, readHits, wayOf } from './search-plan.js';

/** An index with fewer live rows has no graph, or no quantized vectors. */
export const GRAPH_MIN = 4096;
export const QUANTIZED_MIN = 4096;
/** The graph is densified when more than one in this many nodes has been inserted since the last time. */
const DENSIFY_SHARE = 3;

interface RowPlace {
  /** Byte offset of the block's address in the block table. */
  readonly slot: number;
  /** Number of rows in the block. */
  readonly rows: number;
  /** Index of the row in its block. */
  readonly row: number;
}

/**
 * The block that holds an ordinal. Each doubling of the rows has four blocks, the first of four rows; from FINE_PLACE
 * on it has thirty-two.
 */
export function placeOf(ordinal: number): RowPlace {
  const place = ordinal + FIRST_ROWS;
  const isFine = place >= FINE_PLACE;
  const shift = 29 - Math.clz32(place) - (isFine ? 3 : 0);
  const before = isFine ? (shift - 7) * 32 : (shift - 2) * 4 - 4;
  const rows = 1 << shift;
  return { slot: 4 * (before + (place >>> shift)), rows, row: place & (rows - 1) };
}

/** Number of rows in the block whose address stands at offset `slot` of a block table. */
export function blockRows(slot: number): number {
  return 2 ** (slot < SMALL_TABLE_BYTES ? 2 + (slot >>> 4) : 7 + ((slot - SMALL_TABLE_BYTES) >>> 7));
}

/** Address of the block that holds a row; 0 if it does not exist. */
function rowBlock(instance: Instance, root: number, { slot }: RowPlace): number {
  return slot < tableBytes(instance, root) ? instance.word(instance.word(root + ROOT_ROW_TABLE) + slot) : 0;
}

/** Total bytes of all row blocks. */
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

/** The vectors of one segment. Owner writes, any thread reads and searches. */
export class VectorIndex {
  readonly dim: number;
  private made: RecallTuner | undefined;

  /**
   * `root` is the address of the index in shared memory, by which kernels of other threads attach to it. The owner
   * builds quantized vectors from `quantizedMin` live rows on.
   */
  constructor(
    private readonly instance: Instance,
    readonly root: number,
    private readonly quantizedMin = Infinity,
  ) {
    this.dim = instance.word(root + ROOT_DIM);
  }

  get liveCount(): number {
    return this.instance.word(this.root + ROOT_LIVE);
  }

  /** One more than the highest ordinal that was published and is not hidden. */
  get end(): number {
    return this.instance.word(this.root + ROOT_ROWS_END);
  }

  /**
   * The removal counter: odd while a publication removes rows, and changed after it. A search between two equal even
   * values has seen all rows that were live throughout, and has missed no document between its old rows and its new
   * ones.
   */
  get removals(): number {
    return this.instance.word(this.root + ROOT_REMOVALS);
  }

  /** Number of live rows that are not in the graph yet; searches scan them. */
  get unindexedCount(): number {
    const small =
      this.liveCount < this.instance.word(this.root + ROOT_GRAPH_MIN) &&
      this.instance.word(this.root + ROOT_INDEXED_TO) === 0;
    return small ? 0 : this.liveCount - this.instance.word(this.root + ROOT_INDEXED);
  }

  /**
   * Whether the graph should be densified: all rows are indexed, and enough of them were inserted since the last time
   * (kernel/hnsw/graph-builder.ts).
   */
  get isDensifyDue(): boolean {
    const [undensified, densifying, indexed] = [ROOT_UNDENSIFIED, ROOT_DENSIFYING, ROOT_INDEXED].map((at) =>
      this.instance.word(this.root + at),
    ) as [number, number, number];
    return this.unindexedCount === 0 && (densifying !== 0 || DENSIFY_SHARE * undensified > indexed);
  }

  get usedBytes(): number {
    return this.instance.word(this.root + ROOT_LINES) * LINE_BYTES + this.quantizedBytes;
  }

  /** Bytes of the vectors and of the fields of each row. */
  get rowsBytes(): number {
    return rowBlockBytes(this.instance, this.root);
  }

  /** Bytes of the quantized vectors in use and of those being built. */
  get quantizedBytes(): number {
    const quantizer = [ROOT_QUANTIZER, ROOT_QUANTIZER_NEXT]
      .map((at) => this.instance.word(this.root + at))
      .filter((address) => address !== 0);
    return quantizer.reduce((sum, address) => sum + this.instance.word(address + QUANTIZER_LINES) * LINE_BYTES, 0);
  }

  /**
   * The version of a row: odd while it is live, and not used for another live row of this memory until the counter
   * wraps around; 0 if the row never existed.
   */
  rowVersionOf(ordinal: number): number {
    const at = this.rowVersionAt(ordinal);
    return at === 0 ? 0 : this.instance.word(at);
  }

  isLive(ordinal: number): boolean {
    return (this.rowVersionOf(ordinal) & 1) === 1;
  }

  /** The live rows. They are read block by block, since there may be millions. */
  liveRows(): Bitmap {
    const { end } = this;
    const live = emptyBitmap(end);
    const wordsPerRow = ROW_WORDS_BYTES >> 2;
    for (let first = 0; first < end; ) {
      const { rows, row: before } = placeOf(first);
      const next = Math.min(end, first + rows - before);
      const at = this.rowVersionAt(first);
      const words = at === 0 ? undefined : this.instance.wordsAt(at, (next - first) * wordsPerRow);
      if (words)
        for (let row = first; row < next; row++) if (words[(row - first) * wordsPerRow]! & 1) setBit(live, row);
      first = next;
    }
    return live;
  }

  /** A row as a vector of unit length, up to rounding. Throws ArenaFull. */
  rowOf(ordinal: number): Float32Array {
    countOf(this.instance.calls.readRow(this.instance.scratch, this.root, ordinal));
    return this.instance.copyFloats(this.instance.output, this.dim);
  }

  /**
   * Writes a vector into a row that is not live. The vector must be finite and not all zero. No search sees it until
   * `publish`; staging again overwrites it. Throws ArenaFull.
   */
  stage(ordinal: number, vector: Float32Array): void {
    assert(Number.isInteger(ordinal) && ordinal >= 0 && ordinal < ORDINALS_MAX, `ordinal ${ordinal}`);
    assert(vector.length === this.dim, `a vector of ${vector.length} for ${this.dim} dimensions`);
    assert(!this.isLive(ordinal), `staging live row ${ordinal}`);
    this.instance.setInput(vector);
    countOf(this.instance.calls.stage(this.instance.scratch, this.root, ordinal));
  }

  /** Makes a staged row live. Needs no memory, so it cannot fail. */
  publish(ordinal: number): void {
    assert(this.rowVersionAt(ordinal) !== 0 && !this.isLive(ordinal), `publishing row ${ordinal}, which is not staged`);
    this.instance.calls.publish(this.instance.scratch, this.root, ordinal);
  }

  /** Stages and publishes a row, replacing a live one. Throws ArenaFull and then changes nothing. */
  put(ordinal: number, vector: Float32Array): void {
    // A live row already has its memory, but the input buffer may have to grow and can fail.
    this.instance.setInput(vector);
    if (this.isLive(ordinal)) this.remove(ordinal);
    this.stage(ordinal, vector);
    this.publish(ordinal);
  }

  remove(ordinal: number): void {
    assert(this.isLive(ordinal), `removing row ${ordinal}, which is not live`);
    this.instance.calls.remove(this.root, ordinal);
  }

  /** Gives a live row a new row version, for a change of its metadata. Needs no memory, so it cannot fail. */
  renew(ordinal: number): void {
    assert(this.isLive(ordinal), `renewing row ${ordinal}, which is not live`);
    this.instance.calls.renew(this.root, ordinal);
  }

  /** Call it before the first and after the last row of a publication that removes rows or changes their metadata. */
  beginOrEndRemovals(): void {
    this.instance.setWord(this.root + ROOT_REMOVALS, this.removals + 1);
  }

  /**
   * The `k` nearest of the allowed live rows, or all if there are fewer. `query` has `dim` finite numbers, not all
   * zero. Throws ArenaFull.
   */
  search(query: Float32Array, k: number, params: SearchParams = {}, { share = 1, allowed }: SearchScope = {}): Hits {
    assert(Number.isInteger(k) && k >= 1 && (params.ef ?? 0) >= 0, `k ${k}, ef ${params.ef}`);
    const end = this.instance.setBitmap(allowed);
    return this.searchBy(query, k, planOf(this.instance, this.root, k, params, share, end), end);
  }

  /** The same in a given way. `end`: number of ordinals in the filter that has been set. */
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

  /** Like `search`, with all further rows whose score equals that of the k-th. */
  searchWithTies(query: Float32Array, k: number, params?: SearchParams, scope?: SearchScope): Hits {
    return withTies(k, (depth) => this.search(query, depth, params, scope), firstHits);
  }

  /** The cosines of the given rows; NaN for rows that are not live. Throws ArenaFull. */
  scoresOf(query: Float32Array, ordinals: Uint32Array): Float32Array {
    this.setQuery(query);
    const at = this.instance.setOrdinals(ordinals);
    const count = countOf(this.instance.calls.scoresOf(this.instance.scratch, this.root, at, ordinals.length));
    return this.instance.copyFloats(this.instance.output, count);
  }

  /** Whether rows are unindexed or the recall tuner has work. */
  get hasWork(): boolean {
    return this.unindexedCount > 0 || this.tuner.isDue;
  }

  /** Whether the recall tuner has work. */
  get isTuning(): boolean {
    return this.tuner.isDue;
  }

  /**
   * Runs a slice of the recall tuner if it has work, and inserts up to `max` unindexed rows into the graph. Returns how
   * many rows remain unindexed; also 0 if memory is full and no edge can be added.
   */
  indexSome(max: number): number {
    if (this.tuner.step() && this.unindexedCount > 0) return this.unindexedCount;
    return this.instance.calls.indexSome(this.instance.scratch, this.root, max);
  }

  /** Densifies the graph around up to `max` rows if that is due. */
  densifySome(max: number): void {
    if (this.isDensifyDue) this.instance.calls.densifySome(this.instance.scratch, this.root, max);
  }

  /**
   * Lowers the index's end to `end`, past rows that are not live, a slice at a time; a slice takes at most `max` rows
   * out of the graph. Returns true when done. Throws ArenaFull.
   */
  hideSome(end: number, max: number): boolean {
    return this.end <= end || countOf(this.instance.calls.hideRows(this.instance.scratch, this.root, end, max)) <= end;
  }

  /**
   * Frees the blocks of rows at or above `from`. Requires that the index's end was at most `from` before any present
   * reader entered.
   */
  freeFrom(from: number): void {
    assert(this.end <= from, 'rows that are freed are hidden');
    this.instance.calls.freeRows(this.root, from);
  }

  /** Frees the memory. No thread may use the index afterwards. */
  drop(): void {
    this.instance.calls.dropIndex(this.root);
  }

  /** Created at first use, by the owner only. */
  private get tuner(): RecallTuner {
    return (this.made ??= new RecallTuner(this.instance, this.root, this, this.quantizedMin));
  }

  private setQuery(query: Float32Array): void {
    assert(query.length === this.dim, `a query of ${query.length} for ${this.dim} dimensions`);
    this.instance.setInput(query);
  }

  /** The `ef` with which this index is searched for the `k` best of all rows, of which it has `share`; 0 for a scan. */
  efFor(k: number, share = 1): number {
    const { ef } = wayOf(this.instance, this.root, k, share);
    return ef === SCAN_QUANTIZED ? 0 : ef;
  }

  /** Address of the version of a row; 0 if the row has no block. */
  private rowVersionAt(ordinal: number): number {
    const place = placeOf(ordinal);
    const block = rowBlock(this.instance, this.root, place);
    return block === 0
      ? 0
      : block + this.instance.word(this.root + ROOT_ROW_BYTES) * place.rows + ROW_WORDS_BYTES * place.row;
  }
}
