// The first two principal components of vectors, by power iteration without the covariance matrix. A thousand vectors
// of some hundred dimensions take some tens of milliseconds. Pure.
import type { VectorSample } from '../../api/recall.js';

interface Plane {
  /** x and y of each vector, interleaved. */
  readonly points: Float32Array;
  /** Share of the variance that each axis explains. */
  readonly shares: readonly [number, number];
}

const ROUNDS = 40;
const AXES = 2;

/** Projects vectors to a plane. `rows` holds consecutive vectors of `dim` numbers and is centred in place. */
export function principalPlane(rows: Float32Array, dim: number): Plane {
  const length = rows.length / dim;
  const points = new Float32Array(length * AXES);
  const total = centre(rows, dim);
  const found: Float64Array[] = [];
  const shares: [number, number] = [0, 0];
  for (let axis = 0; axis < Math.min(AXES, dim); axis++) {
    const direction = strongest(rows, dim, found);
    found.push(direction);
    let variance = 0;
    for (let i = 0; i < length; i++) {
      const place = dot(rows, i * dim, direction);
      points[i * AXES + axis] = place;
      variance += place * place;
    }
    shares[axis] = total === 0 ? 0 : variance / total;
  }
  return { points, shares };
}

/** Subtracts the mean and returns the sum of squares that remains. */
function centre(rows: Float32Array, dim: number): number {
  const length = rows.length / dim;
  const mean = new Float64Array(dim);
  for (let i = 0; i < rows.length; i++) mean[i % dim] = (mean[i % dim] as number) + (rows[i] as number) / length;
  let total = 0;
  for (let i = 0; i < rows.length; i++) {
    const value = (rows[i] as number) - (mean[i % dim] as number);
    rows[i] = value;
    total += value * value;
  }
  return total;
}

/**
 * The direction of most variance that is orthogonal to the previous ones. The start vector is fixed, so that the
 * picture is reproducible.
 */
function strongest(rows: Float32Array, dim: number, before: readonly Float64Array[]): Float64Array {
  let direction: Float64Array = Float64Array.from({ length: dim }, (_, i) => Math.sin(i + 1 + before.length));
  for (let round = 0; round < ROUNDS; round++) {
    const next = new Float64Array(dim);
    for (let at = 0; at < rows.length; at += dim) {
      const place = dot(rows, at, direction);
      for (let j = 0; j < dim; j++) next[j] = (next[j] as number) + place * (rows[at + j] as number);
    }
    for (const other of before) {
      const along = next.reduce((sum, value, j) => sum + value * (other[j] as number), 0);
      for (let j = 0; j < dim; j++) next[j] = (next[j] as number) - along * (other[j] as number);
    }
    const norm = Math.sqrt(next.reduce((sum, value) => sum + value * value, 0));
    if (norm === 0) return next;
    direction = next.map((value) => value / norm);
  }
  return direction;
}

function dot(rows: Float32Array, at: number, direction: Float64Array): number {
  let sum = 0;
  for (let j = 0; j < direction.length; j++) sum += (rows[at + j] as number) * (direction[j] as number);
  return sum;
}

// Decodes a sample of vectors: base64 to bytes, scaled to unit length. Pure.

/** The vectors as consecutive rows, each of length 1 unless it is zero, because the map shows cosines. */
export function vectorsOf({ vectors, dim }: VectorSample): Float32Array {
  const rows = new Float32Array(vectors.length * dim);
  for (const [i, { components }] of vectors.entries()) {
    const bytes = Int8Array.from(atob(components), (character) => character.charCodeAt(0));
    const norm = Math.sqrt(bytes.reduce((sum, value) => sum + value * value, 0)) || 1;
    for (let j = 0; j < dim; j++) rows[i * dim + j] = (bytes[j] as number) / norm;
  }
  return rows;
}
