// Learns the principal axes of an index from the covariance of a sample: orthogonal iteration (Golub & Van Loan, Matrix Computations,
// 8.2.4): multiply by the covariance, make orthogonal, again. The axes need not be exact: any basis of the space that holds most
// of the variance will do. A round a call, so that an owner can do other things between; the same rows give the same axes.
import { ROOT_ROW_BYTES } from '../../layout';
import { CODES_AXES_4, CODES_DIM, CODES_WIDE_BYTES, CODES_WORK, STEP_2, STEP_4, WIDE_SCALE } from '../../codes/layout';
import { release } from '../arena';
import { dot } from '../distance';
import { axesOf, axisAt, offsetAt, stepAt, unitAt, varianceAt } from './codes';
import { basisAt, covarianceAt, finishCovariance, meanAt, nextAt, varianceAlong } from './covariance';
import { axisDot, widen } from './wide';

/** Ends the sample and makes a first basis: noise by a multiplicative hash, so no direction is favoured, and none left out. */
export function finishSample(codes: usize, root: usize): void {
  finishCovariance(codes, root);
  const rowBytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  const basis = basisAt(codes, rowBytes);
  const dim = load<u32>(codes, CODES_DIM);
  for (let axis: u32 = 0; axis < axesOf(codes); axis++) {
    for (let i: u32 = 0; i < dim; i++) {
      let hash = (axis * dim + i + 1) * 0x9e3779b1;
      hash = (hash ^ (hash >> 15)) * 0x85ebca77;
      store<f32>(basis + <usize>axis * rowBytes + (<usize>i << 2), <f32>(<i32>(hash ^ (hash >> 13))) / <f32>0x80000000);
    }
  }
}

/** One round of the iteration. */
export function improveAxes(codes: usize, root: usize): void {
  const rowBytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  const axes = axesOf(codes);
  const dim = load<u32>(codes, CODES_DIM);
  const basis = basisAt(codes, rowBytes);
  const next = nextAt(codes, rowBytes);
  for (let i: u32 = 0; i < dim; i++) {
    const row = covarianceAt(codes, i, rowBytes);
    for (let axis: usize = 0; axis < <usize>axes; axis++) store<f32>(next + axis * rowBytes + (<usize>i << 2), dot(basis + axis * rowBytes, row, rowBytes));
  }
  memory.copy(basis, next, <usize>axes * rowBytes);
  for (let axis: usize = 0; axis < <usize>axes; axis++) makeOrthogonal(basis, axis, rowBytes);
}

/** Takes from an axis what lies along those before it, and gives it unit length; zero where nothing is left (Gram and Schmidt, modified). */
function makeOrthogonal(basis: usize, axis: usize, rowBytes: usize): void {
  const own = basis + axis * rowBytes;
  const lengthBefore = sqrt<f32>(dot(own, own, rowBytes));
  for (let other = basis; other < own; other += rowBytes) scaleInto(own, f32x4.splat(-dot(own, other, rowBytes)), other, rowBytes);
  const length = sqrt<f32>(dot(own, own, rowBytes));
  const scale: f32 = length > lengthBefore * <f32>1e-4 && length > 0 ? <f32>1 / length - <f32>1 : -1;
  scaleInto(own, f32x4.splat(scale), own, rowBytes);
}

@inline function scaleInto(target: usize, factor: v128, source: usize, bytes: usize): void {
  for (let at: usize = 0; at < bytes; at += 16) v128.store(target + at, f32x4.add(v128.load(target + at), f32x4.mul(factor, v128.load(source + at))));
}

/** Writes axes, units, steps and offsets from the basis and gives the working memory back. */
export function finishAxes(codes: usize, root: usize): void {
  const rowBytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  const wideBytes: usize = load<u32>(codes, CODES_WIDE_BYTES);
  const axes4 = load<u32>(codes, CODES_AXES_4);
  improveAxes(codes, root);
  const mean = nextAt(codes, rowBytes);
  widen(meanAt(codes), mean, load<u32>(codes, CODES_DIM), wideBytes);
  for (let axis: u32 = 0; axis < axesOf(codes); axis++) {
    const own = basisAt(codes, rowBytes) + <usize>axis * rowBytes;
    const variance = varianceAlong(codes, own, rowBytes);
    const unit = writeAxis(codes, own, axis);
    store<f32>(unitAt(codes, axis), unit);
    store<f32>(stepAt(codes, axis), sqrt<f32>(variance) * (axis < axes4 ? <f32>STEP_4 : <f32>STEP_2));
    store<f32>(offsetAt(codes, axis), <f32>axisDot(axisAt(codes, axis), mean, wideBytes) * unit);
    store<f32>(varianceAt(codes, axis), variance);
  }
  release(load<u32>(codes, CODES_WORK));
  store<u32>(codes, 0, CODES_WORK);
}

/** Writes an axis as 8-bit numbers, the largest 127, and answers its unit. */
function writeAxis(codes: usize, basis: usize, axis: u32): f32 {
  const dim = load<u32>(codes, CODES_DIM);
  let most: f32 = 0;
  for (let i: u32 = 0; i < dim; i++) most = max(most, abs<f32>(load<f32>(basis + (<usize>i << 2))));
  const scale: f32 = most > 0 ? <f32>127 / most : 0;
  for (let i: u32 = 0; i < dim; i++) store<i8>(axisAt(codes, axis) + <usize>i, <i8>nearest<f32>(load<f32>(basis + (<usize>i << 2)) * scale));
  return most / (<f32>127 * <f32>WIDE_SCALE);
}
