// Filtered vector search in the kernel: recall@10 against an exact scan, searches a second of CPU time, and their ratio
// to searches without a filter, at several shares of matching rows, in one thread. 384-d vectors of real text where
// they are there. node dist/load/filters.js [--rows 100000] [--tiny]
import { readFileSync } from 'node:fs';
import { createArenaMemory } from '../src/base/arena-memory.js';
import { Kernel } from '../workers/shard/kernel.js';
import type { VectorIndex } from '../workers/shard/vector-index.js';
import { readArguments } from './kit/arguments.js';
import { filterCases, KINDS, type FilterCase } from './kit/filter-cases.js';
import { moreRows } from './kit/more-rows.js';
import { printTable, whole } from './kit/report.js';
import { settle } from './kit/settle.js';
import { cpuMs } from './kit/word-peers.js';
import { clustered, windows } from './vector-sets.js';

const K = 10;
const SHARES = [0.5, 0.1, 0.045, 0.01, 0.001, 0.0001];
const QUERIES = 200;
/** The best of them counts: the machine may be doing other things. */
const PASSES = 3;

function createIndex(rows: readonly Float32Array[]): VectorIndex {
  const module = new WebAssembly.Module(readFileSync(new URL('../workers/shard/kernel.wasm', import.meta.url)));
  const kernel = new Kernel(module, createArenaMemory(64, 65536));
  kernel.format();
  const index = kernel.createIndex(rows[0]?.length ?? 0);
  rows.forEach((row, ordinal) => index.put(ordinal, row));
  settle(index);
  return index;
}

/** Searches a second. */
function rateOf(cases: readonly FilterCase[], search: (query: Float32Array, allowed: Uint32Array) => unknown): number {
  const times = Array.from({ length: PASSES }, () => {
    const startedAt = cpuMs();
    for (const { queries, allowed } of cases) for (const query of queries) search(query, allowed);
    return cpuMs() - startedAt;
  });
  return (cases.reduce((sum, { queries }) => sum + queries.length, 0) / Math.min(...times)) * 1000;
}

function recallOf(index: VectorIndex, cases: readonly FilterCase[]): number {
  let [found, wanted] = [0, 0];
  for (const { queries, allowed } of cases) {
    for (const query of queries) {
      const truth = index.search(query, K, { allowed, exact: true }).ordinals;
      found += index.search(query, K, { allowed }).ordinals.filter((ordinal) => truth.includes(ordinal)).length;
      wanted += truth.length;
    }
  }
  return found / wanted;
}

/** The rows of the table, one for each kind of filter and share. */
function measure(index: VectorIndex, rows: readonly Float32Array[], queries: readonly Float32Array[]): string[][] {
  const all = [{ queries, allowed: new Uint32Array(Math.ceil(rows.length / 32)).fill(0xffffffff) }];
  index.search(queries[0] as Float32Array, K);
  return KINDS.flatMap((kind) =>
    SHARES.map((share) => {
      const matches = Math.max(1, Math.round(share * rows.length));
      const cases = filterCases(index, rows, queries, kind, matches);
      const unfiltered = rateOf(all, (query) => index.search(query, K));
      const rate = rateOf(cases, (query, allowed) => index.search(query, K, { allowed }));
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

const { tiny, number } = readArguments('rows');
const count = number('rows', tiny ? 5000 : 100_000);
const set = tiny ? clustered(count, 64, 1) : (windows(count) ?? clustered(count, 384, 1));
const rows = moreRows(set, count);
const table = measure(createIndex(rows), rows, set.queries.slice(0, QUERIES));
printTable(`${set.name}: ${whole(count)} rows, ${K} best, a second of CPU time`, [
  ['filter', 'matching', 'recall@10', 'searches', 'unfiltered', 'ratio'],
  ...table,
]);
