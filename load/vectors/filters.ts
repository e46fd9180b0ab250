// Filtered vector search in the kernel on one thread: recall@10 against an exact scan, searches per second of CPU time,
// and their ratio to unfiltered searches. Filters match at random, as one cluster near to or far from the queries, and
// as many small clusters.
import { type Prng, createPrng } from '../../src/base/prng.js';
import type { VectorIndex } from '../../src/engine/hnsw/vector-index.js';
import { type LoadOptions, printTable, whole } from '../kit/command.js';
import { dot } from '../kit/cosine.js';
import { createKernel, finishBackgroundWork } from '../kit/kernel.js';
import { ownCpuMs } from '../kit/server-usage.js';
import { VECTOR_DIM, clustered, moreRows, windows } from '../kit/vector-sets.js';

const K = 10;
const SHARES = [0.5, 0.1, 0.045, 0.01, 0.001, 0.0001];
const QUERIES = 200;
/** The best of this many passes counts, because other work may slow the machine. */
const PASSES = 3;
/** Number of filters of each kind; more than one where they differ much. */
const CASES = 4;
const CLUSTERS = 50;
const KINDS = ['random', 'cluster, near queries', 'cluster, far queries', '50 clusters'] as const;
type Kind = (typeof KINDS)[number];

interface FilterCase {
  readonly allowed: Uint32Array;
  readonly queries: readonly Float32Array[];
}

/** 384-dimensional vectors of real text if present. */
export async function filters({ tiny, number }: LoadOptions): Promise<void> {
  const count = number('rows', tiny ? 5000 : 100_000);
  const set = tiny ? clustered(count, 64, 1) : (windows(count) ?? clustered(count, VECTOR_DIM, 1));
  const rows = moreRows(set, count);
  const table = measure(createIndex(rows), rows, set.queries.slice(0, QUERIES));
  printTable(`${set.name}: ${whole(count)} rows, ${K} best, a second of CPU time`, [
    ['filter', 'matching', 'recall@10', 'searches', 'unfiltered', 'ratio'],
    ...table,
  ]);
}

function filterCases(
  index: VectorIndex,
  rows: readonly Float32Array[],
  queries: readonly Float32Array[],
  kind: Kind,
  matches: number,
): FilterCase[] {
  const prng = createPrng(matches);
  const some = Math.ceil(queries.length / CASES);
  return Array.from({ length: CASES }, (_, i) => {
    const mine = queries.slice(i * some, (i + 1) * some);
    if (kind === 'random')
      return { allowed: bitmapOf(rows.length, drawOrdinals(prng, rows.length, matches)), queries: mine };
    if (kind === '50 clusters')
      return { allowed: bitmapOf(rows.length, drawClusters(prng, index, rows, matches)), queries: mine };
    const centre = rows[prng.int(rows.length)] as Float32Array;
    const nearest = [...queries].sort((a, b) => dot(b, centre) - dot(a, centre));
    const chosen = kind === 'cluster, near queries' ? nearest.slice(0, some) : nearest.slice(-some);
    return { allowed: bitmapOf(rows.length, nearestTo(index, centre, matches)), queries: chosen };
  });
}

function drawOrdinals(prng: Prng, rows: number, count: number): Set<number> {
  const drawn = new Set<number>();
  while (drawn.size < count) drawn.add(prng.int(rows));
  return drawn;
}

/** The rows nearest to some centres, which may overlap. */
function drawClusters(prng: Prng, index: VectorIndex, rows: readonly Float32Array[], matches: number): number[] {
  const each = Math.ceil(matches / CLUSTERS);
  return Array.from({ length: Math.ceil(matches / each) }, () =>
    nearestTo(index, rows[prng.int(rows.length)] as Float32Array, each),
  ).flat();
}

const nearestTo = (index: VectorIndex, centre: Float32Array, count: number): number[] => [
  ...index.search(centre, count, { exact: true }).ordinals,
];

function bitmapOf(rows: number, ordinals: Iterable<number>): Uint32Array {
  const bitmap = new Uint32Array(Math.ceil(rows / 32));
  for (const ordinal of ordinals) bitmap[ordinal >>> 5]! |= 1 << (ordinal & 31);
  return bitmap;
}

function createIndex(rows: readonly Float32Array[]): VectorIndex {
  const index = createKernel().createIndex(rows[0]?.length ?? 0);
  rows.forEach((row, ordinal) => index.put(ordinal, row));
  finishBackgroundWork(index);
  return index;
}

/** Searches per second. */
function rateOf(cases: readonly FilterCase[], search: (query: Float32Array, allowed: Uint32Array) => unknown): number {
  const times = Array.from({ length: PASSES }, () => {
    const startedAt = ownCpuMs();
    for (const { queries, allowed } of cases) for (const query of queries) search(query, allowed);
    return ownCpuMs() - startedAt;
  });
  return (cases.reduce((sum, { queries }) => sum + queries.length, 0) / Math.min(...times)) * 1000;
}

function recallOf(index: VectorIndex, cases: readonly FilterCase[]): number {
  let [found, wanted] = [0, 0];
  for (const { queries, allowed } of cases) {
    for (const query of queries) {
      const truth = index.search(query, K, { exact: true }, { allowed }).ordinals;
      found += index.search(query, K, {}, { allowed }).ordinals.filter((ordinal) => truth.includes(ordinal)).length;
      wanted += truth.length;
    }
  }
  return found / wanted;
}

/** The rows of the table, one per kind of filter and share. */
function measure(index: VectorIndex, rows: readonly Float32Array[], queries: readonly Float32Array[]): string[][] {
  const all = [{ queries, allowed: new Uint32Array(Math.ceil(rows.length / 32)).fill(0xffffffff) }];
  index.search(queries[0] as Float32Array, K);
  return KINDS.flatMap((kind) =>
    SHARES.map((share) => {
      const matches = Math.max(1, Math.round(share * rows.length));
      const cases = filterCases(index, rows, queries, kind, matches);
      const unfiltered = rateOf(all, (query) => index.search(query, K));
      const rate = rateOf(cases, (query, allowed) => index.search(query, K, {}, { allowed }));
      return [
        kind,
        `${share * 100} %`,
        recallOf(index, cases).toFixed(4),
        whole(rate),
        whole(unfiltered),
        (rate / unfiltered).toFixed(2),
      ];
    }),
  );
}
