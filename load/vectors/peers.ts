// Vector search on one thread without a server: recall@10 and rate over ef of the index, compared with other libraries
// and with its exact scan, and the cost of partitions. Rates are by CPU time.
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { VectorIndex } from '../../src/engine/hnsw/vector-index.js';
import { recallChart } from '../kit/charts.js';
import { type LoadOptions, printTable, whole } from '../kit/command.js';
import { REAL_SETS } from '../kit/embedded-sets.js';
import { createKernel, finishBackgroundWork } from '../kit/kernel.js';
import { type Curve, largestRecall, measureCurves, qpsAt, sweep } from '../kit/recall-curve.js';
import {
  type BuiltIndex,
  DEFAULT_EF,
  EFS,
  K,
  type VectorEngine,
  buildIndex,
  graphEngine,
  scanEngine,
  truthOf,
} from '../kit/vector-engine.js';
import { PYTHON_PEERS, hnswlibEngine, hnswlibWasmEngine, pythonCurves, usearchEngine } from '../kit/vector-peers.js';
import { VECTOR_DIM, clustered, cranfield, cranfieldChunks, windows, type VectorSet } from '../kit/vector-sets.js';

const WINDOWS_ROWS = 60_000;
const CLUSTERED_ROWS = 100_000;
/** Number of queries of an exact scan, which takes milliseconds for each. */
const SCANNED_QUERIES = 50;
/** hnswlib-wasm builds 300 rows and answers 300 queries per second: for larger sets it is measured only when named. */
const HNSWLIB_WASM_ROWS_MAX = 10_000;
/** At most this many queries are used; `vectors worst` uses all. */
const QUERIES_MAX = 1000;
/** The engine that the ratio columns refer to. */
const BASE = 'hnswlib-node';

/** Engines take turns on each set; charts go to a folder. Graphs are cached between runs. */
export async function peers(options: LoadOptions): Promise<void> {
  const { tiny, number, text } = options;
  const sets: Readonly<Record<string, () => VectorSet | undefined | Promise<VectorSet | undefined>>> = {
    windows: () => windows(number('rows', WINDOWS_ROWS)),
    cranfield,
    ...REAL_SETS,
    clustered: () => clustered(number('rows', CLUSTERED_ROWS), VECTOR_DIM, 1),
    ...(tiny && { tiny: () => clustered(1000, 64, 1) }),
  };
  for (const name of tiny ? ['tiny'] : (text('sets')?.split(',') ?? Object.keys(sets))) {
    const read = sets[name];
    if (!read) throw new TypeError(`--sets takes ${Object.keys(sets).join(', ')}`);
    const all = await read();
    if (!all) {
      console.log(`skipped: ${name} is not there`);
      continue;
    }
    const set = { ...all, queries: all.queries.slice(0, number('queries', QUERIES_MAX)) };
    const title = `${set.name}: ${whole(set.rows.length)} rows, ${set.queries.length} queries, the ${K} nearest`;
    const curves = await curvesOf(set, text('peers')?.split(','), tiny || number('fresh', 0) > 0);
    printCurves(curves, title);
    const folder = text('charts') ?? tmpdir();
    mkdirSync(folder, { recursive: true });
    const chart = `${folder}/sheaf-vectors-${set.name.replaceAll(/[^\w]+/g, '-')}.svg`;
    writeFileSync(chart, recallChart(title, curves));
    console.log(`chart: ${chart}`);
  }
}

async function curvesOf(set: VectorSet, named: readonly string[] | undefined, fresh: boolean): Promise<Curve[]> {
  const wants = (peer: string): boolean => named?.includes(peer) ?? true;
  const built = buildIndex(set, fresh);
  const truth = truthOf(set, built.index);
  const engines: (VectorEngine | undefined)[] = [
    wants(BASE) ? await hnswlibEngine(set, fresh) : undefined,
    graphEngine(set, built),
    wants('int8') ? graphEngine(set, buildIndex(set, fresh, 'int8')) : undefined,
    wants('usearch') ? await usearchEngine(set, fresh) : undefined,
    isWasmWanted(set, named) ? await hnswlibWasmEngine(set) : undefined,
  ];
  const curves = measureCurves(
    engines.filter((engine) => engine !== undefined),
    truth,
  );
  curves.push(...pythonCurves(set, truth, PYTHON_PEERS.filter(wants)));
  if (wants('scan')) curves.push(...measureCurves([scanEngine(set, built)], truth.slice(0, SCANNED_QUERIES)));
  return curves;
}

function isWasmWanted({ rows }: VectorSet, named: readonly string[] | undefined): boolean {
  const isWanted = named?.includes('hnswlib-wasm') ?? rows.length <= HNSWLIB_WASM_ROWS_MAX;
  if (!isWanted && !named)
    console.log(
      `skipped: hnswlib-wasm (it takes minutes with ${whole(rows.length)} rows; --peers hnswlib-wasm has it)`,
    );
  return isWanted;
}

function printCurves(curves: readonly Curve[], title: string): void {
  const base = curves.find(({ name }) => name.startsWith(BASE))?.points ?? [];
  const at = ({ points }: Curve, recall: number): string[] => {
    const [qps, other] = [qpsAt(points, recall), qpsAt(base, recall)];
    return [orDash(qps), Number.isNaN(qps / other) ? '-' : (qps / other).toFixed(2)];
  };
  const rows = curves.map((curve) => {
    const { name, buildRate, bytesAVector, points } = curve;
    return [
      name,
      ...at(curve, 0.95),
      ...at(curve, 0.99),
      largestRecall(points).toFixed(4),
      orDash(buildRate),
      bytesAVector === 0 ? '-' : whole(bytesAVector),
    ];
  });
  printTable(title, [['', 'QPS .95', 'ratio', 'QPS .99', 'ratio', 'max recall', 'built/s', 'bytes'], ...rows]);
  for (const { name, points } of curves.filter((curve) => curve.points.length > 1)) {
    console.log(
      `${name}: ${points.map(({ ef, recall, qps }) => `${ef === DEFAULT_EF ? 'default' : ef} ${recall.toFixed(4)} ${Math.round(qps)}`).join(' | ')}`,
    );
  }
}

const orDash = (rate: number): string => (Number.isNaN(rate) ? '-' : whole(rate));

const EF_VALUES = [16, 32, 64, 128, 256, 512];
/** Each time is the best of this many passes over the queries, because other work may slow the machine. */
const PASSES = 3;

interface Answers {
  readonly ordinals: readonly Uint32Array[];
  readonly queryUs: number;
}

/** Graph search against exact scan: recall@10 and time per query at several values of ef, and the build rate. */
export async function recall({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', 20_000);
  const sets = tiny ? [clustered(600, 64, 1)] : [cranfieldChunks(), cranfield(), windows(rows)];
  const present = sets.filter((set) => set !== undefined);
  if (present.length === 0) present.push(clustered(rows, VECTOR_DIM, 1));
  for (const set of present) compareWithScan(set);
}

function compareWithScan(set: VectorSet): void {
  const dim = set.rows[0]?.length ?? 0;
  const index = createKernel().createIndex(dim, { graphMin: 1 });
  const putS = secondsOf(() => set.rows.forEach((row, ordinal) => index.put(ordinal, row)));
  const truth = answersTo(set.queries, (query) => index.search(query, K, { exact: true }).ordinals);
  const indexS = secondsOf(() => finishBackgroundWork(index));
  const rows = set.rows.length;
  console.log(`\n${set.name}: ${rows} rows of ${dim}, ${set.queries.length} queries, k ${K}`);
  console.log(
    `put ${Math.round(rows / putS)} rows/s, link ${Math.round(rows / indexS)} rows/s, ${Math.round(index.usedBytes / rows)} bytes a row`,
  );
  printEfs(index, set, truth);
}

/**
 * Prints a table with a row for each ef. Its last column is how many rows a scan scores in the time of the graph
 * search, divided by ef.
 */
function printEfs(index: VectorIndex, { rows, queries }: VectorSet, truth: Answers): void {
  console.log('  ef     recall@10   us a query   scanned rows per ef');
  console.log(`exact    1.0000     ${truth.queryUs.toFixed(1).padStart(10)}`);
  const scanRowUs = truth.queryUs / rows.length;
  for (const ef of EF_VALUES) {
    const found = answersTo(queries, (query) => index.search(query, K, { ef }).ordinals);
    const rowsPerEf = found.queryUs / scanRowUs / ef;
    console.log(
      `${String(ef).padEnd(5)}    ${shareFound(truth, found).toFixed(4)}     ${found.queryUs.toFixed(1).padStart(10)}   ${rowsPerEf.toFixed(0).padStart(19)}`,
    );
  }
}

function answersTo(queries: VectorSet['queries'], search: (query: Float32Array) => Uint32Array): Answers {
  let ordinals: Uint32Array[] = [];
  const times = Array.from({ length: PASSES }, () => secondsOf(() => (ordinals = queries.map(search))));
  return { ordinals, queryUs: (Math.min(...times) / queries.length) * 1e6 };
}

function secondsOf(work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) / 1000;
}

function shareFound(truth: Answers, found: Answers): number {
  const hits = truth.ordinals.map(
    (wanted, i) => found.ordinals[i]?.filter((ordinal) => wanted.includes(ordinal)).length ?? 0,
  );
  return hits.reduce((sum, count) => sum + count, 0) / truth.ordinals.reduce((sum, wanted) => sum + wanted.length, 0);
}

const PARTITIONS = [1, 2, 4, 8];

/**
 * Throughput of one thread if the same vectors are split into partitions, each an index in its own memory; a query
 * searches all and merges. It shows the cost of partitions, which on the same cores gain nothing.
 */
export async function partitions({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', WINDOWS_ROWS);
  const set = (tiny ? undefined : windows(rows)) ?? clustered(tiny ? 1200 : rows, tiny ? 64 : VECTOR_DIM, 1);
  let truth: readonly ArrayLike<number>[] = [];
  const table = [
    ['partitions', 'QPS by default', 'recall', 'QPS .95', 'QPS .99', 'max recall', 'built/s', 'bytes a vector'],
  ];
  for (const count of PARTITIONS) {
    const built = partitionsOf(set, count, tiny);
    if (count === 1) truth = truthOf(set, built[0]!.index);
    table.push(rowOf(built, set, truth));
  }
  printTable(
    `${set.name}: ${whole(set.rows.length)} rows, ${set.queries.length} queries, the ${K} nearest, one thread`,
    table,
  );
}

/** Partitions of the set: row i is in partition i mod count. */
function partitionsOf(set: VectorSet, count: number, fresh: boolean): BuiltIndex[] {
  return Array.from({ length: count }, (_, partition) => {
    const name = count === 1 ? set.name : `${set.name} ${partition} of ${count}`;
    const ofPartition: VectorSet = { name, rows: set.rows.filter((_, i) => i % count === partition), queries: [] };
    return buildIndex(ofPartition, fresh);
  });
}

function rowOf(built: readonly BuiltIndex[], set: VectorSet, truth: readonly ArrayLike<number>[]): string[] {
  const engine: Pick<VectorEngine, 'settings' | 'search'> = {
    settings: EFS.map((ef) => ({ ef })),
    search: (query, { ef }) => searchAll(built, set.queries[query]!, ef),
  };
  const points = sweep(engine, truth);
  const [byDefault] = sweep({ ...engine, settings: [{ ef: DEFAULT_EF }] }, truth);
  const sum = (of: (partition: BuiltIndex) => number): number =>
    built.reduce((total, partition) => total + of(partition), 0);
  return [
    String(built.length),
    whole(byDefault!.qps),
    byDefault!.recall.toFixed(4),
    orDash(qpsAt(points, 0.95)),
    orDash(qpsAt(points, 0.99)),
    largestRecall(points).toFixed(4),
    whole(sum(({ buildRate }) => buildRate) / built.length),
    whole(sum(({ index }) => index.usedBytes) / set.rows.length),
  ];
}

/** Searches all partitions and merges. At the default `ef` each partition is searched for its share of the hits. */
function searchAll(built: readonly BuiltIndex[], query: Float32Array, ef: number): number[] {
  const hits: { ordinal: number; score: number }[] = [];
  built.forEach(({ index }, partitionIndex) => {
    const { ordinals, scores } = index.search(query, K, ef === DEFAULT_EF ? {} : { ef }, { share: 1 / built.length });
    ordinals.forEach((ordinal, i) =>
      hits.push({ ordinal: ordinal * built.length + partitionIndex, score: scores[i]! }),
    );
  });
  return hits
    .sort((a, b) => b.score - a.score)
    .slice(0, K)
    .map(({ ordinal }) => ordinal);
}
