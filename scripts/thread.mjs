// Runs one function of a build script on a thread of its own and answers its result. build.mjs starts it.
import { parentPort, workerData } from 'node:worker_threads';

const { module, name, args } = workerData;
parentPort.postMessage(await (await import(module))[name](...args));
