// More vectors than a set has: its own, and beyond their number the same again with noise. Used by the programs that
// measure the kernel at a hundred thousand rows.
import { createPrng } from '../../src/base/prng.js';
import type { VectorSet } from '../vector-sets.js';

/** Length of the noise in a row that is made from a real one. */
const NOISE = 0.3;

export function moreRows({ rows }: VectorSet, count: number): Float32Array[] {
  const prng = createPrng(1);
  return Array.from({ length: count }, (_, i) => {
    const row = rows[i % rows.length] as Float32Array;
    const scale = (NOISE * Math.hypot(...row)) / Math.sqrt(row.length);
    return i < rows.length ? row : row.map((value) => value + scale * prng.normal());
  });
}
