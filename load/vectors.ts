// Vector search side by side, one thread each, on the same vectors and in one run: recall@10 and rate over ef, the rate at recall
// .95 and .99, rate of building and bytes a vector, by CPU time; and a chart of it. Our index and its exact scan beside
// hnswlib-node. npm run bench:vectors -- [--rows N] [--chart FILE.svg] [--fresh 1] [--tiny]; graphs are kept between runs.
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { readArguments } from './kit/arguments.js';
import { codedEngine } from './kit/coded-engine.js';
import { hnswlibEngine } from './kit/hnswlib-engine.js';
import { chartOf } from './kit/recall-chart.js';
import { largestRecall, qpsAt, sweep, type CurvePoint } from './kit/recall-curve.js';
import { printTable, whole } from './kit/report.js';
import { buildIndex, graphEngine, K, scanEngine, type BuiltIndex, type VectorEngine } from './kit/vector-engines.js';
import { readNpy } from './npy.js';
import { clustered, windows, type VectorSet } from './vector-sets.js';

const NEIGHBORS = '../shared/data/minilm-windows-60k/neighbors.npy';
const WINDOWS = 60_000;
/** A code of one line of memory, and of two. */
const SHAPES = [{ axes4: 64, axes2: 128 }, { axes4: 192, axes2: 0 }];
/** A scan takes milliseconds. */
const SCANNED_QUERIES = 50;

/** The nearest of all rows by the file beside the vectors, or, of fewer rows, by a scan. */
function truthOf({ rows, queries }: VectorSet, { index }: BuiltIndex): ArrayLike<number>[] {
  if (rows.length < WINDOWS || !existsSync(NEIGHBORS)) return queries.map((query) => index.search(query, K, { exact: true }).ordinals);
  const { shape, values } = readNpy(NEIGHBORS);
  const depth = shape[1]!;
  return queries.map((_, i) => values.subarray(i * depth, i * depth + K));
}

function printCurves(curves: readonly { engine: VectorEngine; points: readonly CurvePoint[] }[], title: string): void {
  const peer = curves.find(({ engine }) => engine.name.startsWith('hnswlib'))?.points ?? [];
  const at = (points: readonly CurvePoint[], recall: number): string[] => {
    const [qps, other] = [qpsAt(points, recall), qpsAt(peer, recall)];
    return [Number.isNaN(qps) ? '-' : whole(qps), Number.isNaN(qps / other) ? '-' : (qps / other).toFixed(2)];
  };
  const rows = curves.map(({ engine: { name, buildRate, bytesAVector }, points }) => [
    name, ...at(points, 0.95), ...at(points, 0.99), largestRecall(points).toFixed(4), Number.isNaN(buildRate) ? '-' : whole(buildRate), whole(bytesAVector),
  ]);
  printTable(title, [['', 'QPS .95', 'ratio', 'QPS .99', 'ratio', 'max recall', 'built/s', 'bytes'], ...rows]);
  for (const { engine, points } of curves) {
    console.log(`${engine.name}: ${points.map(({ ef, rerank, recall, qps }) => `${ef}${rerank === undefined ? '' : `/${rerank}`} ${recall.toFixed(4)} ${Math.round(qps)}`).join(' | ')}`);
  }
}

const { tiny, number, text } = readArguments('rows', 'chart', 'fresh');
const rows = number('rows', WINDOWS);
const set = (tiny ? undefined : windows(rows)) ?? clustered(tiny ? 1000 : rows, tiny ? 64 : 384, 1);
const fresh = tiny || number('fresh', 0) > 0;
const built = buildIndex(set, fresh);
const truth = truthOf(set, built);
const engines = [await hnswlibEngine(set, fresh), graphEngine(set, built), ...SHAPES.map((shape) => codedEngine(set, built, shape))].filter((engine) => engine !== undefined);
const scan = scanEngine(set, built);
const curves = engines.map((engine) => ({ engine, points: sweep(engine, truth) }));
curves.push({ engine: scan, points: sweep(scan, truth.slice(0, SCANNED_QUERIES)) });
const title = `${set.name}: ${whole(set.rows.length)} rows, ${set.queries.length} queries, the ${K} nearest, ef (and rows scored again)`;
printCurves(curves, title);
const chart = text('chart') ?? `${tmpdir()}/sheaf-vectors.svg`;
writeFileSync(chart, chartOf(title, curves.map(({ engine, points }) => ({ name: engine.name, points }))));
console.log(`chart: ${chart}`);
