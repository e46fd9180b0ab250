// The thread module of the threads of `sheaf bench` (src/cli/bench.ts): makes its share of the searches, and tells what it
// has counted. A message ends it early.
import { parentPort, workerData } from 'node:worker_threads';
import { type BenchShare, runSearches } from '../../src/cli/bench-run.js';

const ending = new AbortController();
parentPort?.once('message', () => ending.abort());
const counts = await runSearches(workerData as BenchShare, ending.signal);
parentPort?.postMessage(counts);
parentPort?.close();
