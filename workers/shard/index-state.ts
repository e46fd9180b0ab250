// What the root and the rows of an index tell of it: how many there are, what waits, their versions and what memory
// they take. The base of VectorIndex; reads shared memory alone, on any thread.
import { ROW_WORDS_BYTES } from './block-layout.js';
import { CODES_LINES } from './codes/layout.js';
import { FILL_SHARE, ROOT_FILLING, ROOT_UNFILLED } from './fill-layout.js';
import { countOf, type Instance } from './instance.js';
import {
  LINE_BYTES,
  ROOT_CODES,
  ROOT_CODES_NEXT,
  ROOT_DIM,
  ROOT_GRAPH_MIN,
  ROOT_LINES,
  ROOT_LINKED,
  ROOT_LIVE,
  ROOT_REMOVALS,
  ROOT_ROW_BYTES,
  ROOT_ROWS_END,
  ROOT_WATERMARK,
} from './layout.js';
import { placeOf, rowBlock, rowBlockBytes } from './row-blocks.js';

export class IndexState {
  readonly dim: number;

  /** `root` is the address of the index. */
  constructor(
    protected readonly instance: Instance,
    readonly root: number,
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
   * (assembly/fill.ts).
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

  /** Address of a row's stamp, as assembly/rows.ts computes it; 0 where the row has no block. */
  protected stampAt(ordinal: number): number {
    const place = placeOf(ordinal);
    const block = rowBlock(this.instance, this.root, place);
    return block === 0
      ? 0
      : block + this.instance.word(this.root + ROOT_ROW_BYTES) * place.rows + ROW_WORDS_BYTES * place.row;
  }
}
