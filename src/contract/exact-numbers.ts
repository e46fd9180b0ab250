// The refusal of numbers that JSON would change without a word, for all that take metadata or filters. Pure.
import { changedNumber } from '../base/exact-numbers.js';
import { invalidField } from './errors.js';

const TOLD_CHARACTERS_MAX = 40;

/**
 * Throws a 422 for a number of a good JSON text that would be kept, or compared, as another one. `names`: below keys of
 * these names alone.
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
