// Searches with defaults where graph searches alone would find nothing: shapes of data that hid rows from them, filters
// that exclude the neighbourhood of the query, and the time before recall has been measured.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { ROOT_CHECKED, SCAN_QUANTIZED } from '../../../src/engine/memory/layout.js';
import type { VectorIndex } from '../../../src/engine/hnsw/vector-index.js';
import { createKernel, createMemory, randomVector } from '../../kit/engine/arena.js';
import { unit } from '../../kit/engine/naive-quantization.js';

const ROWS = 6000;
const DIM = 96;
/**
 * The dimension from which these rows are searched through the graph. Scanning shorter rows takes no longer, so they
 * are scanned.
 */
const GRAPH_SEARCHED_DIM = 256;
const QUESTIONS = 240;
/** Scores that differ by less are equal to rows of 16-bit numbers. */
const TIE = 2e-5;

const unitVector = (prng: Prng, dim = DIM): Float32Array => Float32Array.from(unit(randomVector(prng, dim)));
const around = (prng: Prng, centre: Float32Array, spread: number): Float32Array =>
  unitVector(prng, centre.length).map((value, i) => centre[i]! + spread * value);

function put(rows: readonly Float32Array[]): VectorIndex {
  const index = createKernel(createMemory()).createIndex(rows[0]!.length, { graphMin: 1, quantizedMin: 500 });
  rows.forEach((row, ordinal) => index.put(ordinal, row));
  return index;
}

function settled(rows: readonly Float32Array[]): VectorIndex {
  const index = put(rows);
  while (index.hasWork) index.indexSome(64);
  return index;
}

/** The mean and the smallest share of the ten nearest that the searches find. */
function recallsOf(
  index: VectorIndex,
  questions: readonly Float32Array[],
  allowed?: Uint32Array,
): { mean: number; worst: number } {
  const shares = questions.map((query) => {
    const kth = index.search(query, 10, { exact: true }, { allowed }).scores.at(-1)!;
    return index.search(query, 10, {}, { allowed }).scores.filter((score) => score >= kth - TIE).length / 10;
  });
  return { mean: shares.reduce((sum, share) => sum + share, 0) / shares.length, worst: Math.min(...shares) };
}

const SHAPES: Readonly<Record<string, (prng: Prng) => Float32Array[]>> = {
  'one cluster with 99 of 100 rows': (prng) => {
    const centre = unitVector(prng);
    return Array.from({ length: ROWS }, () => (prng.next() < 0.99 ? around(prng, centre, 0.05) : unitVector(prng)));
  },
  'a line in order': (prng) => {
    const [from, to] = [unitVector(prng), unitVector(prng)];
    return Array.from({ length: ROWS }, (_, i) =>
      around(
        prng,
        from.map((value, at) => value + (i / ROWS) * (to[at]! - value)),
        0.005,
      ),
    );
  },
  'clusters in order': (prng) => {
    const centres = Array.from({ length: 50 }, () => unitVector(prng));
    return Array.from({ length: ROWS }, (_, i) => around(prng, centres[Math.floor((50 * i) / ROWS)]!, 0.1));
  },
  'tight clusters': (prng) => {
    const centres = Array.from({ length: 200 }, () => unitVector(prng, GRAPH_SEARCHED_DIM));
    return Array.from({ length: ROWS }, () => around(prng, centres[prng.int(200)]!, 0.01));
  },
  'a curve in order': (prng) => {
    const points = Array.from({ length: 12 }, () => unitVector(prng, GRAPH_SEARCHED_DIM));
    return Array.from({ length: ROWS }, (_, i) => {
      const at = (11 * i) / ROWS;
      const [from, to] = [points[Math.floor(at)]!, points[Math.floor(at) + 1]!];
      const point = from.map((value, j) => value + (at % 1) * (to[j]! - value));
      return around(prng, point, 0.02);
    });
  },
  'a large mean': (prng) => {
    const mean = unitVector(prng).map((value) => 3 * value);
    return Array.from({ length: ROWS }, () => around(prng, mean, 1));
  },
};

/**
 * Seeds for rows where graph searches miss neighbours of queries whose tenth hit is no farther than that of queries
 * that they answer well.
 */
const SEEDS: Readonly<Record<string, number>> = { 'tight clusters': 24, 'a curve in order': 23 };

for (const [name, make] of Object.entries(SHAPES)) {
  test(`${name}: queries near rows, between rows and elsewhere`, () => {
    const prng = createPrng(SEEDS[name] ?? 11);
    const rows = make(prng);
    const index = settled(rows);
    assert.notEqual(index['instance'].word(index.root + ROOT_CHECKED), 0);
    const questions = Array.from({ length: QUESTIONS }, (_, i) => {
      const [row, other] = [rows[prng.int(ROWS)]!, rows[prng.int(ROWS)]!];
      if (i % 3 === 0) return around(prng, row, 0.2);
      return i % 3 === 1 ? row.map((value, at) => value + other[at]!) : unitVector(prng, row.length);
    });
    const { mean, worst } = recallsOf(index, questions);
    assert(mean >= 0.97 && worst >= 0.5, `recall@10 ${mean}, worst ${worst}`);
  });
}

test('filters that exclude only the neighbourhood of the query', () => {
  const prng = createPrng(12);
  const centres = Array.from({ length: 40 }, () => unitVector(prng));
  const rows = Array.from({ length: ROWS }, () => around(prng, centres[prng.int(40)]!, 0.7));
  const index = settled(rows);
  for (const share of [0.9, 0.75, 0.5]) {
    const shares = Array.from({ length: 12 }, () => {
      const question = around(prng, rows[prng.int(ROWS)]!, 0.3);
      const { ordinals } = index.search(question, ROWS, { exact: true });
      const allowed = new Uint32Array(Math.ceil(ROWS / 32));
      for (const ordinal of ordinals.subarray(Math.round((1 - share) * ROWS)))
        allowed[ordinal >>> 5]! |= 1 << (ordinal & 31);
      return recallsOf(index, [question], allowed).mean;
    });
    const mean = shares.reduce((sum, each) => sum + each, 0) / shares.length;
    assert(mean >= 0.97 && Math.min(...shares) >= 0.5, `${share}: recall@10 ${mean}, worst ${Math.min(...shares)}`);
  }
});

test('until its recall has been checked an index is scanned', () => {
  const prng = createPrng(13);
  const rows = Array.from({ length: 3000 }, () => unitVector(prng));
  const index = put(rows);
  const questions = Array.from({ length: 10 }, () => unitVector(prng));
  for (let steps = 0; index.hasWork; steps++) {
    const isChecked = index['instance'].word(index.root + ROOT_CHECKED) !== 0;
    if (!isChecked && steps % 50 === 0) assert.equal(recallsOf(index, questions).worst, 1);
    index.indexSome(8);
  }
  assert.notEqual(index['instance'].word(index.root + ROOT_CHECKED), 0);
  assert(recallsOf(index, questions).mean >= 0.97);
});

test('a scan of the quantized vectors finds all rows, in the graph or not, and none that has been removed', () => {
  const prng = createPrng(14);
  const rows = Array.from({ length: 2000 }, () => around(prng, unitVector(prng), 0.1));
  const index = settled(rows);
  for (let i = 0; i < 100; i++) index.put(2000 + i, unitVector(prng));
  for (let ordinal = 0; ordinal < 2100; ordinal += 3) index.remove(ordinal);
  for (let i = 0; i < 20; i++) {
    const query = unitVector(prng);
    const found = index.searchBy(query, 10, { ef: SCAN_QUANTIZED, rerank: 2100 });
    const exact = index.search(query, 10, { exact: true });
    assert.deepEqual(found.ordinals, exact.ordinals);
    assert.deepEqual(found.scores, exact.scores);
  }
});
