// Throughput of one thread at 1, 2, 4 and 8 partitions of the same vectors: an index each, in a memory of its own; a
// query asks all of them and merges. node dist/load/partitions.js [--rows N] [--tiny]. Says what partitions cost, for
// on the same cores they gain nothing.
import { printTable, readArguments, whole } from './kit/command.js';
import { largestRecall, qpsAt, sweep } from './kit/recall-curve.js';
import { type BuiltIndex, DEFAULT_EF, EFS, K, type VectorEngine, buildIndex, truthOf } from './kit/vector-engine.js';
import { clustered, windows, type VectorSet } from './kit/vector-sets.js';

const PARTITIONS = [1, 2, 4, 8];

const { tiny, number } = readArguments('rows');
const rows = number('rows', 60_000);
const set = (tiny ? undefined : windows(rows)) ?? clustered(tiny ? 1200 : rows, tiny ? 64 : 384, 1);

/** Row i stands in partition i mod count. */
function partitionsOf(count: number): BuiltIndex[] {
  return Array.from({ length: count }, (_, part) => {
    const name = count === 1 ? set.name : `${set.name} ${part} of ${count}`;
    const ofPart: VectorSet = { name, rows: set.rows.filter((_, i) => i % count === part), queries: [] };
    return buildIndex(ofPart, tiny);
  });
}

/** At the default breadth each partition is searched for its share. */
function searchAll(parts: readonly BuiltIndex[], query: Float32Array, ef: number): number[] {
  const hits: { ordinal: number; score: number }[] = [];
  parts.forEach(({ index }, part) => {
    const { ordinals, scores } = index.search(query, K, ef === DEFAULT_EF ? {} : { ef }, { share: 1 / parts.length });
    ordinals.forEach((ordinal, i) => hits.push({ ordinal: ordinal * parts.length + part, score: scores[i]! }));
  });
  return hits
    .sort((a, b) => b.score - a.score)
    .slice(0, K)
    .map(({ ordinal }) => ordinal);
}

let truth: readonly ArrayLike<number>[] = [];
const table = [
  ['partitions', 'QPS by default', 'recall', 'QPS .95', 'QPS .99', 'max recall', 'built/s', 'bytes a vector'],
];
for (const count of PARTITIONS) {
  const parts = partitionsOf(count);
  if (count === 1) truth = truthOf(set, parts[0]!.index);
  const engine: Pick<VectorEngine, 'settings' | 'search'> = {
    settings: EFS.map((ef) => ({ ef })),
    search: (query, { ef }) => searchAll(parts, set.queries[query]!, ef),
  };
  const points = sweep(engine, truth);
  const [byDefault] = sweep({ ...engine, settings: [{ ef: DEFAULT_EF }] }, truth);
  const rate = (recall: number): string => (Number.isNaN(qpsAt(points, recall)) ? '-' : whole(qpsAt(points, recall)));
  const mean = (of: (part: BuiltIndex) => number): number => parts.reduce((sum, part) => sum + of(part), 0) / count;
  const bytes = parts.reduce((sum, { index }) => sum + index.usedBytes, 0) / set.rows.length;
  table.push([
    String(count),
    whole(byDefault!.qps),
    byDefault!.recall.toFixed(4),
    rate(0.95),
    rate(0.99),
    largestRecall(points).toFixed(4),
    whole(mean(({ buildRate }) => buildRate)),
    whole(bytes),
  ]);
}
printTable(
  `${set.name}: ${whole(set.rows.length)} rows, ${set.queries.length} queries, the ${K} nearest, one thread`,
  table,
);
