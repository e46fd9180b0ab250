// Converts encodings to unit vectors: chooses the output of the graph and pools token vectors (Pooling of
// sentence-transformers). Plain loops over typed arrays, without state. Embed workers.
import type { OnnxModel, Pooling } from '../embedder-spec.js';
import type { ModelSession, Output, OutputPlan } from './session.js';
import type { Encoding } from './tokenizer.js';

/**
 * `tokens` has one row of `vector.length` numbers per token; the first `count` rows are the text's, the rest is
 * padding.
 */
type Pool = (vector: Float32Array, tokens: Float32Array, count: number) => void;

export const POOLS: Readonly<Record<Pooling, Pool>> = {
  mean: (vector, tokens, count) => addScaled(vector, tokens, count, 1 / count),
  mean_sqrt_len: (vector, tokens, count) => addScaled(vector, tokens, count, 1 / Math.sqrt(count)),
  max: (vector, tokens, count) => {
    const dim = vector.length;
    vector.fill(-Infinity);
    for (let at = 0; at < count * dim; at += dim) {
      for (let i = 0; i < dim; i++) vector[i] = Math.max(vector[i]!, tokens[at + i]!);
    }
  },
  cls: (vector, tokens) => vector.set(tokens.subarray(0, vector.length)),
  last_token: (vector, tokens, count) =>
    vector.set(tokens.subarray((count - 1) * vector.length, count * vector.length)),
};

/** Sums in token order and scales last, like the reference implementation. */
function addScaled(vector: Float32Array, tokens: Float32Array, count: number, factor: number): void {
  const dim = vector.length;
  const sum = new Float64Array(dim);
  for (let at = 0; at < count * dim; at += dim) {
    for (let i = 0; i < dim; i++) sum[i]! += tokens[at + i]!;
  }
  for (let i = 0; i < dim; i++) vector[i] = sum[i]! * factor;
}

/**
 * Writes the first `row.length` numbers of `vector` to `row`, normalized to length 1. A zero vector stays zero, as in
 * the built-in embedder: it carries no information about its text. Returns false if a component is not finite.
 */
export function writeUnit(row: Float32Array, vector: Float32Array): boolean {
  let squares = 0;
  for (let i = 0; i < row.length; i++) squares += vector[i]! * vector[i]!;
  if (!Number.isFinite(squares)) return false;
  const factor = squares > 0 ? 1 / Math.sqrt(squares) : 0;
  for (let i = 0; i < row.length; i++) row[i] = vector[i]! * factor;
  return true;
}

/** One row of `dim` numbers per encoding. Rejects if the model rejects the batch or returns non-finite numbers. */
export type Vectorize = (batch: readonly Encoding[]) => Promise<Float32Array>;

const OWN_VECTOR = 'sentence_embedding';

/** Throws if the graph has no output that fits the model folder. */
export function createVectorize(session: ModelSession, model: OnnxModel): Vectorize {
  const output = chooseOutput(session.outputs, model);
  const isPooled = output.shape.length === 2;
  return async (batch) => {
    const answer = await session.run(batch, output.name);
    checkShape(answer, batch.length, isPooled, model);
    return unitRows(answer, batch, isPooled, model);
  };
}

/** The graph's own vector if it is to be used, else the token vectors. */
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
        ? `${OWN_VECTOR}, which the modules of its folder require`
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
  throw new Error(`the model gave [${shape.join(', ')}] for ${rows} texts with ${modelDim} dimensions`);
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
      throw new Error('the model gave non-finite numbers');
  });
  return rows;
}
