// Where the bytes of a vector go in a shard's memory, at both settings and at sizes that fill the blocks well and
// badly: one index that grows, linked and with its codes. node dist/load/row-bytes.js [--tiny]. The figures depend on
// the number of rows alone, not on the machine.
import { readFileSync } from 'node:fs';
import { createArenaMemory } from '../../src/base/huge-pages.js';
import type { Precision } from '../../src/api/choices.js';
import {
  CODES_AXES_2,
  CODES_AXES_4,
  CODES_ROW_BYTES,
  LINKS_0,
  LINKS_UP,
  NODE_WORDS_BYTES,
  ROOT_CODES,
  ROOT_ROW_BYTES,
  ROW_WORDS_BYTES,
} from '../../src/engine/memory/layout.js';
import { Kernel } from '../../src/engine/memory/arena.js';
import type { VectorIndex } from '../../src/engine/hnsw/vector-index.js';
import { printTable, readArguments, whole } from '../kit/command.js';
import { clustered, moreRows, windows } from '../kit/vector-sets.js';
import { settle } from '../kit/vector-engine.js';

const { tiny } = readArguments();
const SIZES = tiny ? [5000, 6000] : [20_000, 40_000, 60_000, 66_000, 100_000];
const DIM = tiny ? 64 : 384;

/** Of 16 nodes of a level one is of the next. */
const UPPER_LISTS = 1 / 15;
const LINK_BYTES = 4;

/** What one row takes by the layout: everything that there is of each. */
function partsOf(index: VectorIndex, word: (at: number) => number): number[] {
  const codes = word(index.root + ROOT_CODES);
  return [
    word(index.root + ROOT_ROW_BYTES),
    ROW_WORDS_BYTES,
    word(codes + CODES_ROW_BYTES),
    LINKS_0 * LINK_BYTES,
    UPPER_LISTS * LINKS_UP * LINK_BYTES,
    NODE_WORDS_BYTES,
  ];
}

function measure(precision: Precision, rows: readonly Float32Array[]): string[][] {
  const memory = createArenaMemory(64, 65536);
  const kernel = new Kernel(
    new WebAssembly.Module(readFileSync(new URL('../../src/engine/kernel.wasm', import.meta.url))),
    memory,
  );
  kernel.format();
  const index = kernel.createIndex(DIM, { precision });
  const word = (at: number): number => new Uint32Array(memory.buffer)[at >>> 2] ?? 0;
  let next = 0;
  return SIZES.map((size) => {
    for (; next < size; next++) index.put(next, rows[next]!);
    settle(index);
    const codes = word(index.root + ROOT_CODES);
    const axes = ((word(codes + CODES_AXES_4) + word(codes + CODES_AXES_2)) * (DIM + 16)) / size;
    const parts = [...partsOf(index, word), axes];
    const all = index.usedBytes / size;
    return [
      precision,
      whole(size),
      ...[...parts, all - parts.reduce((sum, part) => sum + part, 0), all].map((bytes) => bytes.toFixed(1)),
    ];
  });
}

const rows = moreRows(
  (tiny ? undefined : windows(60_000)) ?? clustered(Math.min(SIZES.at(-1)!, 60_000), DIM, 1),
  SIZES.at(-1)!,
);
const table = (['int16', 'int8'] as const).flatMap((precision) => measure(precision, rows));
printTable(`bytes a vector of ${DIM} dimensions`, [
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
