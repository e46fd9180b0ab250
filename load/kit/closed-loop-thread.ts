// A hammer in a thread of its own, so that its work does not hold up a measurement in the main thread, which comes
// first where processors are short. Started by the load programs that measure beside a load; ends when its time is
// over.
import { parentPort, workerData } from 'node:worker_threads';
import { yieldToSearches } from '../../src/base/thread.js';
import { hammer, type HammerOptions } from './closed-loop.js';

yieldToSearches();
parentPort?.postMessage(await hammer(workerData as HammerOptions));
