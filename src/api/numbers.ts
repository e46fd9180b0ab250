// Numbers of callers: a vector is checked and turned into float32, and what JSON would change without a word is
// refused. Pure.
import { changedNumber } from '../base/json.js';
import { AppError, invalidField } from './errors.js';

/**
 * `dim` float32 numbers; those of a Float32Array are not copied. Throws `dim_mismatch` for another length; 422 for
 * numbers that float32 cannot hold, or all zero.
 */
export function toVector(
  numbers: ArrayLike<number>,
  dim: number,
  loc: (string | number)[] = ['body', 'vector'],
): Float32Array {
  if (numbers.length !== dim) {
    throw new AppError('dim_mismatch', `The vector has ${numbers.length} dimensions, the collection ${dim}.`, {
      details: { expected: dim, got: numbers.length },
    });
  }
  const vector = numbers instanceof Float32Array ? numbers : new Float32Array(numbers);
  let isZero = true;
  for (let i = 0; i < dim; i++) {
    const value = vector[i] as number;
    if (!Number.isFinite(value))
      throw invalidField([...loc, i], 'a finite float32 number is wanted', 'finite_number', String(numbers[i]));
    if (value !== 0) isZero = false;
  }
  if (isZero) throw invalidField(loc, 'a zero vector has no direction', 'zero_vector');
  return vector;
}

const TOLD_CHARACTERS_MAX = 40;

/**
 * The refusal of numbers that JSON would change without a word, for all that take metadata or filters. Throws a 422 for
 * a number of a good JSON text that would be kept, or compared, as another one. `names`: below keys of these names
 * alone.
 */
export function assertExactNumbers(json: string, names?: ReadonlySet<string>): void {
  const number = changedNumber(json, names);
  if (number === undefined) return;
  const told = number.length > TOLD_CHARACTERS_MAX ? `${number.slice(0, TOLD_CHARACTERS_MAX)}…` : number;
  throw invalidField(
    ['body'],
    `${told} would not be kept as it is written, for a number is a 64-bit float: send it as a string`,
    'number_not_exact',
    told,
  );
}
