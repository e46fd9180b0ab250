// The naive twin of codes: principal axes by Jacobi rotations in double precision. And what the tests of codes share:
// vectors whose spread falls from axis to axis, as texts' does, and what the codes in memory say of themselves.
import { createPrng } from '../../../src/base/prng.js';
import {
  CODES_AXES_2,
  CODES_AXES_4,
  CODES_FIRST_2,
  CODES_FIRST_4,
  CODES_ROW_BYTES,
  CODES_STEPS,
  CODES_VARIANCE,
  ROOT_CODES,
} from '../../../src/engine/memory/layout.js';
import type { VectorIndex } from '../../../src/engine/hnsw/vector-index.js';
import { randomVector } from './arena.js';

/** The variances along the principal axes of the rows, largest first (cyclic Jacobi). */
export function principalVariances(rows: readonly (readonly number[])[]): number[] {
  const dim = rows[0]!.length;
  const mean = Array.from({ length: dim }, (_, i) => rows.reduce((sum, row) => sum + row[i]!, 0) / rows.length);
  const matrix = mean.map((_, i) =>
    mean.map((_, j) => rows.reduce((sum, row) => sum + (row[i]! - mean[i]!) * (row[j]! - mean[j]!), 0) / rows.length),
  );
  for (let sweep = 0; sweep < 12; sweep++)
    for (let p = 0; p < dim; p++) for (let q = p + 1; q < dim; q++) rotate(matrix, p, q);
  return matrix.map((row, i) => row[i]!).sort((a, b) => b - a);
}

/** Makes the element (p, q) of a symmetric matrix 0. */
function rotate(matrix: number[][], p: number, q: number): void {
  const [app, aqq, apq] = [matrix[p]![p]!, matrix[q]![q]!, matrix[p]![q]!];
  if (Math.abs(apq) < 1e-15) return;
  const angle = 0.5 * Math.atan2(2 * apq, aqq - app);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const turn = (a: number, b: number): [number, number] => [cos * a - sin * b, sin * a + cos * b];
  for (const row of matrix) [row[p], row[q]] = turn(row[p]!, row[q]!);
  for (let i = 0; i < matrix.length; i++) [matrix[p]![i], matrix[q]![i]] = turn(matrix[p]![i]!, matrix[q]![i]!);
}

export function unit(vector: ArrayLike<number>): number[] {
  const length = Math.hypot(...Array.from(vector)) || 1;
  return Array.from(vector, (value) => value / length);
}

export function falling(seed: number, dim: number, count: number): Float32Array[] {
  const prng = createPrng(seed);
  return Array.from({ length: count }, () =>
    randomVector(prng, dim).map((value, i) => value * (i + 3) ** -0.7 + (i === 2 ? 0.5 : 0)),
  );
}

/**
 * The codes in use, as they stand in memory: their bytes, how many axes, and the share of the sample's variance along
 * them. Undefined where there are none.
 */
export function readCodes(
  memory: WebAssembly.Memory,
  { root }: VectorIndex,
): { bytes: number; axes: number; varianceShare: number } | undefined {
  const words = new Uint32Array(memory.buffer);
  const floats = new Float32Array(memory.buffer);
  const codes = words[(root + ROOT_CODES) >>> 2]!;
  if (codes === 0) return undefined;
  const word = (field: number): number => words[(codes + field) >>> 2]!;
  const slots = word(CODES_AXES_4) + word(CODES_AXES_2);
  const from = (word(CODES_STEPS) >>> 2) + 3 * slots;
  const variance = floats.subarray(from, from + slots).reduce((sum, value) => sum + value, 0);
  return {
    bytes: word(CODES_ROW_BYTES),
    axes: word(CODES_FIRST_4) + word(CODES_FIRST_2),
    varianceShare: variance / floats[(codes + CODES_VARIANCE) >>> 2]!,
  };
}

/** Share of the k nearest by an exact scan that a search found, over the queries. */
export function recallOf(index: VectorIndex, queries: readonly Float32Array[], ef?: number): number {
  const k = 10;
  const shares = queries.map((query) => {
    const wanted = new Set(index.search(query, k, { exact: true }).ordinals);
    return (
      index.search(query, k, ef === undefined ? {} : { ef }).ordinals.filter((ordinal) => wanted.has(ordinal)).length /
      wanted.size
    );
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
