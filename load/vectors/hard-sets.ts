// Difficult sets for a graph, and the worst queries: recall@10 of default searches on sets of many shapes, and over all
// queries of real sets, the mean and the worst.
import { createHash } from 'node:crypto';
import { createPrng, type Prng } from '../../src/base/prng.js';
import type { VectorIndex } from '../../src/engine/hnsw/vector-index.js';
import { ROOT_EF, ROOT_TRUSTED, ROOT_TRUSTED_BROAD, SCAN_QUANTIZED } from '../../src/engine/memory/layout.js';
import { type LoadOptions, printTable } from '../kit/command.js';
import { dot } from '../kit/cosine.js';
import { REAL_SETS } from '../kit/embedded-sets.js';
import { ownCpuMs } from '../kit/server-usage.js';
import { buildIndex, cacheBuild, cachedBuild, K, unitRow } from '../kit/vector-engine.js';
import { hnswlibEngine, pythonCurves } from '../kit/vector-peers.js';
import { clustered, windows, type VectorSet } from '../kit/vector-sets.js';

const DIMS = [24, 64, 96, 128, 256, 384, 768];
/** Scores that differ by less are equal to rows of 16-bit numbers. */
const NEARLY = 2e-5;

type Maker = (prng: Prng, rows: number, dim: number) => Float32Array[];
type Asker = (prng: Prng, rows: readonly Float32Array[]) => Float32Array;

const noise = (prng: Prng, dim: number): Float32Array => Float32Array.from({ length: dim }, () => prng.normal());
const times = (vector: Float32Array, factor: number): Float32Array => vector.map((value) => value * factor);
const plus = (a: Float32Array, b: Float32Array): Float32Array => a.map((value, i) => value + b[i]!);
const pick = <T>(prng: Prng, all: readonly T[]): T => all[prng.int(all.length)]!;
const unitNoise = (prng: Prng, dim: number): Float32Array => unitRow(noise(prng, dim));

const around = (prng: Prng, centre: Float32Array, spread: number): Float32Array =>
  plus(centre, times(unitNoise(prng, centre.length), spread));

/** Rows in clusters of sizes proportional to `weights`. */
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

/** Rows whose variances fall with a power of the component's number, along random directions. */
function spectrum(prng: Prng, rows: number, dim: number, power: number): Float32Array[] {
  const factors = Array.from({ length: dim }, (_, i) => (i + 1) ** -power);
  return Array.from({ length: rows }, () => noise(prng, dim).map((value, i) => value * factors[i]!));
}

const ASKERS: Readonly<Record<string, Asker>> = {
  near: (prng, rows) => around(prng, unitRow(pick(prng, rows)), 0.3),
  between: (prng, rows) => plus(unitRow(pick(prng, rows)), unitRow(pick(prng, rows))),
  elsewhere: (prng, rows) => unitNoise(prng, rows[0]!.length),
};

/**
 * Which rows a filter admits for a query: a `share` of all rows, at random, or those farthest from or nearest to it.
 */
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
  return Float64Array.from(rows, (row) => dot(row, unit));
}

/** The share of the K nearest that were found; rows as near as the Kth count as found. */
function recallOf(scores: Float64Array, admitted: readonly number[] | undefined, found: ArrayLike<number>): number {
  const all = admitted ? Float64Array.from(admitted, (row) => scores[row]!) : scores.slice();
  const kth = all.sort()[Math.max(0, all.length - K)]!;
  const good = Array.from(found).filter((row) => scores[row]! >= kth - NEARLY).length;
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
  return queries.map((query, i) => {
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

interface ShapeOptions {
  readonly seed: number;
  readonly rows: number;
  readonly questions: number;
  readonly withPeers: boolean;
  readonly withPython: boolean;
}

interface Shape {
  /** The first cells of the row: name, size, and ef of the graph search. */
  readonly cells: readonly string[];
  /** The share found for each query, by kind of query. */
  readonly recalls: Readonly<Record<string, number[]>>;
}

/**
 * Seeded collections of many shapes: clusters of equal and of different sizes, ordered lines and curves, noise, steep
 * and flat spectra, a large mean, sparse rows, duplicates. Queries come from near, from between and from elsewhere,
 * with filters that match near the query or not.
 */
export async function shapes({ tiny, number }: LoadOptions): Promise<void> {
  const options: ShapeOptions = {
    seed: number('seed', 1),
    rows: number('rows', tiny ? 3000 : 20_000),
    questions: tiny ? 10 : 40,
    withPeers: number('peers', 1) > 0,
    withPython: number('python', 0) > 0,
  };
  const table: string[][] = [];
  const totals: Record<string, number[]> = {};
  for (let shape = 0; shape < number('shapes', tiny ? 3 : 100); shape++) {
    const { cells, recalls } = await measureShape(shape, options);
    table.push([...cells, ...Object.values(recalls).map((shares) => `${meanOf(shares)} ${worstOf(shares)}`)]);
    console.log(table.at(-1)!.join(' | '));
    for (const [key, shares] of Object.entries(recalls)) (totals[key] ??= []).push(...shares);
  }
  table.push(['all', '', '', ...Object.values(totals).map((shares) => `${meanOf(shares)} ${worstOf(shares)}`)]);
  printTable('recall@10: the mean and the worst question', [['shape', 'rows', 'ef', ...Object.keys(totals)], ...table]);
  for (const [key, shares] of Object.entries(totals))
    console.log(
      `${key}: ${shares.filter((share) => share < 0.5).length} of ${shares.length} questions find less than half`,
    );
}

async function measureShape(
  shape: number,
  { seed, rows: rowsMax, questions, ...options }: ShapeOptions,
): Promise<Shape> {
  const prng = createPrng(seed * 1000 + shape);
  const names = Object.keys(MAKERS);
  const name = names[shape % names.length]!;
  const dim = pick(prng, DIMS);
  const rows = MAKERS[name]!(prng, Math.floor(rowsMax * (0.3 + 0.7 * prng.next())), dim).map(unitRow);
  const askers = Object.values(ASKERS);
  const queries = Array.from({ length: questions }, (_, i) => askers[i % askers.length]!(prng, rows));
  const set: VectorSet = { name: `shape-${seed}-${shape}`, rows, queries };
  const { index } = buildIndex(set, true);
  const scores = queries.map((query) => scoresOf(rows, query));
  const of = (search: (query: Float32Array, i: number) => ArrayLike<number>): number[] =>
    queries.map((query, i) => recallOf(scores[i]!, undefined, search(query, i)));
  const recalls: Record<string, number[]> = {
    default: of((query) => index.search(query, K).ordinals),
    filtered: filteredRecalls(prng, index, rows, queries.slice(0, questions >> 1)),
  };
  if (options.withPeers) {
    const peer = await hnswlibEngine(set, true);
    for (const ef of peer ? [64, 128] : []) recalls[`hnswlib ${ef}`] = of((_, i) => peer!.search(i, { ef }));
  }
  if (options.withPython) {
    const [faiss] = pythonCurves(set, scores.map(nearest), ['faiss']);
    const point = faiss?.points.find(({ ef }) => ef === 64);
    if (point) recalls['faiss 64, mean'] = [point.recall];
  }
  const ef = index['instance'].word(index.root + ROOT_EF);
  return { cells: [name, `${rows.length} × ${dim}`, ef === SCAN_QUANTIZED ? 'codes' : String(ef)], recalls };
}

const nearest = (scores: Float64Array): number[] =>
  Array.from(scores.keys())
    .sort((a, b) => scores[b]! - scores[a]!)
    .slice(0, K);

/** The same row always has the same score; rows whose scores differ by less than this are equally good. */
const TIE = 1e-6;

/**
 * All queries of a set, up to ten thousand, by default and at several values of ef: how many find few of their ten; and
 * with the same rows in several orders, each of which gives another graph and another recall check.
 */
export async function worst({ tiny, number, text }: LoadOptions): Promise<void> {
  const efs = [undefined, ...(text('efs')?.split(',').map(Number) ?? [])];
  const sets: typeof REAL_SETS = tiny
    ? { tiny: () => clustered(5000, 64, 1) }
    : { windows: () => windows(60_000), ...REAL_SETS };
  const cells: string[][] = [];
  for (const name of (tiny ? undefined : text('sets')?.split(',')) ?? Object.keys(sets)) {
    const all = await sets[name]!();
    if (!all) continue;
    const set = { ...all, rows: all.rows.slice(0, number('rows', 1_000_000)) };
    let kth: Float32Array | undefined;
    for (let order = 0; order < number('orders', 1); order++) {
      const { index, buildRate } = buildIndex(order === 0 ? set : shuffled(set, order), true);
      kth ??= kthScores(set, index);
      for (const ef of efs) {
        const found = foundOf(set, index, kth, ef);
        cells.push([`${set.name}, ${set.rows.length}`, String(order), ...found, buildRate.toFixed(0)]);
        console.log(cells.at(-1)!.join(' | '));
      }
    }
  }
  printTable('recall@10: the mean, and how many queries find few of their ten', [
    [
      'set',
      'order',
      'ef',
      'mean',
      'none',
      '2 or fewer',
      '4 or fewer',
      '6 or fewer',
      'queries',
      'us a query',
      'built/s',
    ],
    ...cells,
  ]);
}

/** Cells of the table from `ef` to the time per query. */
function foundOf({ queries }: VectorSet, index: VectorIndex, kth: Float32Array, ef: number | undefined): string[] {
  const startedAt = ownCpuMs();
  const found = queries.map((query, i) => {
    const { scores } = index.search(query, K, ef === undefined ? {} : { ef });
    return scores.filter((score) => score >= kth[i]! - TIE).length;
  });
  const queryUs = (1000 * (ownCpuMs() - startedAt)) / found.length;
  const few = (most: number): string => String(found.filter((count) => count <= most).length);
  return [
    ef === undefined ? `default (${tunedEf(index)})` : String(ef),
    (found.reduce((sum, count) => sum + count, 0) / found.length / K).toFixed(4),
    few(0),
    few(2),
    few(4),
    few(6),
    String(queries.length),
    queryUs.toFixed(1),
  ];
}

function tunedEf(index: VectorIndex): string {
  const trusted = [ROOT_TRUSTED, ROOT_TRUSTED_BROAD].map((at) =>
    index['instance'].copyFloats(index.root + at, 1)[0]!.toFixed(3),
  );
  return `${index['instance'].word(index.root + ROOT_EF)}, trusted from ${trusted.join(', ')}`;
}

/** The score of the Kth nearest row of each query, which does not depend on the order of the rows. */
function kthScores({ name, rows, queries }: VectorSet, index: VectorIndex): Float32Array {
  const about = createHash('sha256')
    .update(`${name} ${rows.length} ${queries.length}`)
    .update(new Uint8Array(rows[rows.length - 1]!.slice().buffer));
  const key = `kth-${about.digest('hex').slice(0, 16)}`;
  const kept = cachedBuild(key);
  if (kept)
    return new Float32Array(kept.bytes.buffer.slice(kept.bytes.byteOffset, kept.bytes.byteOffset + kept.bytes.length));
  const scores = Float32Array.from(queries, (query) => index.search(query, K, { exact: true }).scores.at(-1)!);
  cacheBuild(key, new Uint8Array(scores.buffer), {});
  return scores;
}

function shuffled(set: VectorSet, seed: number): VectorSet {
  const rows = [...set.rows];
  const prng = createPrng(seed);
  for (let i = rows.length - 1; i > 0; i--) {
    const j = prng.int(i + 1);
    [rows[i], rows[j]] = [rows[j]!, rows[i]!];
  }
  return { ...set, rows, name: `${set.name}, order ${seed}` };
}
