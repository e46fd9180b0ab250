// Whether a text's vector depends on the others of its run. It does with graphs that are quantized dynamically: the
// scale of their activations is taken over the whole batch, which moves vectors as far as the quantization itself
// (cosine .99 with all-MiniLM-L6-v2 in int8). Run alone, a text gives the same bits always. Called by onnx-runner.ts;
// embed workers.
import type { Vectorize } from './text-vectors.js';
import type { Encoding } from './tokenizer.js';

/** Of different length, so that one is padded. */
const TEXTS = ['wing', 'The boundary layer of a wing, heated from within; in three parts.'];
/**
 * What rounding may change of a component of a vector of length 1, many times over; quantization changes more than ten
 * times this.
 */
const ROUNDING = 1e-4;

/** Rejects where the model does not run. */
export async function dependsOnCompany(vectorize: Vectorize, encode: (text: string) => Encoding): Promise<boolean> {
  const [first, second] = TEXTS.map(encode) as [Encoding, Encoding];
  const alone = [...(await vectorize([first])), ...(await vectorize([second]))];
  const together = await vectorize([first, second]);
  return together.some((value, i) => Math.abs(value - (alone[i] as number)) > ROUNDING);
}
