// Graph search against exact scan: recall@10 and time a query at several breadths, and the rate of building, in one
// thread. node dist/load/recall.js [--rows N] [--tiny]; from the project's root after a build.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createArenaMemory } from '../src/base/huge-pages.js';
import { Kernel } from '../src/engine/memory/arena.js';
import type { VectorIndex } from '../src/engine/hnsw/vector-index.js';
import { settle } from './kit/vector-engine.js';
import { clustered, cranfield, cranfieldChunks, type VectorSet, windows } from './kit/vector-sets.js';

const K = 10;
const BREADTHS = [16, 32, 64, 128, 256, 512];
/** Each time is the best of this many passes over the queries: the machine may be doing other things. */
const PASSES = 3;

interface Measured {
  readonly answers: readonly Uint32Array[];
  readonly queryUs: number;
}

function createKernel(): Kernel {
  const wasm = readFileSync(new URL('../src/engine/kernel.wasm', import.meta.url));
  const memory = createArenaMemory(64, 65536);
  const kernel = new Kernel(new WebAssembly.Module(wasm), memory);
  kernel.format();
  return kernel;
}

/** Seconds that `work` takes. */
function seconds(work: () => void): number {
  const start = performance.now();
  work();
  return (performance.now() - start) / 1000;
}

function measure(queries: VectorSet['queries'], search: (query: Float32Array) => Uint32Array): Measured {
  let answers: Uint32Array[] = [];
  const times = Array.from({ length: PASSES }, () => seconds(() => (answers = queries.map(search))));
  return { answers, queryUs: (Math.min(...times) / queries.length) * 1e6 };
}

function recall(truth: Measured, found: Measured): number {
  const hits = truth.answers.map(
    (wanted, i) => found.answers[i]?.filter((ordinal) => wanted.includes(ordinal)).length ?? 0,
  );
  return hits.reduce((sum, count) => sum + count, 0) / truth.answers.reduce((sum, wanted) => sum + wanted.length, 0);
}

function report(set: VectorSet): void {
  const dim = set.rows[0]?.length ?? 0;
  const index = createKernel().createIndex(dim, { graphMin: 1 });
  const putS = seconds(() => set.rows.forEach((row, ordinal) => index.put(ordinal, row)));
  const truth = measure(set.queries, (query) => index.search(query, K, { exact: true }).ordinals);
  const linkS = seconds(() => settle(index));
  const rows = set.rows.length;
  console.log(`\n${set.name}: ${rows} rows of ${dim}, ${set.queries.length} queries, k ${K}`);
  console.log(
    `put ${Math.round(rows / putS)} rows/s, link ${Math.round(rows / linkS)} rows/s, ${Math.round(index.usedBytes / rows)} bytes a row`,
  );
  printTable(index, set, truth);
}

/**
 * The last column is how many rows a scan scores in the time of the walk, for each one of ef: WALK_ROWS_PER_EF in
 * layout.ts.
 */
function printTable(index: VectorIndex, { rows, queries }: VectorSet, truth: Measured): void {
  console.log('  ef     recall@10   us a query   scanned rows per ef');
  console.log(`exact    1.0000     ${truth.queryUs.toFixed(1).padStart(10)}`);
  const scanRowUs = truth.queryUs / rows.length;
  for (const ef of BREADTHS) {
    const found = measure(queries, (query) => index.search(query, K, { ef }).ordinals);
    const rowsPerEf = found.queryUs / scanRowUs / ef;
    console.log(
      `${String(ef).padEnd(5)}    ${recall(truth, found).toFixed(4)}     ${found.queryUs.toFixed(1).padStart(10)}   ${rowsPerEf.toFixed(0).padStart(19)}`,
    );
  }
}

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '20000' }, tiny: { type: 'boolean', default: false } },
});
const sets = values.tiny ? [clustered(600, 64, 1)] : [cranfieldChunks(), cranfield(), windows(Number(values.rows))];
const present = sets.filter((set) => set !== undefined);
if (present.length === 0) present.push(clustered(Number(values.rows), 384, 1));
for (const set of present) report(set);
