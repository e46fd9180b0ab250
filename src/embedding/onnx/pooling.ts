// Encodings to vectors of length 1 by one model: which output of the graph is taken, and how. Called by the batcher,
// one run at a time; embed workers.
import type { OnnxModel } from '../../../src/contract/embedder.js';
import { POOLS, writeUnit } from './pooling.js';
import type { ModelSession, Output, OutputPlan } from './session.js';
import type { Encoding } from './tokenizer.js';

/** A row of `dim` numbers for each encoding. Rejects where the model refuses the batch, or gives what is no number. */
export type Vectorize = (batch: readonly Encoding[]) => Promise<Float32Array>;

const OWN_VECTOR = 'sentence_embedding';

/** Throws where the graph has no output that fits the model's folder. */
export function createVectorize(session: ModelSession, model: OnnxModel): Vectorize {
  const output = chooseOutput(session.outputs, model);
  const isPooled = output.shape.length === 2;
  return async (batch) => {
    const answer = await session.run(batch, output.name);
    checkShape(answer, batch.length, isPooled, model);
    return unitRows(answer, batch, isPooled, model);
  };
}

/** The graph's own vector where it counts, else the vectors of the tokens. */
function chooseOutput(outputs: readonly OutputPlan[], { ownVector, modelDim, file }: OnnxModel): OutputPlan {
  const named = (name: string, rank: number): OutputPlan | undefined =>
    outputs.find((output) => output.name === name && output.shape.length === rank);
  const own = ownVector === 'never' ? undefined : named(OWN_VECTOR, 2);
  const tokens =
    ownVector === 'always'
      ? undefined
      : (named('last_hidden_state', 3) ??
        named('token_embeddings', 3) ??
        outputs.find(({ shape }) => shape.length === 3));
  const output = own ?? tokens;
  if (!output) {
    const wanted =
      ownVector === 'always'
        ? `${OWN_VECTOR}, which its folder's modules make necessary`
        : 'float32 vectors of the tokens';
    throw new Error(
      `${file} has no output of ${wanted}; it has ${outputs.map(({ name, shape }) => `${name} [${shape.join(', ')}]`).join(', ') || 'none of float32'}`,
    );
  }
  const dim = output.shape.at(-1);
  if (typeof dim === 'number' && dim !== modelDim)
    throw new Error(`${file} gives vectors of ${dim} numbers, not ${modelDim} as its folder says`);
  return output;
}

function checkShape({ shape }: Output, rows: number, isPooled: boolean, { modelDim }: OnnxModel): void {
  if (shape[0] === rows && shape.length === (isPooled ? 2 : 3) && shape.at(-1) === modelDim) return;
  throw new Error(`the model gave [${shape.join(', ')}] for ${rows} texts and ${modelDim} dimensions`);
}

function unitRows(
  { values, shape }: Output,
  batch: readonly Encoding[],
  isPooled: boolean,
  { modelDim, dim, pooling }: OnnxModel,
): Float32Array {
  const rows = new Float32Array(batch.length * dim);
  const pooled = new Float32Array(modelDim);
  const stride = values.length / (shape[0] as number);
  batch.forEach(({ ids }, i) => {
    const own = values.subarray(i * stride, (i + 1) * stride);
    if (!isPooled) POOLS[pooling](pooled, own, ids.length);
    if (!writeUnit(rows.subarray(i * dim, (i + 1) * dim), isPooled ? own : pooled))
      throw new Error('the model gave what is no number');
  });
  return rows;
}
