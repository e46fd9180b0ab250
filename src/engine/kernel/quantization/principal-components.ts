// Learns the principal components of an index from the covariance of a sample of its rows by orthogonal iteration
// (Golub & Van Loan, "Matrix Computations", 8.2.4): the basis is multiplied by the covariance and orthogonalized,
// repeatedly. The result need not be exact, since any basis that covers most of the variance will do. The first
// direction is the mean of the rows and stays fixed. The same rows give the same components. The work is divided into
// slices, between which the owner can do other things. Owner only.
import {
  LINE_BYTES,
  NONE,
  QUANTIZER_DIM,
  QUANTIZER_LEARNED,
  QUANTIZER_LINES,
  QUANTIZER_SAMPLED,
  QUANTIZER_VARIANCE,
  QUANTIZER_WIDE_BYTES,
  QUANTIZER_WORK,
  ROOT_QUANTIZER_NEXT,
  WIDE_SCALE,
} from '../../memory/layout';
import { linesOf, release } from '../memory/arena';
import { hasRow, isLive } from '../memory/row-blocks';
import { addScaled, dot, floatBytes, scaleToWide, toFloats, wideDot } from './distance';
import { addQuantizedBlock, componentAt, offsetAt, parentAt, stepAt, unitAt, varianceAt } from './quantized-vectors';

// The working memory: the mean and the covariance of the sample, room for two bases, and for the rows being added.

/** Allocates the working memory for the quantized vectors under construction. False when memory is full. */
export function beginComponents(root: usize): bool {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const dim: u64 = load<u32>(quantizer, QUANTIZER_DIM);
  const rowBytes: u64 = floatBytes(root);
  store<u32>(
    quantizer,
    <u32>addQuantizedBlock(quantizer, rowBytes * (dim + 4 + 2 * <u64>load<u32>(quantizer, QUANTIZER_LEARNED))),
    QUANTIZER_WORK,
  );
  return load<u32>(quantizer, QUANTIZER_WORK) != 0;
}

/** @inline */
function meanAt(quantizer: usize): usize {
  return load<u32>(quantizer, QUANTIZER_WORK);
}

/** Address of a row of the covariance. Sums are collected only in its upper triangle. @inline */
function covarianceAt(quantizer: usize, i: u32, rowBytes: usize): usize {
  return meanAt(quantizer) + (1 + <usize>i) * rowBytes;
}

/** @inline */
function basisAt(quantizer: usize, rowBytes: usize): usize {
  return covarianceAt(quantizer, load<u32>(quantizer, QUANTIZER_DIM), rowBytes);
}

/** @inline */
function nextAt(quantizer: usize, rowBytes: usize): usize {
  return basisAt(quantizer, rowBytes) + <usize>load<u32>(quantizer, QUANTIZER_LEARNED) * rowBytes;
}

/** Address of room for two rows of the sample and for one row of 16-bit numbers. @inline */
function sampledAt(quantizer: usize, rowBytes: usize): usize {
  return nextAt(quantizer, rowBytes) + <usize>load<u32>(quantizer, QUANTIZER_LEARNED) * rowBytes;
}

/**
 * Adds the live ones of `count` rows, from `from` on in steps of `step`, to the sums of mean and covariance. An odd
 * last row is left out.
 */
export function sampleRows(root: usize, from: u32, count: u32, step: u32): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const rowBytes = floatBytes(root);
  const sampled = sampledAt(quantizer, rowBytes);
  let isSecond = false;
  for (let i: u32 = 0; i < count; i++) {
    const ordinal = from + i * step;
    if (!hasRow(root, ordinal) || !isLive(root, ordinal)) continue;
    toFloats(root, ordinal, sampled + (isSecond ? rowBytes : 0), sampled + 2 * rowBytes + LINE_BYTES);
    if (isSecond) addTwo(quantizer, sampled, sampled + rowBytes, rowBytes);
    isSecond = !isSecond;
  }
}

/**
 * Adds two rows at a time: the covariance is larger than the first caches and is read and written as a whole each time.
 */
function addTwo(quantizer: usize, a: usize, b: usize, rowBytes: usize): void {
  const mean = meanAt(quantizer);
  for (let at: usize = 0; at < rowBytes; at += 16)
    v128.store(mean + at, f32x4.add(v128.load(mean + at), f32x4.add(v128.load(a + at), v128.load(b + at))));
  const dim = load<u32>(quantizer, QUANTIZER_DIM);
  for (let i: u32 = 0; i < dim; i++) {
    const row = covarianceAt(quantizer, i, rowBytes);
    const ai = f32x4.splat(load<f32>(a + ((<usize>i) << 2)));
    const bi = f32x4.splat(load<f32>(b + ((<usize>i) << 2)));
    for (let at = (<usize>(i & ~3)) << 2; at < rowBytes; at += 16) {
      v128.store(
        row + at,
        f32x4.add(v128.load(row + at), f32x4.add(f32x4.mul(ai, v128.load(a + at)), f32x4.mul(bi, v128.load(b + at)))),
      );
    }
  }
  store<u32>(quantizer, load<u32>(quantizer, QUANTIZER_SAMPLED) + 2, QUANTIZER_SAMPLED);
}

/** Divides the sum of the rows by their number. Requires at least two rows in it. */
export function finishMean(root: usize): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const mean = meanAt(quantizer);
  const share: f32 = <f32>1 / <f32>load<u32>(quantizer, QUANTIZER_SAMPLED);
  for (let i: usize = 0; i < <usize>load<u32>(quantizer, QUANTIZER_DIM); i++)
    store<f32>(mean + (i << 2), load<f32>(mean + (i << 2)) * share);
}

/** Computes the rows [from, end) of the covariance from the sums, and the columns that mirror them. */
export function finishCovariance(root: usize, from: u32, end: u32): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const rowBytes = floatBytes(root);
  const dim = load<u32>(quantizer, QUANTIZER_DIM);
  const share: f32 = <f32>1 / <f32>load<u32>(quantizer, QUANTIZER_SAMPLED);
  const mean = meanAt(quantizer);
  for (let i = from; i < end; i++) {
    const row = covarianceAt(quantizer, i, rowBytes);
    const meanI = load<f32>(mean + ((<usize>i) << 2));
    for (let j = i; j < dim; j++) {
      const value = load<f32>(row + ((<usize>j) << 2)) * share - meanI * load<f32>(mean + ((<usize>j) << 2));
      store<f32>(row + ((<usize>j) << 2), value);
      store<f32>(covarianceAt(quantizer, j, rowBytes) + ((<usize>i) << 2), value);
    }
    store<f32>(
      quantizer,
      load<f32>(quantizer, QUANTIZER_VARIANCE) + load<f32>(row + ((<usize>i) << 2)),
      QUANTIZER_VARIANCE,
    );
  }
}

/** The variance of the sample along a direction. */
function varianceAlong(quantizer: usize, direction: usize, rowBytes: usize): f32 {
  const dim = load<u32>(quantizer, QUANTIZER_DIM);
  let sum: f32 = 0;
  for (let i: u32 = 0; i < dim; i++)
    sum += load<f32>(direction + ((<usize>i) << 2)) * dot(direction, covarianceAt(quantizer, i, rowBytes), rowBytes);
  return max<f32>(0, sum);
}

/**
 * Initializes the directions [from, end) of the basis: the first with the mean, the others with noise from a
 * multiplicative hash, so that no direction is favoured or left out.
 */
export function beginBasis(root: usize, from: u32, end: u32): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const rowBytes = floatBytes(root);
  const dim = load<u32>(quantizer, QUANTIZER_DIM);
  for (let component = from; component < end; component++) {
    if (component == 0) {
      memory.copy(basisAt(quantizer, rowBytes), meanAt(quantizer), rowBytes);
      makeOrthogonal(basisAt(quantizer, rowBytes), 0, rowBytes);
      continue;
    }
    for (let i: u32 = 0; i < dim; i++) {
      let hash = (component * dim + i + 1) * 0x9e3779b1;
      hash = (hash ^ (hash >> 15)) * 0x85ebca77;
      store<f32>(
        basisAt(quantizer, rowBytes) + <usize>component * rowBytes + ((<usize>i) << 2),
        <f32>(<i32>(hash ^ (hash >> 13))) / <f32>0x80000000,
      );
    }
  }
}

/** Multiplies the basis by the rows [from, end) of the covariance. */
export function multiplyBasis(root: usize, from: u32, end: u32): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const rowBytes = floatBytes(root);
  const components: usize = load<u32>(quantizer, QUANTIZER_LEARNED);
  const basis = basisAt(quantizer, rowBytes);
  const next = nextAt(quantizer, rowBytes);
  for (let i = from; i < end; i++) {
    const row = covarianceAt(quantizer, i, rowBytes);
    for (let component: usize = 0; component < components; component++)
      store<f32>(next + component * rowBytes + ((<usize>i) << 2), dot(basis + component * rowBytes, row, rowBytes));
  }
}

/** Moves the directions [from, end) of the product into the basis, orthogonal to those before them. */
export function orthogonalize(root: usize, from: u32, end: u32): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const rowBytes = floatBytes(root);
  const basis = basisAt(quantizer, rowBytes);
  for (let component: usize = max<u32>(from, 1); component < <usize>end; component++) {
    memory.copy(basis + component * rowBytes, nextAt(quantizer, rowBytes) + component * rowBytes, rowBytes);
    makeOrthogonal(basis, component, rowBytes);
  }
}

/**
 * Makes a direction orthogonal to those before it and of unit length, or zero if nothing is left of it (modified
 * Gram-Schmidt).
 */
function makeOrthogonal(basis: usize, component: usize, rowBytes: usize): void {
  const own = basis + component * rowBytes;
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
export function measureComponents(root: usize, from: u32, end: u32): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const rowBytes = floatBytes(root);
  for (let component = from; component < end; component++) {
    const own = basisAt(quantizer, rowBytes) + <usize>component * rowBytes;
    const measured = measuredAt(root) + ((<usize>component) << 3);
    store<f32>(measured, varianceAlong(quantizer, own, rowBytes));
    store<f32>(measured, dot(own, meanAt(quantizer), rowBytes), 4);
  }
}

/** Address of these measurements. They overwrite the product, after room for one row. */
export function measuredAt(root: usize): usize {
  const rowBytes = floatBytes(root);
  return nextAt(load<u32>(root, ROOT_QUANTIZER_NEXT), rowBytes) + rowBytes;
}

/** Writes the components of the slots [from, end) with their units, steps, offsets and variances, by the slot plan. */
export function writeComponents(root: usize, from: u32, end: u32): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const rowBytes = floatBytes(root);
  const wideBytes: usize = load<u32>(quantizer, QUANTIZER_WIDE_BYTES);
  const mean = nextAt(quantizer, rowBytes);
  scaleToWide(meanAt(quantizer), mean, load<u32>(quantizer, QUANTIZER_DIM), wideBytes, WIDE_SCALE);
  for (let slot = from; slot < end; slot++) {
    const component = load<u32>(unitAt(quantizer, slot));
    const variance = load<f32>(measuredAt(root) + ((<usize>component) << 3));
    const unit = writeComponent(quantizer, basisAt(quantizer, rowBytes) + <usize>component * rowBytes, slot);
    store<f32>(unitAt(quantizer, slot), unit);
    store<f32>(stepAt(quantizer, slot), load<f32>(stepAt(quantizer, slot)) * sqrt<f32>(variance));
    store<f32>(offsetAt(quantizer, slot), <f32>wideDot(componentAt(quantizer, slot), mean, wideBytes) * unit);
    store<f32>(varianceAt(quantizer, slot), load<u32>(parentAt(quantizer, slot)) == NONE ? variance : 0);
  }
}

/** Frees the working memory. From now on new rows are encoded with these components too. */
export function finishComponents(root: usize): void {
  const quantizer: usize = load<u32>(root, ROOT_QUANTIZER_NEXT);
  const work: usize = load<u32>(quantizer, QUANTIZER_WORK);
  store<u32>(quantizer, load<u32>(quantizer, QUANTIZER_LINES) - linesOf(work), QUANTIZER_LINES);
  release(work);
  store<u32>(quantizer, 0, QUANTIZER_WORK);
}

/**
 * Writes a direction of unit length as 16-bit numbers. Returns the unit of its slot, the factor from a dot product to a
 * coordinate.
 */
function writeComponent(quantizer: usize, basis: usize, component: u32): f32 {
  const dim = load<u32>(quantizer, QUANTIZER_DIM);
  const wide = componentAt(quantizer, component);
  memory.fill(wide, 0, load<u32>(quantizer, QUANTIZER_WIDE_BYTES));
  for (let i: u32 = 0; i < dim; i++)
    store<i16>(wide + ((<usize>i) << 1), <i16>nearest<f32>(load<f32>(basis + ((<usize>i) << 2)) * <f32>WIDE_SCALE));
  return <f32>1 / (<f32>WIDE_SCALE * <f32>WIDE_SCALE);
}
