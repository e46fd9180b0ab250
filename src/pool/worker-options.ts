// How worker threads are run under Piscina: always as many as there are, each taking whatever is sent to it, with
// timers and I/O going on while it is idle. Used by the pools that share work out themselves; front thread.
import { fileURLToPath } from 'node:url';
import type { Piscina } from 'piscina';

export type PiscinaOptions = NonNullable<ConstructorParameters<typeof Piscina>[0]>;

/** `file`: below workers. `workerData`: given to each when it starts. */
export function workerOptions(file: string, threads: number, workerData: object): PiscinaOptions {
  return {
    filename: fileURLToPath(new URL(`../../workers/${file}`, import.meta.url)),
    name: 'run',
    minThreads: threads,
    maxThreads: threads,
    concurrentTasksPerWorker: 1_000_000,
    atomics: 'async',
    recordTiming: false,
    workerData,
  };
}
