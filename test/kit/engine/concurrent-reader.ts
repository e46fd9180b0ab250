// A worker thread that searches an index while another thread writes it, and checks the score of each hit against the
// vector that belongs to the hit's row version.
import { parentPort, workerData } from 'node:worker_threads';
import { cosine } from '../../../load/kit/cosine.js';
import { createPrng } from '../../../src/base/prng.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import type { Hits } from '../../../src/engine/hnsw/search-plan.js';
import { randomVector } from './arena.js';

export interface ReaderStart {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  root: number;
  /** Not 0 once the writer is done. */
  stop: Int32Array;
  /** The number of hits of a search; there are always at least this many live rows. */
  k: number;
  ordinals: number;
  seed: number;
}

export interface ReaderReport {
  searches: number;
  faults: string[];
}

/** The vector that put number `put` wrote. Vectors repeat, so that there are duplicates among the rows. */
export function vectorOfPut(put: number, dim: number): Float32Array {
  return randomVector(createPrng(put % 997), dim);
}

/**
 * The number of the put that gave a row its row version: only the writer puts, and each put takes the next odd row
 * version.
 */
function putOf(rowVersion: number): number {
  return (rowVersion - 3) / 2;
}

function faultsOf({ count, ordinals, rowVersions, scores }: Hits, start: ReaderStart, query: Float32Array): string[] {
  const faults: string[] = [];
  if (count !== start.k) faults.push(`${count} hits`);
  if (new Set(ordinals).size !== count) faults.push('a row twice');
  for (let i = 0; i < count; i++) {
    if ((ordinals[i] as number) >= start.ordinals) faults.push(`ordinal ${ordinals[i]}`);
    const error = Math.abs(
      cosine(query, vectorOfPut(putOf(rowVersions[i] as number), query.length)) - (scores[i] as number),
    );
    if (!(error <= 1e-4)) faults.push(`score off by ${error}`);
  }
  return faults;
}

function read(start: ReaderStart): ReaderReport {
  const index = new Kernel(start.module, start.memory).attach(start.root);
  const prng = createPrng(start.seed);
  const report: ReaderReport = { searches: 0, faults: [] };
  parentPort?.postMessage('ready');
  while (Atomics.load(start.stop, 0) === 0 && report.faults.length < 10) {
    const query = randomVector(prng, index.dim);
    report.faults.push(
      ...faultsOf(index.search(query, start.k, { ef: 40, exact: report.searches % 4 === 0 }), start, query),
    );
    report.searches++;
  }
  return report;
}

if (parentPort) parentPort.postMessage(read(workerData as ReaderStart));
