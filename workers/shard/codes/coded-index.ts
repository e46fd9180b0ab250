// The codes of one collection's vectors: learning their axes, encoding rows, and searching the graph by them. A thin door, as
// VectorIndex is to the vectors; the work is in ../assembly/codes. The owner's thread writes, any thread may search.
import { assert } from '../../../src/base/assert.js';
import { readHits, type Hits } from '../hits.js';
import { addressOf, ArenaFull, countOf, type Instance } from '../instance.js';
import { LINE_BYTES, ROOT_DIM, ROOT_ROWS_END } from '../layout.js';
import { CODES_LINES, CODES_STEPS, CODES_VARIANCE, LEARN_ROUNDS, SAMPLE_ROWS } from './layout.js';

/** How many axes at how many bits. */
export interface CodeShape {
  /** A multiple of 32. */
  readonly axes4: number;
  /** A multiple of 64. */
  readonly axes2: number;
}

export interface CodedSearch {
  /** Breadth of the walk, at least `rerank`. */
  readonly ef: number;
  /** Candidates that are scored again, at least k. */
  readonly rerank: number;
}

/** Rows that are sampled or encoded in one call: well below a millisecond's work at 384 dimensions. */
const SLICE_ROWS = 16;

export class CodedIndex {
  /** `root` is the address of the index, `codes` that of its codes; another thread attaches by them. */
  constructor(
    private readonly instance: Instance,
    private readonly root: number,
    readonly codes: number,
    private readonly shape: CodeShape,
  ) {}

  get usedBytes(): number {
    return this.instance.word(this.codes + CODES_LINES) * LINE_BYTES;
  }

  /** The share of the sample's variance that lies along the axes of the codes; what is left a walk cannot see. */
  get varianceShare(): number {
    const axes = this.shape.axes4 + this.shape.axes2;
    const variances = this.instance.copyFloats(this.instance.word(this.codes + CODES_STEPS) + 12 * axes, axes);
    const all = this.instance.copyFloats(this.codes + CODES_VARIANCE, 1)[0]!;
    return all > 0 ? variances.reduce((sum, variance) => sum + variance, 0) / all : 1;
  }

  /** Learns the axes, a slice of work for each `next()`. Requires at least two live rows. Throws ArenaFull. */
  *learn(rounds = LEARN_ROUNDS, sampleRows = SAMPLE_ROWS): Generator<undefined, void> {
    const { instance: { calls }, codes, root } = this;
    if (!calls.beginAxes(codes, root)) throw new ArenaFull();
    const end = this.rowsEnd;
    const step = Math.max(1, Math.floor(end / sampleRows));
    for (let from = 0; from < end; from += SLICE_ROWS * step) {
      calls.sampleRows(codes, root, from, Math.min(SLICE_ROWS, Math.ceil((end - from) / step)), step);
      yield;
    }
    calls.finishSample(codes, root);
    for (let round = 1; round < rounds; round++) {
      yield;
      calls.improveAxes(codes, root);
    }
    yield;
    calls.finishAxes(codes, root);
  }

  /** Writes the codes of all rows, a slice for each `next()`. Requires axes. Throws ArenaFull. */
  *encode(): Generator<undefined, void> {
    for (let from = 0; from < this.rowsEnd; from += SLICE_ROWS) {
      if (!this.instance.calls.encodeRows(this.codes, this.root, from, Math.min(this.rowsEnd, from + SLICE_ROWS))) throw new ArenaFull();
      yield;
    }
  }

  /** The `k` nearest of the rows in the graph, by the cosine of their 16-bit numbers. Throws ArenaFull. */
  search(query: Float32Array, k: number, { ef, rerank }: CodedSearch): Hits {
    assert(query.length === this.instance.word(this.root + ROOT_DIM) && k >= 1 && k <= rerank && rerank <= ef, `k ${k} of ${rerank} of ${ef}`);
    const { instance, codes, root } = this;
    instance.setInput(query);
    return readHits(instance, k, countOf(instance.calls.searchCodes(instance.scratch, codes, root, k, ef, rerank)));
  }

  /** Gives the memory back. */
  drop(): void {
    this.instance.calls.dropCodes(this.codes);
  }

  private get rowsEnd(): number {
    return this.instance.word(this.root + ROOT_ROWS_END);
  }
}

/** Makes codes for the index at `root`, without axes yet. Throws ArenaFull. */
export function createCodes(instance: Instance, root: number, shape: CodeShape): CodedIndex {
  assert(shape.axes4 % 32 === 0 && shape.axes2 % 64 === 0 && shape.axes4 + shape.axes2 > 0, `a code of ${shape.axes4} and ${shape.axes2} axes`);
  return new CodedIndex(instance, root, addressOf(instance.calls.createCodes(root, shape.axes4, shape.axes2)), shape);
}
