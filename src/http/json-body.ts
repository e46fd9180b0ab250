// Bodies and query strings against their typia types: what does not fit becomes the `detail` entries of a 422. Pure.
// Called by the handlers (endpoints/), on the front thread.
import { isAscii } from 'node:buffer';
import type { IValidation } from 'typia';
import { AppError, type ValidationDetail } from '../contract/errors.js';
import { assertExactNumbers } from '../contract/exact-numbers.js';
import { JSON_BODY_SHAPE } from '../contract/limits.js';
import { checkJsonShape, type JsonShape } from './json-shape.js';

/** Entries of one 422. */
const DETAILS_MAX = 100;
/** Of a name that the caller has made up, as it is told back. */
const NAME_CHARACTERS_MAX = 100;

/** The value where it fits, else AppError 422 with an entry for each field. `where` is `body` or `query`. */
export function fitting<T>(result: IValidation<T>, where: 'body' | 'query'): T {
  if (result.success) return result.data;
  const details = new Map<string, ValidationDetail>();
  for (const error of result.errors) {
    const detail = detailOf(error, where);
    const place = detail.loc.join('.');
    if (!details.has(place)) details.set(place, detail);
    if (details.size === DETAILS_MAX) break;
  }
  const [first] = details.values();
  throw new AppError('validation_error', `${first?.loc.join('.')}: ${first?.msg}`, { detail: [...details.values()] });
}

/** What stands below these names is kept, or compared with what was. */
const EXACT: ReadonlySet<string> = new Set(['metadata', 'filters']);

/**
 * JSON of a body; an empty body is an empty object where `optional`. Throws 400 `invalid_json`, 413
 * `request_too_large` for more than `shape` allows, and 422 for numbers in metadata and filters that would not be what
 * the caller wrote.
 */
export function parseJson(bytes: Buffer, optional = false, shape: JsonShape = JSON_BODY_SHAPE): unknown {
  if (optional && bytes.length === 0) return {};
  checkJsonShape(bytes, shape);
  let text: string;
  let value: unknown;
  try {
    text = isAscii(bytes) ? bytes.toString('latin1') : new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    throw new AppError('invalid_json');
  }
  assertExactNumbers(text, EXACT);
  return value;
}

function detailOf({ path, expected, value }: IValidation.IError, where: string): ValidationDetail {
  const loc = [where, ...segmentsOf(path)];
  if (expected === 'undefined')
    return { loc, msg: 'There is no such field.', type: 'extra_forbidden', input: told(value) };
  if (value === undefined) return { loc, msg: 'Field required.', type: 'missing' };
  return { loc, msg: `Should be ${wordsFor(expected)}.`, type: typeFor(expected, value), input: told(value) };
}

/**
 * `$input.documents[3].text` is `documents`, 3, `text`; keys that are no identifiers stand in brackets as JSON strings.
 */
function segmentsOf(path: string): (string | number)[] {
  return Array.from(
    path.matchAll(/\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g),
    ([, name = '', index, quoted]) =>
      index !== undefined
        ? Number(index)
        : (quoted === undefined ? name : (JSON.parse(quoted) as string)).slice(0, NAME_CHARACTERS_MAX),
  );
}

/** typia's type text without its notation: `(null | string | undefined)` is `string`. */
function wordsFor(expected: string): string {
  const words = expected
    .replace(/[()]/g, '')
    .split(' | ')
    .filter((word) => word !== 'null' && word !== 'undefined');
  return words
    .join(' or ')
    .replace(/number & Type<"u?int\d+">/g, 'a whole number')
    .replace(/Minimum<(-?\d+)>/g, 'at least $1')
    .replace(/Maximum<(-?\d+)>/g, 'at most $1')
    .replace(/MinLength<(\d+)>/g, 'not empty')
    .replace(/ & /g, ', ');
}

function typeFor(expected: string, value: unknown): string {
  if (typeof value === 'number' && /Minimum|Maximum/.test(expected)) return 'out_of_range';
  if (typeof value === 'string' && expected.includes('MinLength')) return 'too_short';
  if (/Type<"u?int/.test(expected)) return 'int_type';
  if (expected.includes('Array')) return 'list_type';
  if (expected.includes('"')) return 'literal_error';
  const plain = ['string', 'number', 'boolean'].find((type) => expected.includes(type));
  return plain ? `${plain}_type` : 'type_error';
}

/** What the caller gave, where it is short enough to give back. */
function told(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, 200);
  return typeof value === 'object' && value !== null ? undefined : value;
}
