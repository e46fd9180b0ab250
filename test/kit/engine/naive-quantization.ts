// The naive version of quantization: principal components by Jacobi rotations in double precision. It also makes
// vectors whose variance falls from component to component, as that of text vectors does, and reads the quantized
// vectors in memory.
import { createPrng } from '../../../src/base/prng.js';
import {
  QUANTIZER_COMPONENTS_2,
  QUANTIZER_COMPONENTS_4,
  QUANTIZER_FIRST_2,
  QUANTIZER_FIRST_4,
  QUANTIZER_ROW_BYTES,
  QUANTIZER_STEPS,
  QUANTIZER_VARIANCE,
  ROOT_QUANTIZER,
} from '../../../src/engine/memory/layout.js';
import type { VectorIndex } from '../../../src/engine/hnsw/vector-index.js';
import { randomVector } from './arena.js';

/** The variances along the principal components of the rows, largest first, by the cyclic Jacobi method. */
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

/** Rotates a symmetric matrix so that its element (p, q) becomes 0. */
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
 * Reads the quantizer in use from memory: the bytes of a quantized vector, the number of components, and their share of
 * the variance of the sample. Undefined where there is none.
 */
export function readQuantizer(
  memory: WebAssembly.Memory,
  { root }: VectorIndex,
): { bytes: number; components: number; varianceShare: number } | undefined {
  const words = new Uint32Array(memory.buffer);
  const floats = new Float32Array(memory.buffer);
  const quantizer = words[(root + ROOT_QUANTIZER) >>> 2]!;
  if (quantizer === 0) return undefined;
  const word = (field: number): number => words[(quantizer + field) >>> 2]!;
  const slots = word(QUANTIZER_COMPONENTS_4) + word(QUANTIZER_COMPONENTS_2);
  const from = (word(QUANTIZER_STEPS) >>> 2) + 3 * slots;
  const variance = floats.subarray(from, from + slots).reduce((sum, value) => sum + value, 0);
  return {
    bytes: word(QUANTIZER_ROW_BYTES),
    components: word(QUANTIZER_FIRST_4) + word(QUANTIZER_FIRST_2),
    varianceShare: variance / floats[(quantizer + QUANTIZER_VARIANCE) >>> 2]!,
  };
}

/** The share of the true k nearest neighbours that the searches find, over all queries. */
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
