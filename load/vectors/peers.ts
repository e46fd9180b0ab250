// Vector search side by side, one thread each, on the same vectors and in one run: recall@10 and rate over ef, the rate
// at recall .95 and .99, rate of building and bytes a vector, by CPU time; and a chart of it. Our index and its exact
// scan beside native ones. npm run bench:vectors -- [--sets a,b] [--peers a,b] [--rows N] [--charts FOLDER] [--fresh 1]
// [--queries N] [--tiny]; graphs are kept between runs.
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { printTable, readArguments, whole } from '../kit/command.js';
import { EMBEDDED_SETS } from '../kit/embedded-sets.js';
import { PYTHON_PEERS, hnswlibEngine, hnswlibWasmEngine, pythonCurves, usearchEngine } from '../kit/vector-peers.js';
import { chartOf } from '../kit/charts.js';
import { largestRecall, measureCurves, qpsAt, type Curve } from '../kit/recall-curve.js';
import { DEFAULT_EF, K, type VectorEngine, buildIndex, graphEngine, scanEngine, truthOf } from '../kit/vector-engine.js';
import {
  clustered,
  cranfield,
  cranfieldChunks,
  glove,
  mnist,
  sift,
  windows,
  type VectorSet,
} from '../kit/vector-sets.js';

const WINDOWS_ROWS = 60_000;
const CLUSTERED_ROWS = 100_000;
/** A scan takes milliseconds. */
const SCANNED_QUERIES = 50;
/** It builds 300 rows a second and answers 300 queries: beyond so many rows it is measured only when it is named. */
const HNSWLIB_WASM_ROWS_MAX = 10_000;
/** Of sets with more the first are asked; load/worst-queries.ts asks all. */
const QUERIES_MAX = 1000;
/** Its rates stand in the columns of ratios. */
const BASE = 'hnswlib-node';

const { tiny, number, text } = readArguments('sets', 'peers', 'rows', 'charts', 'fresh', 'queries');
const fresh = tiny || number('fresh', 0) > 0;
const named = text('peers')?.split(',');
const wants = (peer: string): boolean => named?.includes(peer) ?? true;

const SETS: Readonly<Record<string, () => VectorSet | undefined | Promise<VectorSet | undefined>>> = {
  windows: () => windows(number('rows', WINDOWS_ROWS)),
  cranfield,
  chunks: cranfieldChunks,
  glove,
  sift,
  mnist,
  clustered: () => clustered(number('rows', CLUSTERED_ROWS), 384, 1),
  ...EMBEDDED_SETS,
};

async function curvesOf(set: VectorSet): Promise<Curve[]> {
  const built = buildIndex(set, fresh);
  const truth = truthOf(set, built.index);
  const engines: (VectorEngine | undefined)[] = [
    wants(BASE) ? await hnswlibEngine(set, fresh) : undefined,
    graphEngine(set, built),
    wants('int8') ? graphEngine(set, buildIndex(set, fresh, 'int8')) : undefined,
    wants('usearch') ? await usearchEngine(set, fresh) : undefined,
    isWasmWanted(set) ? await hnswlibWasmEngine(set) : undefined,
  ];
  const curves = measureCurves(
    engines.filter((engine) => engine !== undefined),
    truth,
  );
  curves.push(...pythonCurves(set, truth, PYTHON_PEERS.filter(wants)));
  if (wants('scan')) curves.push(...measureCurves([scanEngine(set, built)], truth.slice(0, SCANNED_QUERIES)));
  return curves;
}

function isWasmWanted({ rows }: VectorSet): boolean {
  const isWanted = named?.includes('hnswlib-wasm') ?? rows.length <= HNSWLIB_WASM_ROWS_MAX;
  if (!isWanted && !named)
    console.log(
      `skipped: hnswlib-wasm (it takes minutes with ${whole(rows.length)} rows; --peers hnswlib-wasm has it)`,
    );
  return isWanted;
}

function print(curves: readonly Curve[], title: string): void {
  const base = curves.find(({ name }) => name.startsWith(BASE))?.points ?? [];
  const at = ({ points }: Curve, recall: number): string[] => {
    const [qps, other] = [qpsAt(points, recall), qpsAt(base, recall)];
    return [Number.isNaN(qps) ? '-' : whole(qps), Number.isNaN(qps / other) ? '-' : (qps / other).toFixed(2)];
  };
  const rows = curves.map((curve) => {
    const { name, buildRate, bytesAVector, points } = curve;
    return [
      name,
      ...at(curve, 0.95),
      ...at(curve, 0.99),
      largestRecall(points).toFixed(4),
      Number.isNaN(buildRate) ? '-' : whole(buildRate),
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

for (const name of tiny ? ['tiny'] : (text('sets')?.split(',') ?? Object.keys(SETS))) {
  const read = tiny ? () => clustered(1000, 64, 1) : SETS[name];
  if (!read) throw new TypeError(`--sets takes ${Object.keys(SETS).join(', ')}`);
  const all = await read();
  if (!all) {
    console.log(`skipped: ${name} is not there`);
    continue;
  }
  const set = { ...all, queries: all.queries.slice(0, number('queries', QUERIES_MAX)) };
  const title = `${set.name}: ${whole(set.rows.length)} rows, ${set.queries.length} queries, the ${K} nearest`;
  const curves = await curvesOf(set);
  print(curves, title);
  const folder = text('charts') ?? tmpdir();
  mkdirSync(folder, { recursive: true });
  const chart = `${folder}/sheaf-vectors-${set.name.replaceAll(/[^\w]+/g, '-')}.svg`;
  writeFileSync(chart, chartOf(title, curves));
  console.log(`chart: ${chart}`);
}
