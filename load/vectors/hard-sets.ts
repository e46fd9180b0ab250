// Collections of every shape that comes to mind, seeded: clusters of one size and of many, one that has nearly all rows,
// lines and curves in order, noise without structure, steep and flat spectra, a large mean, sparse rows, duplicates; and
// questions from near, from between, from elsewhere; and filters whose matches lie where the question is, or where it is
// not. Recall@10 of default searches, the mean and the worst question, beside hnswlib-node at ef 64 and 128 and, with
// --python 1, faiss. node dist/load/shapes.js [--shapes N] [--seed N] [--rows N] [--peers 0|1] [--python 0|1] [--tiny]
import { createPrng, type Prng } from '../../src/base/prng.js';
import { ROOT_EF, SCAN_CODES } from '../../src/engine/memory/layout.js';
import type { VectorIndex } from '../../src/engine/hnsw/vector-index.js';
import { printTable, readArguments } from '../kit/command.js';
import { hnswlibEngine, pythonCurves } from '../kit/vector-peers.js';
import { buildIndex, K, unitRow } from '../kit/vector-engine.js';
import type { VectorSet } from '../kit/vector-sets.js';

const { tiny, number } = readArguments('shapes', 'seed', 'rows', 'peers', 'python');
const SHAPES = number('shapes', tiny ? 3 : 100);
const SEED = number('seed', 1);
const ROWS = number('rows', tiny ? 3000 : 20_000);
const QUESTIONS = tiny ? 10 : 40;
const DIMS = [24, 64, 96, 128, 256, 384, 768];
/** Rows of 16-bit numbers tell scores apart that differ by more. */
const TIE = 2e-5;

type Maker = (prng: Prng, rows: number, dim: number) => Float32Array[];
type Asker = (prng: Prng, rows: readonly Float32Array[]) => Float32Array;

const noise = (prng: Prng, dim: number): Float32Array => Float32Array.from({ length: dim }, () => prng.normal());
const times = (vector: Float32Array, factor: number): Float32Array => vector.map((value) => value * factor);
const plus = (a: Float32Array, b: Float32Array): Float32Array => a.map((value, i) => value + b[i]!);
const pick = <T>(prng: Prng, all: readonly T[]): T => all[prng.int(all.length)]!;
const unitNoise = (prng: Prng, dim: number): Float32Array => unitRow(noise(prng, dim));

const around = (prng: Prng, centre: Float32Array, spread: number): Float32Array =>
  plus(centre, times(unitNoise(prng, centre.length), spread));

/** Rows in clusters whose sizes are as `weights`. */
function clusters(prng: Prng, rows: number, dim: number, weights: readonly number[], spread: number): Float32Array[] {
  const centres = weights.map(() => unitNoise(prng, dim));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return Array.from({ length: rows }, () => {
    let at = prng.next() * total;
    const place = weights.findIndex((weight) => (at -= weight) < 0);
    return around(prng, centres[Math.max(0, place)]!, spread);
  });
}

const MAKERS: Readonly<Record<string, Maker>> = {
  'one cluster with 99 %': (prng, rows, dim) => {
    const centre = unitNoise(prng, dim);
    const spread = 10 ** -(1 + 2 * prng.next());
    return Array.from({ length: rows }, () =>
      prng.next() < 0.99 ? around(prng, centre, spread) : unitNoise(prng, dim),
    );
  },
  'a line in order': (prng, rows, dim) => {
    const [from, to] = [unitNoise(prng, dim), unitNoise(prng, dim)];
    return Array.from({ length: rows }, (_, i) =>
      around(prng, plus(times(from, 1 - i / rows), times(to, i / rows)), 0.001 + 0.01 * prng.next()),
    );
  },
  'a curve in order': (prng, rows, dim) => {
    const points = Array.from({ length: 12 }, () => unitNoise(prng, dim));
    return Array.from({ length: rows }, (_, i) => {
      const at = (i / rows) * (points.length - 1);
      const share = at - Math.floor(at);
      return around(
        prng,
        plus(times(points[Math.floor(at)]!, 1 - share), times(points[Math.floor(at) + 1]!, share)),
        0.02,
      );
    });
  },
  'clusters in order': (prng, rows, dim) => {
    const centres = Array.from({ length: 50 }, () => unitNoise(prng, dim));
    return Array.from({ length: rows }, (_, i) => around(prng, centres[Math.floor((i / rows) * 50)]!, 0.1));
  },
  'clusters of many sizes': (prng, rows, dim) =>
    clusters(
      prng,
      rows,
      dim,
      Array.from({ length: 300 }, (_, i) => 1 / (i + 1)),
      0.05 + 0.6 * prng.next(),
    ),
  'tight clusters': (prng, rows, dim) =>
    clusters(
      prng,
      rows,
      dim,
      Array.from({ length: 200 }, () => 1),
      0.01,
    ),
  'loose clusters': (prng, rows, dim) =>
    clusters(
      prng,
      rows,
      dim,
      Array.from({ length: 40 }, () => 1),
      0.9,
    ),
  noise: (prng, rows, dim) => Array.from({ length: rows }, () => noise(prng, dim)),
  'a steep spectrum': (prng, rows, dim) => spectrum(prng, rows, dim, 1.2),
  'a falling spectrum': (prng, rows, dim) => spectrum(prng, rows, dim, 0.5),
  'a large mean': (prng, rows, dim) => {
    const mean = times(unitNoise(prng, dim), 2 + 4 * prng.next());
    return spectrum(prng, rows, dim, 0.5).map((row) => plus(unitRow(row), mean));
  },
  'sparse rows': (prng, rows, dim) =>
    Array.from({ length: rows }, () => {
      const row = new Float32Array(dim);
      for (let i = 0; i < 5; i++) row[Math.floor(dim * prng.next() ** 3)] = 1 + prng.next();
      return row;
    }),
  'half of them the same ten': (prng, rows, dim) => {
    const same = Array.from({ length: 10 }, () => noise(prng, dim));
    const others = clusters(
      prng,
      rows,
      dim,
      Array.from({ length: 60 }, () => 1),
      0.5,
    );
    return others.map((row) => (prng.next() < 0.5 ? pick(prng, same) : row));
  },
  'two far halves': (prng, rows, dim) => {
    const centre = unitNoise(prng, dim);
    return Array.from({ length: rows }, () => around(prng, times(centre, prng.next() < 0.5 ? 1 : -1), 0.3));
  },
};

/** Variances that fall by a power of the axis' number, along random axes. */
function spectrum(prng: Prng, rows: number, dim: number, power: number): Float32Array[] {
  const factors = Array.from({ length: dim }, (_, i) => (i + 1) ** -power);
  return Array.from({ length: rows }, () => noise(prng, dim).map((value, i) => value * factors[i]!));
}

const ASKERS: Readonly<Record<string, Asker>> = {
  near: (prng, rows) => around(prng, unitRow(pick(prng, rows)), 0.3),
  between: (prng, rows) => plus(unitRow(pick(prng, rows)), unitRow(pick(prng, rows))),
  elsewhere: (prng, rows) => unitNoise(prng, rows[0]!.length),
};

/** Which rows a filter admits for a question: `share` of all, at random, or those farthest from it or nearest to it. */
const FILTERS: readonly { readonly share: number; readonly kind: 'random' | 'far' | 'near' }[] = [
  { share: 0.9, kind: 'far' },
  { share: 0.75, kind: 'far' },
  { share: 0.5, kind: 'far' },
  { share: 0.5, kind: 'random' },
  { share: 0.5, kind: 'near' },
  { share: 0.2, kind: 'far' },
  { share: 0.2, kind: 'random' },
];

function scoresOf(rows: readonly Float32Array[], query: Float32Array): Float64Array {
  const unit = unitRow(query);
  return Float64Array.from(rows, (row) => {
    let sum = 0;
    for (let i = 0; i < unit.length; i++) sum += row[i]! * unit[i]!;
    return sum;
  });
}

/** The share of the K nearest that were found; as near as the last of them is near enough. */
function recallOf(scores: Float64Array, admitted: readonly number[] | undefined, found: ArrayLike<number>): number {
  const all = admitted ? Float64Array.from(admitted, (row) => scores[row]!) : scores.slice();
  const kth = all.sort()[Math.max(0, all.length - K)]!;
  const good = Array.from(found).filter((row) => scores[row]! >= kth - TIE).length;
  return Math.min(1, good / Math.min(K, all.length));
}

const meanOf = (shares: readonly number[]): string => (shares.reduce((a, b) => a + b, 0) / shares.length).toFixed(3);
const worstOf = (shares: readonly number[]): string => Math.min(...shares).toFixed(1);

function filteredRecalls(
  prng: Prng,
  index: VectorIndex,
  rows: readonly Float32Array[],
  queries: readonly Float32Array[],
): number[] {
  return queries.slice(0, QUESTIONS >> 1).map((query, i) => {
    const { share, kind } = FILTERS[i % FILTERS.length]!;
    const scores = scoresOf(rows, query);
    const order = Array.from(scores.keys()).sort((a, b) => scores[b]! - scores[a]!);
    const count = Math.floor(share * rows.length);
    const admitted =
      kind === 'random'
        ? order.filter(() => prng.next() < share)
        : kind === 'near'
          ? order.slice(0, count)
          : order.slice(rows.length - count);
    const allowed = new Uint32Array(Math.ceil(rows.length / 32));
    for (const row of admitted) allowed[row >>> 5]! |= 1 << (row & 31);
    return recallOf(scores, admitted, index.search(query, K, {}, { allowed }).ordinals);
  });
}

const table: string[][] = [];
const totals: Record<string, number[]> = {};
for (let shape = 0; shape < SHAPES; shape++) {
  const prng = createPrng(SEED * 1000 + shape);
  const names = Object.keys(MAKERS);
  const name = names[shape % names.length]!;
  const dim = pick(prng, DIMS);
  const rows = MAKERS[name]!(prng, Math.floor(ROWS * (0.3 + 0.7 * prng.next())), dim).map(unitRow);
  const askers = Object.values(ASKERS);
  const queries = Array.from({ length: QUESTIONS }, (_, i) => askers[i % askers.length]!(prng, rows));
  const set: VectorSet = { name: `shape-${SEED}-${shape}`, rows, queries };
  const { index } = buildIndex(set, true);
  const scores = queries.map((query) => scoresOf(rows, query));
  const of = (search: (query: Float32Array, i: number) => ArrayLike<number>): number[] =>
    queries.map((query, i) => recallOf(scores[i]!, undefined, search(query, i)));
  const findings: Record<string, number[]> = {
    default: of((query) => index.search(query, K).ordinals),
    filtered: filteredRecalls(prng, index, rows, queries),
  };
  if (number('peers', 1) > 0) {
    const peer = await hnswlibEngine(set, true);
    for (const ef of peer ? [64, 128] : []) findings[`hnswlib ${ef}`] = of((_, i) => peer!.search(i, { ef }));
  }
  if (number('python', 0) > 0) {
    const truth = scores.map((all) =>
      Array.from(all.keys())
        .sort((a, b) => all[b]! - all[a]!)
        .slice(0, K),
    );
    const [faiss] = pythonCurves(set, truth, ['faiss']);
    const point = faiss?.points.find(({ ef }) => ef === 64);
    if (point) findings['faiss 64, mean'] = [point.recall];
  }
  const ef = index['instance'].word(index.root + ROOT_EF);
  table.push([
    name,
    `${rows.length} × ${dim}`,
    ef === SCAN_CODES ? 'codes' : String(ef),
    ...Object.values(findings).map((shares) => `${meanOf(shares)} ${worstOf(shares)}`),
  ]);
  console.log(table.at(-1)!.join(' | '));
  for (const [key, shares] of Object.entries(findings)) (totals[key] ??= []).push(...shares);
}
table.push(['all', '', '', ...Object.values(totals).map((shares) => `${meanOf(shares)} ${worstOf(shares)}`)]);
printTable('recall@10: the mean and the worst question', [['shape', 'rows', 'ef', ...Object.keys(totals)], ...table]);
for (const [key, shares] of Object.entries(totals))
  console.log(
    `${key}: ${shares.filter((share) => share < 0.5).length} of ${shares.length} questions find less than half`,
  );
