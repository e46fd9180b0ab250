// The true nearest rows of each query: from the file beside the data, or from an exact scan of the index, whose best
// are scored again in full precision. Used by load/vectors.ts.
import { existsSync } from 'node:fs';
import type { VectorIndex } from '../../workers/shard/vector-index.js';
import { readNpy } from '../npy.js';
import type { VectorSet } from '../vector-sets.js';
import { cosine } from './cosine.js';
import { K } from './vector-engines.js';

const NEIGHBORS = '../shared/data/minilm-windows-60k/neighbors.npy';
const NEIGHBORS_ROWS = 60_000;
/** The rounding of rows to 16 bits moves none of the K nearest beyond this rank. */
const DEPTH = 5 * K;

/** For each query the ordinals of its K nearest. */
export function truthOf({ name, rows, queries }: VectorSet, index: VectorIndex): ArrayLike<number>[] {
  if (name === 'minilm-windows-60k' && rows.length === NEIGHBORS_ROWS && existsSync(NEIGHBORS)) {
    const { shape, values } = readNpy(NEIGHBORS);
    const depth = shape[1]!;
    return queries.map((_, i) => values.subarray(i * depth, i * depth + K));
  }
  return queries.map((query) => {
    const near = Array.from(index.search(query, DEPTH, { exact: true }).ordinals);
    const scores = new Map(near.map((ordinal) => [ordinal, cosine(query, rows[ordinal]!)]));
    return near.sort((a, b) => scores.get(b)! - scores.get(a)!).slice(0, K);
  });
}
