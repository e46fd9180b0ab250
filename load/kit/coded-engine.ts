// The walk over codes as an engine of the benchmark, on the graph of the index, which stays as it is: the
// codes stand beside it in the same memory. Used by load/vectors.ts.
import type { CodeShape } from '../../workers/shard/codes/coded-index.js';
import type { VectorSet } from '../vector-sets.js';
import { K, type BuiltIndex, type VectorEngine } from './vector-engines.js';
import { cpuMs } from './word-peers.js';

const SETTINGS = [
  [10, 10], [16, 16], [20, 20], [24, 24], [32, 24], [32, 32], [40, 32], [50, 32], [60, 40], [70, 48], [80, 48], [100, 60], [128, 60], [160, 80], [200, 100], [256, 128],
].map(([ef, rerank]) => ({ ef: ef!, rerank: rerank! }));

/** The rate of building is that of the graph, with learning and encoding in it. */
export function codedEngine({ rows, queries, name: set }: VectorSet, { kernel, index, buildRate }: BuiltIndex, shape: CodeShape): VectorEngine {
  const coded = kernel.createCodes(index, shape);
  const startedAt = cpuMs();
  for (const _ of coded.learn());
  const learnedAt = cpuMs();
  for (const _ of coded.encode());
  const codedAt = cpuMs();
  const { axes4, axes2 } = shape;
  const name = `codes ${axes4} x 4 + ${axes2} x 2 bits`;
  console.log(`${name}, ${set}: axes learned in ${Math.round(learnedAt - startedAt)} ms, ${(1000 * (codedAt - learnedAt) / rows.length).toFixed(1)} us to encode a row, ${(100 * coded.varianceShare).toFixed(1)} % of the variance`);
  return {
    name,
    buildRate: rows.length / (rows.length / buildRate + (codedAt - startedAt) / 1000),
    bytesAVector: (index.usedBytes + coded.usedBytes) / rows.length,
    settings: SETTINGS,
    search: (query, { ef, rerank }) => coded.search(queries[query]!, K, { ef, rerank: rerank! }).ordinals,
  };
}
