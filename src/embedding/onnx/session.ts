// A graph of onnxruntime: opened once, run on padded batches of encodings. A run blocks this thread and uses as many
// others as it may. One owner, an embedder or a reranker; embed workers.
import { join } from 'node:path';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import type { Encoding } from './tokenizer.js';

/**
 * Tokens of a run, padding included; a longer text runs alone. Larger ones gain nothing (`load embed model`) and hold
 * others up.
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
  /** Numbers are fixed lengths; texts name those that a run decides. */
  shape: readonly (number | string)[];
}

export interface ModelSession {
  /** Those of 32-bit floats. */
  readonly outputs: readonly OutputPlan[];
  /** Runs a batch, shorter encodings padded to the length of the longest. Rejects where the runtime refuses it. */
  run(batch: readonly Encoding[], output: string): Promise<Output>;
}

type Fill = (cells: BigInt64Array, encoding: Encoding) => void;

/** How a row of each input is filled; what lies behind the encoding stays as padding. */
const FILLS: Readonly<Record<string, Fill>> = {
  input_ids: (cells, { ids }) => ids.forEach((id, i) => (cells[i] = BigInt(id))),
  attention_mask: (cells, { ids }) => cells.fill(1n, 0, ids.length),
  token_type_ids: (cells, { types }) => types?.forEach((type, i) => (cells[i] = BigInt(type))),
  position_ids: (cells) => cells.forEach((_, i) => (cells[i] = BigInt(i))),
};
/** Errors come as exceptions; the log has them once. */
const FATAL_ONLY = 4;

/** Rejects where the graph is broken, or wants inputs that are not a text's. `threads`: those that one run may use. */
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
    // A thread without work would else spin for a while, on a core that a shard worker wants.
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
      throw new Error(`${file} wants an input ${meta.name}; known are ${Object.keys(FILLS).join(', ')}`);
    if (!meta.isTensor || meta.type !== 'int64')
      throw new Error(`${file} wants ${meta.name} as ${meta.isTensor ? meta.type : 'no tensor'}, not int64`);
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
