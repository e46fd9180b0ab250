// The query vector of a search by examples: with P the mean of the unit vectors of the examples and N that of the
// counterexamples, it is P, or 2 P - N if there are any (Rocchio 1971, with the weights 2 and 1). Pure; any thread.
import { invalidField } from '../../api/errors.js';
import type { LikeSettings } from './params.js';

/**
 * The query vector of the examples. `at` is where they stand in the request. Throws a 422 for one that is not stored, and
 * for vectors that cancel each other out.
 */
export function likeVector(
  { docids, chunks, not }: LikeSettings,
  vectors: readonly (Float32Array | undefined)[],
  at: readonly (string | number)[],
): Float32Array {
  const numbered = (place: string[], ids: readonly string[]): (string | number)[][] => ids.map((_, i) => [...place, i]);
  const places = [
    ...numbered(['docids'], docids),
    ...numbered(['chunks'], chunks),
    ...numbered(['not', 'docids'], not.docids),
    ...numbered(['not', 'chunks'], not.chunks),
  ];
  const known = places.map((place, i) => {
    const vector = vectors[i];
    if (!vector) throw invalidField([...at, ...place], 'The collection has nothing with this id.', 'not_found');
    return vector;
  });
  const count = docids.length + chunks.length;
  const examples = mean(known.slice(0, count));
  const against = known.length > count ? mean(known.slice(count)) : undefined;
  const vector = unit(against ? examples.map((value, i) => 2 * value - (against[i] as number)) : examples);
  if (!vector)
    throw invalidField([...at], 'The vectors of the examples cancel each other out; choose others.', 'value_error');
  return vector;
}

export function mean(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors)
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (vector[i] as number) / vectors.length;
  return sum;
}

/** Below this length the direction of a vector is chance. */
const LENGTH_MIN = 1e-4;

export function unit(vector: Float32Array): Float32Array | undefined {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length < LENGTH_MIN ? undefined : vector.map((value) => value / length);
}
