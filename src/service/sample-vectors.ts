// Use case: some of a collection's vectors, spread evenly, to be drawn. Rounded to a byte a component: a picture shows
// no more, and a page of a browser gets them in a quarter of the bytes. Called by its endpoint; front thread, a page of
// vectors at a time.
import { VECTOR_SAMPLE_COMPONENTS_MAX } from '../contract/limits.js';
import type { SampledVector } from '../contract/api/vectors.js';
import type { Collection } from '../contract/resources.js';
import type { Context } from './context.js';
import { storedQuestions } from './recall-questions.js';

const BYTE_MAX = 127;

/** Throws as storedQuestions does. */
export async function sampleVectors(
  context: Context,
  collection: Collection,
  sample: number,
  signal: AbortSignal,
): Promise<SampledVector[]> {
  const countMax = Math.max(1, Math.min(sample, Math.floor(VECTOR_SAMPLE_COMPONENTS_MAX / collection.dim)));
  const found: SampledVector[] = [];
  for await (const { own: rid = '', vector } of storedQuestions(context, collection, countMax)) {
    if (signal.aborted || found.length === countMax) break;
    found.push({ rid, ...inBytes(vector) });
  }
  return found;
}

function inBytes(vector: Float32Array): Omit<SampledVector, 'rid'> {
  const largest = vector.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
  const scale = largest / BYTE_MAX;
  const bytes = Int8Array.from(vector, (value) => Math.round(value / scale));
  return { scale, components: Buffer.from(bytes.buffer).toString('base64') };
}
