// A hammer in a thread of its own, so that its work does not hold up a measurement in the main thread. Started by the load
// programs that measure beside a load; ends when its time is over.
import { parentPort, workerData } from 'node:worker_threads';
import { hammer, type HammerOptions } from './hammer.js';

parentPort?.postMessage(await hammer(workerData as HammerOptions));
