// A worker thread that runs one function of a build script and posts its result.
import { parentPort, workerData } from 'node:worker_threads';

const { module, name, args } = workerData;
parentPort.postMessage(await (await import(module))[name](...args));
