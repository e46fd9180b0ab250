// Memory of an index: the segments of a vector's bytes, and recall after rows are deleted and added repeatedly. Nothing
// is timed: the figures depend on the rows only.
import type { Precision } from '../../src/api/choices.js';
import { createPrng, type Prng } from '../../src/base/prng.js';
import type { VectorIndex } from '../../src/engine/hnsw/vector-index.js';
import {
  EDGES_0,
  EDGES_UP,
  NODE_WORDS_BYTES,
  QUANTIZER_COMPONENTS_2,
  QUANTIZER_COMPONENTS_4,
  QUANTIZER_ROW_BYTES,
  ROOT_QUANTIZER,
  ROOT_ROW_BYTES,
  ROW_WORDS_BYTES,
} from '../../src/engine/memory/layout.js';
import { type LoadOptions, printTable, whole } from '../kit/command.js';
import { createKernel, createMemory, finishBackgroundWork } from '../kit/kernel.js';
import { K, buildIndex, truthOf } from '../kit/vector-engine.js';
import { VECTOR_DIM, clustered, moreRows, windows, type VectorSet } from '../kit/vector-sets.js';

/** Lists on upper levels per node: of 16 nodes of a level, one is also on the next. */
const UPPER_LISTS = 1 / 15;
const EDGE_BYTES = 4;

/** Bytes that one row takes by the layout, including everything that belongs to it. */
function bytesPerRow(index: VectorIndex, word: (at: number) => number): number[] {
  const quantizer = word(index.root + ROOT_QUANTIZER);
  return [
    word(index.root + ROOT_ROW_BYTES),
    ROW_WORDS_BYTES,
    word(quantizer + QUANTIZER_ROW_BYTES),
    EDGES_0 * EDGE_BYTES,
    UPPER_LISTS * EDGES_UP * EDGE_BYTES,
    NODE_WORDS_BYTES,
  ];
}

/**
 * Bytes at both precisions and at sizes that fill the blocks well and badly: one growing index with its graph and
 * quantization.
 */
export async function bytes({ tiny }: LoadOptions): Promise<void> {
  const sizes = tiny ? [5000, 6000] : [20_000, 40_000, 60_000, 66_000, 100_000];
  const largest = Math.max(...sizes);
  const dim = tiny ? 64 : VECTOR_DIM;
  const set = (tiny ? undefined : windows(60_000)) ?? clustered(Math.min(largest, 60_000), dim, 1);
  const rows = moreRows(set, largest);
  const table = (['int16', 'int8'] as const).flatMap((precision) => bytesAtSizes(precision, rows, sizes));
  printTable(`bytes a vector of ${dim} dimensions`, [
    [
      'precision',
      'rows',
      'row',
      'its words',
      'code',
      'list',
      'upper lists',
      'node words',
      'axes',
      'tables and room',
      'all',
    ],
    ...table,
  ]);
}

function bytesAtSizes(precision: Precision, rows: readonly Float32Array[], sizes: readonly number[]): string[][] {
  const memory = createMemory();
  const dim = rows[0]!.length;
  const index = createKernel(memory).createIndex(dim, { precision });
  const word = (at: number): number => new Uint32Array(memory.buffer)[at >>> 2] ?? 0;
  let next = 0;
  return sizes.map((size) => {
    for (; next < size; next++) index.put(next, rows[next]!);
    finishBackgroundWork(index);
    const quantizer = word(index.root + ROOT_QUANTIZER);
    const components =
      ((word(quantizer + QUANTIZER_COMPONENTS_4) + word(quantizer + QUANTIZER_COMPONENTS_2)) * (dim + 16)) / size;
    const bytesEach = [...bytesPerRow(index, word), components];
    const all = index.usedBytes / size;
    return [
      precision,
      whole(size),
      ...[...bytesEach, all - bytesEach.reduce((sum, each) => sum + each, 0), all].map((each) => each.toFixed(1)),
    ];
  });
}

/** Share of the rows that are replaced in each round. */
const CHURNED_SHARE = 0.1;
const CHURN_EFS = [undefined, 32, 64, 128, 256];

/** Recall over rounds in which a tenth of the vectors is deleted and added again in other rows. */
export async function churn({ tiny, number }: LoadOptions): Promise<void> {
  const rows = number('rows', tiny ? 2000 : 60_000);
  const rounds = number('rounds', tiny ? 2 : 10);
  const set = (tiny ? undefined : windows(rows)) ?? clustered(rows, tiny ? 32 : VECTOR_DIM, 1);
  const { index } = buildIndex(set, true);
  const truth = truthOf(set, index);
  /** Which vector is in a row. */
  const vectorAt = Uint32Array.from(set.rows.keys());
  const prng = createPrng(1);
  const table = [
    ['round', ...CHURN_EFS.map((ef) => `ef ${ef ?? 'default'}`)],
    ['as built', ...recalls(set, index, truth, vectorAt)],
  ];
  for (let round = 1; round <= rounds; round++) {
    replaceSome(prng, set.rows, index, vectorAt);
    table.push([String(round), ...recalls(set, index, truth, vectorAt)]);
  }
  printTable(
    `Recall@${K} over rounds of deleting and adding ${100 * CHURNED_SHARE} %, ${set.name}, ${whole(set.rows.length)} rows`,
    table,
  );
}

/** Deletes a tenth of the rows, lets the graph repair itself, and adds the same vectors again in other rows. */
function replaceSome(prng: Prng, rows: readonly Float32Array[], index: VectorIndex, vectorAt: Uint32Array): void {
  const places = vectorAt.map((_, row) => row).filter(() => prng.next() < CHURNED_SHARE);
  for (const place of places) index.remove(place);
  finishBackgroundWork(index);
  const vectors = places.map((place) => vectorAt[place] as number);
  places.forEach((place, i) => {
    vectorAt[place] = vectors[(i + 1) % vectors.length] as number;
    index.put(place, rows[vectorAt[place] as number] as Float32Array);
  });
  finishBackgroundWork(index);
}

function recalls(
  { queries }: VectorSet,
  index: VectorIndex,
  truth: readonly ArrayLike<number>[],
  vectorAt: Uint32Array,
): string[] {
  return CHURN_EFS.map((ef) => {
    const found = queries.map((query, i) => {
      const near = new Set(Array.from(truth[i] as ArrayLike<number>));
      const { ordinals } = index.search(query, K, ef === undefined ? {} : { ef });
      return ordinals.filter((row) => near.has(vectorAt[row] as number)).length;
    });
    return (found.reduce((sum, count) => sum + count, 0) / (K * queries.length)).toFixed(4);
  });
}
