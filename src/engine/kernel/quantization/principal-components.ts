// Learns the principal components of an index from the covariance of a sample of its rows by orthogonal iteration
// (Golub & Van Loan, "Matrix Computations", 8.2.4): the basis is multiplied by the covariance and orthogonalized,
// repeatedly. The result need not be exact, since any basis that covers most of the variance will do. The first
// direction is the mean of the rows and stays fixed. The same rows give the same components. The work is divided into
// slices, between which the owner can do other things. Owner only.
import {
  CODES_DIM,
  CODES_LEARNED,
  CODES_LINES,
  CODES_SAMPLED,
  CODES_VARIANCE,
  CODES_WIDE_BYTES,
  CODES_WORK,
  LINE_BYTES,
  NONE,
  ROOT_CODES_NEXT,
  WIDE_SCALE,
} from '../../memory/layout';
import { linesOf, release } from '../memory/arena';
import { hasRow, isLive } from '../memory/row-blocks';
import { addScaled, dot, floatBytes, scaleToWide, toFloats, wideDot } from './distance';
import { addCodesBlock, axisAt, offsetAt, parentAt, stepAt, unitAt, varianceAt } from './quantized-vectors';

// The working memory: the mean and the covariance of the sample, room for two bases, and for the rows being added.

/** Allocates the working memory for the quantized vectors under construction. False when memory is full. */
export function beginAxes(root: usize): bool {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const dim: u64 = load<u32>(codes, CODES_DIM);
  const rowBytes: u64 = floatBytes(root);
  store<u32>(
    codes,
    <u32>addCodesBlock(codes, rowBytes * (dim + 4 + 2 * <u64>load<u32>(codes, CODES_LEARNED))),
    CODES_WORK,
  );
  return load<u32>(codes, CODES_WORK) != 0;
}

/** @inline */
function meanAt(codes: usize): usize {
  return load<u32>(codes, CODES_WORK);
}

/** Address of a row of the covariance. Sums are collected only in its upper triangle. @inline */
function covarianceAt(codes: usize, i: u32, rowBytes: usize): usize {
  return meanAt(codes) + (1 + <usize>i) * rowBytes;
}

/** @inline */
function basisAt(codes: usize, rowBytes: usize): usize {
  return covarianceAt(codes, load<u32>(codes, CODES_DIM), rowBytes);
}

/** @inline */
function nextAt(codes: usize, rowBytes: usize): usize {
  return basisAt(codes, rowBytes) + <usize>load<u32>(codes, CODES_LEARNED) * rowBytes;
}

/** Address of room for two rows of the sample and for one row of 16-bit numbers. @inline */
function sampledAt(codes: usize, rowBytes: usize): usize {
  return nextAt(codes, rowBytes) + <usize>load<u32>(codes, CODES_LEARNED) * rowBytes;
}

/**
 * Adds the live ones of `count` rows, from `from` on in steps of `step`, to the sums of mean and covariance. An odd
 * last row is left out.
 */
export function sampleRows(root: usize, from: u32, count: u32, step: u32): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const rowBytes = floatBytes(root);
  const sampled = sampledAt(codes, rowBytes);
  let isSecond = false;
  for (let i: u32 = 0; i < count; i++) {
    const ordinal = from + i * step;
    if (!hasRow(root, ordinal) || !isLive(root, ordinal)) continue;
    toFloats(root, ordinal, sampled + (isSecond ? rowBytes : 0), sampled + 2 * rowBytes + LINE_BYTES);
    if (isSecond) addTwo(codes, sampled, sampled + rowBytes, rowBytes);
    isSecond = !isSecond;
  }
}

/**
 * Adds two rows at a time: the covariance is larger than the first caches and is read and written as a whole each time.
 */
function addTwo(codes: usize, a: usize, b: usize, rowBytes: usize): void {
  const mean = meanAt(codes);
  for (let at: usize = 0; at < rowBytes; at += 16)
    v128.store(mean + at, f32x4.add(v128.load(mean + at), f32x4.add(v128.load(a + at), v128.load(b + at))));
  const dim = load<u32>(codes, CODES_DIM);
  for (let i: u32 = 0; i < dim; i++) {
    const row = covarianceAt(codes, i, rowBytes);
    const ai = f32x4.splat(load<f32>(a + ((<usize>i) << 2)));
    const bi = f32x4.splat(load<f32>(b + ((<usize>i) << 2)));
    for (let at = (<usize>(i & ~3)) << 2; at < rowBytes; at += 16) {
      v128.store(
        row + at,
        f32x4.add(v128.load(row + at), f32x4.add(f32x4.mul(ai, v128.load(a + at)), f32x4.mul(bi, v128.load(b + at)))),
      );
    }
  }
  store<u32>(codes, load<u32>(codes, CODES_SAMPLED) + 2, CODES_SAMPLED);
}

/** Divides the sum of the rows by their number. Requires at least two rows in it. */
export function finishMean(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const mean = meanAt(codes);
  const share: f32 = <f32>1 / <f32>load<u32>(codes, CODES_SAMPLED);
  for (let i: usize = 0; i < <usize>load<u32>(codes, CODES_DIM); i++)
    store<f32>(mean + (i << 2), load<f32>(mean + (i << 2)) * share);
}

/** Computes the rows [from, end) of the covariance from the sums, and the columns that mirror them. */
export function finishCovariance(root: usize, from: u32, end: u32): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const rowBytes = floatBytes(root);
  const dim = load<u32>(codes, CODES_DIM);
  const share: f32 = <f32>1 / <f32>load<u32>(codes, CODES_SAMPLED);
  const mean = meanAt(codes);
  for (let i = from; i < end; i++) {
    const row = covarianceAt(codes, i, rowBytes);
    const meanI = load<f32>(mean + ((<usize>i) << 2));
    for (let j = i; j < dim; j++) {
      const value = load<f32>(row + ((<usize>j) << 2)) * share - meanI * load<f32>(mean + ((<usize>j) << 2));
      store<f32>(row + ((<usize>j) << 2), value);
      store<f32>(covarianceAt(codes, j, rowBytes) + ((<usize>i) << 2), value);
    }
    store<f32>(codes, load<f32>(codes, CODES_VARIANCE) + load<f32>(row + ((<usize>i) << 2)), CODES_VARIANCE);
  }
}

/** The variance of the sample along a direction. */
function varianceAlong(codes: usize, direction: usize, rowBytes: usize): f32 {
  const dim = load<u32>(codes, CODES_DIM);
  let sum: f32 = 0;
  for (let i: u32 = 0; i < dim; i++)
    sum += load<f32>(direction + ((<usize>i) << 2)) * dot(direction, covarianceAt(codes, i, rowBytes), rowBytes);
  return max<f32>(0, sum);
}

/**
 * Initializes the directions [from, end) of the basis: the first with the mean, the others with noise from a
 * multiplicative hash, so that no direction is favoured or left out.
 */
export function beginBasis(root: usize, from: u32, end: u32): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const rowBytes = floatBytes(root);
  const dim = load<u32>(codes, CODES_DIM);
  for (let axis = from; axis < end; axis++) {
    if (axis == 0) {
      memory.copy(basisAt(codes, rowBytes), meanAt(codes), rowBytes);
      makeOrthogonal(basisAt(codes, rowBytes), 0, rowBytes);
      continue;
    }
    for (let i: u32 = 0; i < dim; i++) {
      let hash = (axis * dim + i + 1) * 0x9e3779b1;
      hash = (hash ^ (hash >> 15)) * 0x85ebca77;
      store<f32>(
        basisAt(codes, rowBytes) + <usize>axis * rowBytes + ((<usize>i) << 2),
        <f32>(<i32>(hash ^ (hash >> 13))) / <f32>0x80000000,
      );
    }
  }
}

/** Multiplies the basis by the rows [from, end) of the covariance. */
export function multiplyBasis(root: usize, from: u32, end: u32): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const rowBytes = floatBytes(root);
  const axes: usize = load<u32>(codes, CODES_LEARNED);
  const basis = basisAt(codes, rowBytes);
  const next = nextAt(codes, rowBytes);
  for (let i = from; i < end; i++) {
    const row = covarianceAt(codes, i, rowBytes);
    for (let axis: usize = 0; axis < axes; axis++)
      store<f32>(next + axis * rowBytes + ((<usize>i) << 2), dot(basis + axis * rowBytes, row, rowBytes));
  }
}

/** Moves the directions [from, end) of the product into the basis, orthogonal to those before them. */
export function orthogonalize(root: usize, from: u32, end: u32): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const rowBytes = floatBytes(root);
  const basis = basisAt(codes, rowBytes);
  for (let axis: usize = max<u32>(from, 1); axis < <usize>end; axis++) {
    memory.copy(basis + axis * rowBytes, nextAt(codes, rowBytes) + axis * rowBytes, rowBytes);
    makeOrthogonal(basis, axis, rowBytes);
  }
}

/**
 * Makes a direction orthogonal to those before it and of unit length, or zero if nothing is left of it (modified
 * Gram-Schmidt).
 */
function makeOrthogonal(basis: usize, axis: usize, rowBytes: usize): void {
  const own = basis + axis * rowBytes;
  const lengthBefore = sqrt<f32>(dot(own, own, rowBytes));
  for (let other = basis; other < own; other += rowBytes) addScaled(own, -dot(own, other, rowBytes), other, rowBytes);
  const length = sqrt<f32>(dot(own, own, rowBytes));
  const scale: f32 = length > lengthBefore * <f32>1e-4 && length > 0 ? <f32>1 / length - <f32>1 : -1;
  addScaled(own, scale, own, rowBytes);
}

/**
 * Writes the variance and the mean of the sample along each of the directions [from, end), two floats each, to the
 * memory at `measuredAt`.
 */
export function measureAxes(root: usize, from: u32, end: u32): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const rowBytes = floatBytes(root);
  for (let axis = from; axis < end; axis++) {
    const own = basisAt(codes, rowBytes) + <usize>axis * rowBytes;
    const measured = measuredAt(root) + ((<usize>axis) << 3);
    store<f32>(measured, varianceAlong(codes, own, rowBytes));
    store<f32>(measured, dot(own, meanAt(codes), rowBytes), 4);
  }
}

/** Address of these measurements. They overwrite the product, after room for one row. */
export function measuredAt(root: usize): usize {
  const rowBytes = floatBytes(root);
  return nextAt(load<u32>(root, ROOT_CODES_NEXT), rowBytes) + rowBytes;
}

/** Writes the components of the slots [from, end) with their units, steps, offsets and variances, by the slot plan. */
export function writeAxes(root: usize, from: u32, end: u32): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const rowBytes = floatBytes(root);
  const wideBytes: usize = load<u32>(codes, CODES_WIDE_BYTES);
  const mean = nextAt(codes, rowBytes);
  scaleToWide(meanAt(codes), mean, load<u32>(codes, CODES_DIM), wideBytes, WIDE_SCALE);
  for (let slot = from; slot < end; slot++) {
    const axis = load<u32>(unitAt(codes, slot));
    const variance = load<f32>(measuredAt(root) + ((<usize>axis) << 3));
    const unit = writeAxis(codes, basisAt(codes, rowBytes) + <usize>axis * rowBytes, slot);
    store<f32>(unitAt(codes, slot), unit);
    store<f32>(stepAt(codes, slot), load<f32>(stepAt(codes, slot)) * sqrt<f32>(variance));
    store<f32>(offsetAt(codes, slot), <f32>wideDot(axisAt(codes, slot), mean, wideBytes) * unit);
    store<f32>(varianceAt(codes, slot), load<u32>(parentAt(codes, slot)) == NONE ? variance : 0);
  }
}

/** Frees the working memory. From now on new rows are encoded with these components too. */
export function finishAxes(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const work: usize = load<u32>(codes, CODES_WORK);
  store<u32>(codes, load<u32>(codes, CODES_LINES) - linesOf(work), CODES_LINES);
  release(work);
  store<u32>(codes, 0, CODES_WORK);
}

/**
 * Writes a direction of unit length as 16-bit numbers. Returns the unit of its slot, the factor from a dot product to a
 * coordinate.
 */
function writeAxis(codes: usize, basis: usize, axis: u32): f32 {
  const dim = load<u32>(codes, CODES_DIM);
  const wide = axisAt(codes, axis);
  memory.fill(wide, 0, load<u32>(codes, CODES_WIDE_BYTES));
  for (let i: u32 = 0; i < dim; i++)
    store<i16>(wide + ((<usize>i) << 1), <i16>nearest<f32>(load<f32>(basis + ((<usize>i) << 2)) * <f32>WIDE_SCALE));
  return <f32>1 / (<f32>WIDE_SCALE * <f32>WIDE_SCALE);
}
