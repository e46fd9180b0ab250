// Validation of numbers and times from callers: vectors, as numbers or as bytes, become float32, numbers that a 64-bit
// float would change are rejected, and times of expiry become whole seconds. Pure.
import { changedNumber } from '../base/json.js';
import { AppError, invalidField } from './errors.js';
import { EXPIRY_MAX_S } from './limits.js';

/**
 * Validates a vector and converts it to `dim` float32 numbers; a Float32Array is not copied. Throws `dim_mismatch` for
 * another length, and 422 for numbers that float32 cannot represent and for a zero vector.
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
      throw invalidField([...loc, i], 'Should be a finite float32 number.', 'finite_number', String(numbers[i]));
    if (value !== 0) isZero = false;
  }
  if (isZero) throw invalidField(loc, 'Should not be a zero vector, which has no direction.', 'zero_vector');
  return vector;
}

/** A vector from the bytes of little-endian float32 numbers, which are copied. Throws 422 for a part of a number. */
export function vectorOfBytes(bytes: Uint8Array, loc: (string | number)[]): Float32Array {
  if (bytes.length % Float32Array.BYTES_PER_ELEMENT !== 0)
    throw invalidField(
      loc,
      `Should be little-endian float32, 4 bytes for each dimension of the collection; it has ${bytes.length} bytes.`,
      'vector_bytes',
    );
  return new Float32Array(new Uint8Array(bytes).buffer);
}

/** The same from base64 text. Throws 422 for a text that is not base64, or empty. */
export function vectorOfBase64(text: string, loc: (string | number)[]): Float32Array {
  const bytes = Buffer.from(text, 'base64');
  // Node skips what is not base64, so the bytes are then fewer than the text has space for.
  if (bytes.length === 0 || bytes.length !== Buffer.byteLength(text, 'base64'))
    throw invalidField(loc, 'Should be base64 of little-endian float32 numbers.', 'base64');
  return vectorOfBytes(bytes, loc);
}

const SHOWN_CHARACTERS_MAX = 40;

/**
 * Throws 422 if a number in valid JSON would be stored or compared as a different number. `names` restricts the check
 * to values below keys of these names.
 */
export function assertExactNumbers(json: string, names?: ReadonlySet<string>): void {
  const number = changedNumber(json, names);
  if (number === undefined) return;
  const told = number.length > SHOWN_CHARACTERS_MAX ? `${number.slice(0, SHOWN_CHARACTERS_MAX)}…` : number;
  throw invalidField(
    ['body'],
    `${told} is not exact as a 64-bit float and would not be kept as it is written: send it as a string.`,
    'number_not_exact',
    told,
  );
}

const ISO_TIME = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/**
 * Milliseconds of an ISO 8601 date or time; undefined for any other text. A time without a zone is UTC, so that results
 * do not depend on the server's location.
 */
export function timeOf(text: string): number | undefined {
  const match = ISO_TIME.exec(text);
  if (!match) return undefined;
  const zoned = match[1] === undefined || match[4] !== undefined ? text : `${text}Z`;
  const timeMs = Date.parse(zoned.replace(' ', 'T'));
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

/** The text that stands for no expiry. */
const EXPIRES_NEVER = 'never';

/**
 * The second of an `expires_at`: an ISO 8601 time or seconds since 1970, rounded up to a whole second, or `never`, which
 * is 0. Throws 422 for anything else.
 */
export function expirySecond(time: string | number, loc: (string | number)[] = ['body', 'expires_at']): number {
  if (time === EXPIRES_NEVER) return 0;
  const seconds = typeof time === 'string' ? (timeOf(time) ?? NaN) / 1000 : time;
  const second = Math.ceil(seconds);
  if (second >= 1 && second <= EXPIRY_MAX_S) return second;
  throw invalidField(
    loc,
    'Should be an ISO 8601 time, seconds since 1970, up to the year 2106, or `never`.',
    'expiry_time',
    typeof time === 'string' ? time.slice(0, SHOWN_CHARACTERS_MAX) : time,
  );
}
