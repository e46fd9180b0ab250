// The naive twin of codes: principal axes by Jacobi rotations in double precision, levels and scores by the formula. And what the
// tests of codes share.
import type { VectorIndex } from '../../../../workers/shard/vector-index.js';
import type { CodedIndex } from '../../../../workers/shard/codes/coded-index.js';

export function unit(vector: ArrayLike<number>): number[] {
  const length = Math.hypot(...Array.from(vector)) || 1;
  return Array.from(vector, (value) => value / length);
}

/** The variances along the principal axes of the rows, largest first (cyclic Jacobi). */
export function principalVariances(rows: readonly (readonly number[])[]): number[] {
  const dim = rows[0]!.length;
  const mean = Array.from({ length: dim }, (_, i) => rows.reduce((sum, row) => sum + row[i]!, 0) / rows.length);
  const matrix = mean.map((_, i) => mean.map((_, j) => rows.reduce((sum, row) => sum + (row[i]! - mean[i]!) * (row[j]! - mean[j]!), 0) / rows.length));
  for (let sweep = 0; sweep < 12; sweep++) for (let p = 0; p < dim; p++) for (let q = p + 1; q < dim; q++) rotate(matrix, p, q);
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

/** Learns and encodes at once. */
export function fill(coded: CodedIndex): CodedIndex {
  for (const _ of coded.learn());
  for (const _ of coded.encode());
  return coded;
}

/** Share of the k nearest by an exact scan that a search over codes found, over the queries. */
export function recallOf(index: VectorIndex, coded: CodedIndex, queries: readonly Float32Array[], ef: number, rerank: number): number {
  const k = 10;
  const shares = queries.map((query) => {
    const wanted = new Set(index.search(query, k, { exact: true }).ordinals);
    return coded.search(query, k, { ef, rerank }).ordinals.filter((ordinal) => wanted.has(ordinal)).length / wanted.size;
  });
  return shares.reduce((sum, share) => sum + share, 0) / shares.length;
}
