// Checks a vector that a caller brought and turns it into float32.
// Used for ingest by the batch workers and for searches on the front thread.
import { AppError, invalidField } from './errors.js';

/** `dim` float32 numbers. Throws `dim_mismatch` for another length; 422 for numbers that float32 cannot hold, or all zero. */
export function toVector(numbers: readonly number[], dim: number, loc: (string | number)[] = ['body', 'vector']): Float32Array {
  if (numbers.length !== dim) {
    throw new AppError('dim_mismatch', `The vector has ${numbers.length} dimensions, the collection ${dim}.`, { details: { expected: dim, got: numbers.length } });
  }
  const vector = new Float32Array(numbers);
  const bad = vector.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw invalidField([...loc, bad], 'a finite float32 number is wanted', 'finite_number', String(numbers[bad]));
  if (vector.every((value) => value === 0)) throw invalidField(loc, 'a zero vector has no direction', 'zero_vector');
  return vector;
}
