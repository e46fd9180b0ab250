// The thread of closedLoopInThread. It ends when its time is over.
import { parentPort, workerData } from 'node:worker_threads';
import { yieldToSearches } from '../../src/base/thread.js';
import { closedLoop, type ClosedLoopOptions } from './closed-loop.js';

yieldToSearches();
parentPort?.postMessage(await closedLoop(workerData as ClosedLoopOptions));
