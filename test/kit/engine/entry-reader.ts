// A worker thread that searches for rows by their own vectors, while another thread keeps removing the entry point of
// the graph.
import { parentPort, workerData } from 'node:worker_threads';
import { createPrng } from '../../../src/base/prng.js';
import { Kernel } from '../../../src/engine/memory/arena.js';

export interface EntryReaderStart {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  root: number;
  /** Not 0 once the writer is done. */
  stop: Int32Array;
  /** The number of rows. All are put before this thread starts, and put again with the same vectors. */
  rows: number;
  vectors: Float32Array;
  seed: number;
}

export interface EntryReaderReport {
  searches: number;
  /** The number of searches that did not find a row by its own vector. */
  missed: number;
}

const K = 10;
const EF = 64;

function read({ module, memory, root, stop, rows, vectors, seed }: EntryReaderStart): EntryReaderReport {
  const index = new Kernel(module, memory).attach(root);
  const prng = createPrng(seed);
  const report: EntryReaderReport = { searches: 0, missed: 0 };
  parentPort?.postMessage('ready');
  while (Atomics.load(stop, 0) === 0) {
    const row = prng.int(rows);
    const { ordinals } = index.search(vectors.subarray(row * index.dim, (row + 1) * index.dim), K, { ef: EF });
    if (!ordinals.includes(row)) report.missed++;
    report.searches++;
  }
  return report;
}

if (parentPort) parentPort.postMessage(read(workerData as EntryReaderStart));
