// A model run by onnxruntime alone, in threads of its own: the ceiling that ours is measured against.
// Used by load/embed-model.ts.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ModelThreadStart, ModelThreadWork } from './raw-model-thread.js';

/** Sessions that wait for batches of token ids. */
export interface RawModel {
  /** Runs all texts in batches of `size`, each of texts of about one length. */
  run(encodings: readonly number[][], size: number): Promise<void>;
  close(): Promise<void>;
}

/** `sessions` threads with a session each, which uses `threads`. */
export async function startRawModel(graph: string, sessions: number, threads: number): Promise<RawModel> {
  const workerData: ModelThreadStart = { graph, threads };
  const workers = Array.from(
    { length: sessions },
    () => new Worker(new URL('./raw-model-thread.js', import.meta.url), { workerData }),
  );
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  return {
    run: async (encodings, size) => {
      const sorted = [...encodings].sort((a, b) => b.length - a.length);
      const batches = Array.from({ length: Math.ceil(sorted.length / size) }, (_, i) =>
        sorted.slice(i * size, (i + 1) * size),
      );
      const work: ModelThreadWork = { batches, taken: new Int32Array(new SharedArrayBuffer(4)) };
      const done = workers.map((worker) => once(worker, 'message'));
      for (const worker of workers) worker.postMessage(work);
      await Promise.all(done);
    },
    close: async () => void (await Promise.all(workers.map((worker) => worker.terminate()))),
  };
}
