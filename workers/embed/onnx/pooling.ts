// How the vectors of a text's tokens become one (sentence-transformers' Pooling), and a vector becomes one of length 1.
// Plain loops over typed arrays, without state. Called by text-vectors.ts; embed workers.
import type { Pooling } from '../../../src/contract/embedder.js';

/**
 * `tokens`: a row of `vector.length` numbers for each token; the first `count` of them are the text's, the rest is
 * padding.
 */
type Pool = (vector: Float32Array, tokens: Float32Array, count: number) => void;

export const POOLS: Readonly<Record<Pooling, Pool>> = {
  mean: (vector, tokens, count) => addScaled(vector, tokens, count, 1 / count),
  mean_sqrt_len: (vector, tokens, count) => addScaled(vector, tokens, count, 1 / Math.sqrt(count)),
  max: (vector, tokens, count) => {
    const dim = vector.length;
    vector.fill(-Infinity);
    for (let at = 0; at < count * dim; at += dim) {
      for (let i = 0; i < dim; i++) vector[i] = Math.max(vector[i]!, tokens[at + i]!);
    }
  },
  cls: (vector, tokens) => vector.set(tokens.subarray(0, vector.length)),
  last_token: (vector, tokens, count) =>
    vector.set(tokens.subarray((count - 1) * vector.length, count * vector.length)),
};

/** Sums in the order of the tokens; the factor comes last, as in the reference. */
function addScaled(vector: Float32Array, tokens: Float32Array, count: number, factor: number): void {
  const dim = vector.length;
  const sum = new Float64Array(dim);
  for (let at = 0; at < count * dim; at += dim) {
    for (let i = 0; i < dim; i++) sum[i]! += tokens[at + i]!;
  }
  for (let i = 0; i < dim; i++) vector[i] = sum[i]! * factor;
}

/**
 * Writes the first `row.length` numbers of `vector`, brought to length 1, to `row`. A vector of zeros stays one, as
 * with the built-in embedder: nothing of its text is known. False where the vector holds what is no number.
 */
export function writeUnit(row: Float32Array, vector: Float32Array): boolean {
  let squares = 0;
  for (let i = 0; i < row.length; i++) squares += vector[i]! * vector[i]!;
  if (!Number.isFinite(squares)) return false;
  const factor = squares > 0 ? 1 / Math.sqrt(squares) : 0;
  for (let i = 0; i < row.length; i++) row[i] = vector[i]! * factor;
  return true;
}
