// What leads a walk: the scores of nodes for one query, as whole numbers of which a higher one is nearer. They come
// from codes, one line of memory a node, or, where an index has none, from its rows. Nodes are scored in batches, so
// that their loads overlap. Any thread.
import {
  CODES_AXES_2,
  CODES_AXES_4,
  CODES_FIRST_2,
  CODES_FIRST_4,
  CODES_PARENTS,
  CODES_ROW_BYTES,
  CODES_WIDE_BYTES,
  GUIDE_CODES,
  GUIDE_SCALE,
  LINE_BYTES,
  ROOT_CODES,
  ROOT_ROW_BYTES,
  SCORES,
  TOUCHED,
} from '../../memory/layout';
import { batched, touch } from '../memory/row-blocks';
import { cosine, foldedIn, fourAxisDots, pairSums, queryIn } from './distance';
import { axesOf, axisAt, codeAt, parentAt, stepAt, unitAt } from './quantized-vectors';

// A query for the walk, folded: where it lies along each axis, times the step of the axis, as 16-bit numbers. What is
// the same for all rows (mean, middle of the steps) is left out.

/** The folded query's largest number; it and 16 times another fit 16 bits. */
const FOLDED_MAX = 1927;

/** Folds a query of 16-bit numbers; answers what a cosine of 1 scores. */
function foldQuery(codes: usize, wide: usize, folded: usize): f32 {
  const bytes: usize = load<u32>(codes, CODES_WIDE_BYTES);
  const axes: usize = axesOf(codes);
  const floats = folded + (axes << 1);
  const axes4 = load<u32>(codes, CODES_AXES_4);
  const parents = load<u32>(codes, CODES_PARENTS) != 0;
  const end4 = parents ? load<u32>(codes, CODES_FIRST_4) : axes4;
  const end2 = parents ? axes4 + load<u32>(codes, CODES_FIRST_2) : <u32>axes;
  const largest = f32x4.pmax(
    foldSlots(codes, wide, floats, bytes, 0, end4),
    foldSlots(codes, wide, floats, bytes, axes4, end2),
  );
  if (parents) {
    for (let slot = end4; slot < axes4; slot++) foldFiner(codes, floats, slot);
    for (let slot = end2; slot < <u32>axes; slot++) foldFiner(codes, floats, slot);
  }
  const most = max(
    max(f32x4.extract_lane(largest, 0), f32x4.extract_lane(largest, 1)),
    max(f32x4.extract_lane(largest, 2), f32x4.extract_lane(largest, 3)),
  );
  const scale: f32 = most > 0 ? <f32>FOLDED_MAX / most : 0;
  writeFolded(floats, folded, axes, load<u32>(codes, CODES_AXES_4), scale);
  return scale;
}

/** Writes where the query lies along the axes of the slots [from, end), times their steps; answers the largest in lanes. */
function foldSlots(codes: usize, wide: usize, floats: usize, bytes: usize, from: u32, end: u32): v128 {
  let largest = f32x4.splat(0);
  for (let slot = from; slot < end; slot += 4) {
    const products = f32x4.convert_i32x4_s(fourAxisDots(axisAt(codes, slot), wide, bytes));
    const values = f32x4.mul(products, f32x4.mul(v128.load(unitAt(codes, slot)), v128.load(stepAt(codes, slot))));
    v128.store(floats + ((<usize>slot) << 2), values);
    largest = f32x4.pmax(largest, f32x4.abs(values));
  }
  return largest;
}

/** The same of a slot that refines another: its step is a part of that one's. @inline */
function foldFiner(codes: usize, floats: usize, slot: u32): void {
  const parent = load<u32>(parentAt(codes, slot));
  const share = load<f32>(stepAt(codes, slot)) / load<f32>(stepAt(codes, parent));
  store<f32>(floats + ((<usize>slot) << 2), load<f32>(floats + ((<usize>parent) << 2)) * share);
}

/** Writes `axes` floats, times `scale`, as the whole numbers that levels are multiplied by. */
function writeFolded(floats: usize, folded: usize, axes: usize, axes4: usize, scale: f32): void {
  for (let axis: usize = 0; axis < axes; axis += 4) {
    const at = floats + (axis << 2);
    v128.store(at, f32x4.nearest(f32x4.mul(v128.load(at), f32x4.splat(scale))));
  }
  for (let axis: usize = 0; axis < axes; axis += 8) {
    // Eight axes on stands the level above, which the shift before it did not mask away: 16 or 4 of it for each of this
    // one's.
    const isLowest = axis < axes4 ? (axis & 31) == 0 : ((axis - axes4) & 63) == 0;
    const taken = f32x4.splat(isLowest ? 0 : axis < axes4 ? <f32>16 : <f32>4);
    const at = floats + (axis << 2);
    const below = isLowest ? at : at - 32;
    v128.store(
      folded + (axis << 1),
      i16x8.narrow_i32x4_s(fourWithout(at, below, taken), fourWithout(at + 16, below + 16, taken)),
    );
  }
}

/** Four floats without so much of four others, as whole numbers. @inline */
function fourWithout(at: usize, below: usize, taken: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.sub(v128.load(at), f32x4.mul(v128.load(below), taken)));
}

// The score of a code: the dot product of its levels with the folded query. Higher is nearer; scores of one query alone
// can be compared. Four codes at a time, as a walk finds them: the query is loaded once for all, and their loads
// overlap.
// A lane of 16 bits holds several levels, and x >> s holds the level at s and those above it. Those above are not
// masked away: the folded query has what they add taken off in advance, from the number that the next shift is
// multiplied by. Sums on the way may pass 32 bits, which does no harm: the score does not.

/**
 * Scores of four codes, each of `bytes4` bytes of 4-bit levels and `bytes2` of 2-bit levels, multiples of 16.
 * @inline
 */
export function fourScores(a: usize, b: usize, c: usize, d: usize, folded: usize, bytes4: usize, bytes2: usize): v128 {
  let s0 = i32x4.splat(0);
  let s1 = i32x4.splat(0);
  let s2 = i32x4.splat(0);
  let s3 = i32x4.splat(0);
  const middle = a + bytes4;
  const end = middle + bytes2;
  b -= a;
  c -= a;
  d -= a;
  for (; a < middle; a += 16, folded += 64) {
    const q0 = v128.load(folded);
    const q1 = v128.load(folded, 16);
    const q2 = v128.load(folded, 32);
    const q3 = v128.load(folded, 48);
    s0 = i32x4.add(s0, fourLevels(v128.load(a), 4, q0, q1, q2, q3));
    s1 = i32x4.add(s1, fourLevels(v128.load(b + a), 4, q0, q1, q2, q3));
    s2 = i32x4.add(s2, fourLevels(v128.load(c + a), 4, q0, q1, q2, q3));
    s3 = i32x4.add(s3, fourLevels(v128.load(d + a), 4, q0, q1, q2, q3));
  }
  for (; a < end; a += 16, folded += 128) {
    const x0 = v128.load(a);
    const x1 = v128.load(b + a);
    const x2 = v128.load(c + a);
    const x3 = v128.load(d + a);
    let q0 = v128.load(folded);
    let q1 = v128.load(folded, 16);
    let q2 = v128.load(folded, 32);
    let q3 = v128.load(folded, 48);
    s0 = i32x4.add(s0, fourLevels(x0, 2, q0, q1, q2, q3));
    s1 = i32x4.add(s1, fourLevels(x1, 2, q0, q1, q2, q3));
    s2 = i32x4.add(s2, fourLevels(x2, 2, q0, q1, q2, q3));
    s3 = i32x4.add(s3, fourLevels(x3, 2, q0, q1, q2, q3));
    q0 = v128.load(folded, 64);
    q1 = v128.load(folded, 80);
    q2 = v128.load(folded, 96);
    q3 = v128.load(folded, 112);
    s0 = i32x4.add(s0, fourLevels(i16x8.shr_s(x0, 8), 2, q0, q1, q2, q3));
    s1 = i32x4.add(s1, fourLevels(i16x8.shr_s(x1, 8), 2, q0, q1, q2, q3));
    s2 = i32x4.add(s2, fourLevels(i16x8.shr_s(x2, 8), 2, q0, q1, q2, q3));
    s3 = i32x4.add(s3, fourLevels(i16x8.shr_s(x3, 8), 2, q0, q1, q2, q3));
  }
  return i32x4.add(pairSums(s0, s1, s2, s3, true), pairSums(s0, s1, s2, s3, false));
}

/** What the lowest four levels of the lanes add to a score. @inline */
function fourLevels(x: v128, bits: i32, q0: v128, q1: v128, q2: v128, q3: v128): v128 {
  const low = i32x4.add(i32x4.dot_i16x8_s(x, q0), i32x4.dot_i16x8_s(i16x8.shr_s(x, bits), q1));
  const high = i32x4.add(
    i32x4.dot_i16x8_s(i16x8.shr_s(x, 2 * bits), q2),
    i32x4.dot_i16x8_s(i16x8.shr_s(x, 3 * bits), q3),
  );
  return i32x4.add(low, high);
}

/** What a cosine of 1 scores where rows lead. */
const ROW_UNIT: f32 = 1073741824;

/** Takes the codes as they are now for the walks to the query in the scratch; `byRows` forgoes them. */
export function beginGuide(scratch: usize, root: usize, byRows: bool): void {
  const codes: usize = byRows ? 0 : atomic.load<u32>(root, ROOT_CODES);
  store<u32>(scratch, <u32>codes, GUIDE_CODES);
  if (codes) store<f32>(scratch, foldQuery(codes, queryIn(scratch), foldedIn(scratch, root)), GUIDE_SCALE);
}

/** Scores the first `count` of BATCH. @inline */
export function scoreBatch(scratch: usize, root: usize, count: u32): void {
  const codes: usize = load<u32>(scratch, GUIDE_CODES);
  if (codes) scoreCodes(scratch, codes, foldedIn(scratch, root), count);
  else scoreRows(scratch, root, count);
}

/** @inline */
export function batchedScore(scratch: usize, place: u32): i32 {
  return load<i32>(scratch + ((<usize>place) << 2), SCORES);
}

function scoreRows(scratch: usize, root: usize, count: u32): void {
  touch(scratch, root, count, load<u32>(root, ROOT_ROW_BYTES));
  for (let i: u32 = 0; i < count; i++)
    store<i32>(
      scratch + ((<usize>i) << 2),
      <i32>(cosine(root, queryIn(scratch), batched(scratch, i)) * ROW_UNIT),
      SCORES,
    );
}

/** Codes are found once, when they are touched: their addresses stand where their scores will. @inline */
function scoreCodes(scratch: usize, codes: usize, folded: usize, count: u32): void {
  touchCodes(scratch, codes, count);
  const bytes4: usize = load<u32>(codes, CODES_AXES_4) >> 1;
  const bytes2: usize = load<u32>(codes, CODES_AXES_2) >> 2;
  const last = count - 1;
  for (let i: u32 = 0; i < count; i += 4) {
    const a = touched(scratch, i);
    const b = touched(scratch, min(i + 1, last));
    const c = touched(scratch, min(i + 2, last));
    const d = touched(scratch, min(i + 3, last));
    v128.store(scratch + ((<usize>i) << 2), fourScores(a, b, c, d, folded, bytes4, bytes2), SCORES);
  }
}

/** @inline */
function touched(scratch: usize, place: u32): usize {
  return load<u32>(scratch + ((<usize>place) << 2), SCORES);
}

/** Brings the codes of the first `count` of BATCH near. @inline */
function touchCodes(scratch: usize, codes: usize, count: u32): void {
  let bits: u32 = 0;
  const rowBytes: usize = load<u32>(codes, CODES_ROW_BYTES);
  for (let i: u32 = 0; i < count; i++) {
    const code = codeAt(codes, batched(scratch, i));
    store<u32>(scratch + ((<usize>i) << 2), <u32>code, SCORES);
    bits ^= load<u8>(code);
    if (rowBytes > <usize>LINE_BYTES) bits ^= load<u8>(code + LINE_BYTES);
  }
  store<u32>(scratch, bits, TOUCHED);
}
