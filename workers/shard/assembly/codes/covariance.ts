// The working memory of learning axes (axes.ts): the mean and the covariance of a sample of rows, then room for two
// bases. Filled in steps, so that an owner can do other things between. Owner's thread.
import { LINE_BYTES, ROOT_CODES_NEXT } from '../../layout';
import { CODES_DIM, CODES_LEARNED, CODES_SAMPLED, CODES_VARIANCE, CODES_WORK } from '../../codes/layout';
import { hasRow, isLive } from '../rows';
import { addCodesBlock } from './codes';
import { dot, floatBytes, toFloats } from './floats';

/** Begins to learn the axes of the rows of an index, for new codes. False when memory is full. */
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
export function meanAt(codes: usize): usize {
  return load<u32>(codes, CODES_WORK);
}

/** Row of the covariance, of which the upper triangle is summed up. @inline */
export function covarianceAt(codes: usize, i: u32, rowBytes: usize): usize {
  return meanAt(codes) + (1 + <usize>i) * rowBytes;
}

/** @inline */
export function basisAt(codes: usize, rowBytes: usize): usize {
  return covarianceAt(codes, load<u32>(codes, CODES_DIM), rowBytes);
}

/** @inline */
export function nextAt(codes: usize, rowBytes: usize): usize {
  return basisAt(codes, rowBytes) + <usize>load<u32>(codes, CODES_LEARNED) * rowBytes;
}

/** Room for two rows of the sample, and for one of 16-bit numbers. @inline */
function sampledAt(codes: usize, rowBytes: usize): usize {
  return nextAt(codes, rowBytes) + <usize>load<u32>(codes, CODES_LEARNED) * rowBytes;
}

/** Adds the live ones of `count` rows from `from`, `step` apart, to the sums. */
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

/** Two rows at a time: the covariance is larger than the nearest caches, and is read and written for each. */
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

/** Makes a mean of the sum. Requires two rows in it. */
export function finishMean(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const mean = meanAt(codes);
  const share: f32 = <f32>1 / <f32>load<u32>(codes, CODES_SAMPLED);
  for (let i: usize = 0; i < <usize>load<u32>(codes, CODES_DIM); i++)
    store<f32>(mean + (i << 2), load<f32>(mean + (i << 2)) * share);
}

/** Makes the rows [from, end) of the covariance of the sums, and the columns that mirror them. */
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

/** Variance of the sample along a direction. */
export function varianceAlong(codes: usize, direction: usize, rowBytes: usize): f32 {
  const dim = load<u32>(codes, CODES_DIM);
  let sum: f32 = 0;
  for (let i: u32 = 0; i < dim; i++)
    sum += load<f32>(direction + ((<usize>i) << 2)) * dot(direction, covarianceAt(codes, i, rowBytes), rowBytes);
  return max<f32>(0, sum);
}
