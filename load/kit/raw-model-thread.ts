// A thread with one onnxruntime session that runs batches of token ids by a shared counter. The upper bound for `load
// embed model`.
import { parentPort, workerData } from 'node:worker_threads';
import { InferenceSession, Tensor } from 'onnxruntime-node';

export interface ModelThreadStart {
  graph: string;
  threads: number;
}

/** Batches of similar lengths, and the counter of taken batches. */
export interface ModelThreadWork {
  batches: number[][][];
  taken: Int32Array;
}

const { graph, threads } = workerData as ModelThreadStart;
const session = await InferenceSession.create(graph, {
  intraOpNumThreads: threads,
  interOpNumThreads: 1,
  graphOptimizationLevel: 'all',
});
parentPort?.on('message', ({ batches, taken }: ModelThreadWork) => void run(batches, taken));
parentPort?.postMessage('loaded');

async function run(batches: number[][][], taken: Int32Array): Promise<void> {
  for (let next = Atomics.add(taken, 0, 1); next < batches.length; next = Atomics.add(taken, 0, 1))
    await session.run(feedsOf(batches[next] as number[][]));
  parentPort?.postMessage('done');
}

function feedsOf(batch: number[][]): Record<string, Tensor> {
  const width = Math.max(...batch.map((ids) => ids.length));
  const cellsOf = (valueOf: (id: number | undefined) => bigint): BigInt64Array =>
    BigInt64Array.from({ length: batch.length * width }, (_, i) => valueOf(batch[Math.floor(i / width)]?.[i % width]));
  const tensor = (cells: BigInt64Array): Tensor => new Tensor('int64', cells, [batch.length, width]);
  return {
    input_ids: tensor(cellsOf((id) => BigInt(id ?? 0))),
    attention_mask: tensor(cellsOf((id) => (id === undefined ? 0n : 1n))),
    token_type_ids: tensor(cellsOf(() => 0n)),
  };
}
