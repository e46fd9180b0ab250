// An ONNX Runtime session: opened once, run on padded batches of encodings. A run blocks this thread and uses up to
// `threads` threads. One owner, an embedder or a reranker. Embed workers.
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { Encoding } from './tokenizer.js';

/**
 * Tokens of a run, including padding; a longer text runs alone. Larger runs gain nothing (`load embed model`) and delay
 * others.
 */
export const RUN_TOKENS_MAX = 512;

/** A float output of a run. */
export interface Output {
  values: Float32Array;
  shape: readonly number[];
}

/** An output as the graph declares it. */
export interface OutputPlan {
  name: string;
  /** Numbers are fixed dimensions; strings name dimensions that a run determines. */
  shape: readonly (number | string)[];
}

export interface ModelSession {
  /** The outputs of 32-bit floats. */
  readonly outputs: readonly OutputPlan[];
  /** Runs a batch; shorter encodings are padded to the longest. Rejects if the runtime rejects the batch. */
  run(batch: readonly Encoding[], output: string): Promise<Output>;
}

type Fill = (cells: BigInt64Array, encoding: Encoding) => void;

/** How to fill a row of each input; the rest of the row is padding. */
const FILLS: Readonly<Record<string, Fill>> = {
  input_ids: (cells, { ids }) => ids.forEach((id, i) => (cells[i] = BigInt(id))),
  attention_mask: (cells, { ids }) => cells.fill(1n, 0, ids.length),
  token_type_ids: (cells, { types }) => types?.forEach((type, i) => (cells[i] = BigInt(type))),
  position_ids: (cells) => cells.forEach((_, i) => (cells[i] = BigInt(i))),
};
/** ONNX Runtime throws errors as exceptions, which are logged once; its own log is off below this level. */
const FATAL_ONLY = 4;

/**
 * Rejects if the graph is broken or has inputs that are not those of a text model. `threads` is the number of threads
 * of one run.
 */
export async function openSession(
  directory: string,
  file: string,
  threads: number,
  padId: number,
): Promise<ModelSession> {
  const session = await InferenceSession.create(join(directory, file), {
    intraOpNumThreads: threads,
    interOpNumThreads: 1,
    graphOptimizationLevel: 'all',
    logSeverityLevel: FATAL_ONLY,
    // Without this, idle threads spin for a while on cores that shard owners need.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  });
  checkInputs(session, file);
  return {
    outputs: session.outputMetadata.flatMap((meta) =>
      meta.isTensor && meta.type === 'float32' ? [{ name: meta.name, shape: meta.shape }] : [],
    ),
    run: async (batch, output) => {
      const { data, dims } = (await session.run(feedsOf(session.inputNames, batch, padId), [output]))[output] as Tensor;
      return { values: data as Float32Array, shape: dims };
    },
  };
}

function checkInputs({ inputMetadata }: InferenceSession, file: string): void {
  for (const meta of inputMetadata) {
    if (!Object.hasOwn(FILLS, meta.name))
      throw new Error(`${file} requires an input ${meta.name}; supported are ${Object.keys(FILLS).join(', ')}`);
    if (!meta.isTensor || meta.type !== 'int64')
      throw new Error(`${file} requires ${meta.name} as ${meta.isTensor ? meta.type : 'no tensor'}, not int64`);
  }
}

function feedsOf(inputs: readonly string[], batch: readonly Encoding[], padId: number): Record<string, Tensor> {
  const width = Math.max(...batch.map(({ ids }) => ids.length));
  const tensorOf = (input: string): Tensor => {
    const cells = new BigInt64Array(batch.length * width).fill(input === 'input_ids' ? BigInt(padId) : 0n);
    batch.forEach((encoding, row) => FILLS[input]?.(cells.subarray(row * width, (row + 1) * width), encoding));
    return new Tensor('int64', cells, [batch.length, width]);
  };
  return Object.fromEntries(inputs.map((input) => [input, tensorOf(input)]));
}
