// Makes new codes for an index: learns the axes from a sample of its rows, encodes all rows, and exchanges the codes. A
// slice of work for each `next()`, so that the owner can do other things between; rows that are written meanwhile are
// encoded by both. Owner's thread; used by tending.ts.
import type { Instance } from '../instance.js';
import { NONE, ROOT_DIM, ROOT_ROWS_END } from '../layout.js';
import { LEARN_ROUNDS, SAMPLE_ROWS, SLICE_PRODUCTS } from './layout.js';
import type { CodeShape } from './shapes.js';
import { planSlots } from './slots.js';

/**
 * Answers true once the codes are in use, false where memory is full: then the codes are as before. Requires two live
 * rows.
 */
export function* learn(instance: Instance, root: number, shape: CodeShape): Generator<undefined, boolean> {
  const { calls } = instance;
  if (!calls.createCodes(root, shape.axes, shape.bytes)) return false;
  const dim = instance.word(root + ROOT_DIM);
  const { axes } = shape;
  yield* sample(instance, root, dim);
  yield* sliced(axes, dim, (from, end) => calls.beginBasis(root, from, end));
  for (let round = 0; round < LEARN_ROUNDS; round++) {
    yield* sliced(dim, axes * dim, (from, end) => calls.multiplyBasis(root, from, end));
    yield* sliced(axes, 2 * axes * dim, (from, end) => calls.orthogonalize(root, from, end));
  }
  yield* sliced(axes, dim * dim, (from, end) => calls.measureAxes(root, from, end));
  const slots = plan(instance, root, shape);
  if (slots === 0) return false;
  yield* sliced(slots, dim, (from, end) => calls.writeAxes(root, from, end));
  calls.finishAxes(root);
  return yield* encode(instance, root, slots * dim);
}

/** Gives the bits to the axes; answers the number of slots, 0 where memory is full and the codes are given up. */
function plan(instance: Instance, root: number, { axes, bytes }: CodeShape): number {
  const at = instance.calls.measuredAt(root) >>> 0;
  const measured = instance.copyFloats(at, 2 * axes);
  const { slots4, slots2 } = planSlots(
    Array.from({ length: axes }, (_, axis) => ({ variance: measured[2 * axis]!, mean: measured[2 * axis + 1]! })),
    bytes,
  );
  const slots = [...slots4, ...slots2];
  const words = new Uint32Array(slots.flatMap(({ axis, parent }) => [axis, parent ?? NONE, 0]));
  const floats = new Float32Array(words.buffer);
  slots.forEach(({ step }, slot) => (floats[3 * slot + 2] = step));
  const input = instance.reserveInput(words.byteLength);
  instance.writeWords(input, words);
  const [first4, first2] = [slots4, slots2].map((some) => some.filter(({ parent }) => parent === undefined).length);
  if (instance.calls.planCodes(root, input, slots4.length, slots2.length, first4!, first2!)) return slots.length;
  instance.calls.dropNext(root);
  return 0;
}

/** The covariance of rows that are spread over all. */
function* sample(instance: Instance, root: number, dim: number): Generator<undefined, void> {
  const { calls } = instance;
  const end = instance.word(root + ROOT_ROWS_END);
  const step = Math.max(1, Math.floor(end / SAMPLE_ROWS));
  const sliceRows = 2 * sliceOf(dim * dim);
  for (let from = 0; from < end; from += sliceRows * step) {
    calls.sampleRows(root, from, Math.min(sliceRows, Math.ceil((end - from) / step)), step);
    yield;
  }
  calls.finishMean(root);
  yield* sliced(dim, 4 * dim, (from, to) => calls.finishCovariance(root, from, to));
}

/** All rows there are when it ends: those that come meanwhile are encoded as they are staged. */
function* encode(instance: Instance, root: number, products: number): Generator<undefined, boolean> {
  const { calls } = instance;
  const sliceRows = sliceOf(products);
  for (let from = 0; from < instance.word(root + ROOT_ROWS_END); from += sliceRows) {
    if (
      !calls.encodeRows(instance.scratch, root, from, Math.min(instance.word(root + ROOT_ROWS_END), from + sliceRows))
    ) {
      calls.dropNext(root);
      return false;
    }
    yield;
  }
  calls.exchangeCodes(root);
  return true;
}

/** Does `work` on all of `count`, as many in a slice as `products`, the multiplications that one takes, admits. */
function* sliced(
  count: number,
  products: number,
  work: (from: number, end: number) => void,
): Generator<undefined, void> {
  const step = sliceOf(products);
  for (let from = 0; from < count; from += step) {
    work(from, Math.min(count, from + step));
    yield;
  }
}

const sliceOf = (products: number): number => Math.max(1, Math.floor(SLICE_PRODUCTS / products));
