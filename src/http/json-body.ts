// JSON bodies and query strings: size bounds, parsing, and the `detail` entries of a 422. Runs on front threads and on
// the main thread.
import { isAscii } from 'node:buffer';
import type { IValidation } from 'typia';
import { AppError, type ValidationDetail } from '../api/errors.js';
import { JSON_BODY_SHAPE, REPORTED_NAME_CHARACTERS_MAX } from '../api/limits.js';
import { assertExactNumbers } from '../api/numbers.js';

/** Bounds on the JSON of a body. */
interface JsonShape {
  readonly bytesMax: number;
  /** Field names in all objects together. */
  readonly namesMax: number;
  /** Values in all lists and objects together. */
  readonly valuesMax: number;
  /** Nesting depth of lists and objects. */
  readonly levelsMax: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
/** Brackets and braces differ in this bit only. */
const CASE_BIT = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Checks the bounds on the raw bytes before parsing, because parsing and validation take time per value and block the
 * thread. Invalid JSON is left for the parser to report. Throws 413 `request_too_large`, with the bound in
 * `details`.
 */
function checkJsonShape(bytes: Uint8Array, shape: JsonShape): void {
  if (bytes.length > shape.bytesMax) throw tooMany('bytes', shape.bytesMax);
  let [names, values, level] = [0, 1, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1;
    else if (byte === COLON && ++names > shape.namesMax) throw tooMany('names', shape.namesMax);
    else if (byte === COMMA && ++values > shape.valuesMax) throw tooMany('values', shape.valuesMax);
    else if ((byte | CASE_BIT) === OPEN_BRACE && ++level > shape.levelsMax) throw tooMany('levels', shape.levelsMax);
    else if ((byte | CASE_BIT) === CLOSE_BRACE) level--;
  }
}

/**
 * The position after the string that begins at `start`; at or beyond the end of the text if the string is unterminated.
 */
export function stringEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

function tooMany(what: 'bytes' | 'names' | 'values' | 'levels', most: number): AppError {
  return new AppError('request_too_large', `The JSON of this body has at most ${most} ${what}.`, {
    details: { [`limit_${what}`]: most },
  });
}

/** Items of a batch that are parsed before other requests get the thread: about a millisecond. */
const PARSED_AT_ONCE = 64;

/** Parses the items of a batch and gives way to other requests in between. Throws as `parse` does. */
export async function parsedInTurns<T>(items: readonly Buffer[], parse: (item: Buffer) => T): Promise<T[]> {
  const parsed: T[] = [];
  for (const item of items) {
    if (parsed.length > 0 && parsed.length % PARSED_AT_ONCE === 0) await new Promise(setImmediate);
    parsed.push(parse(item));
  }
  return parsed;
}

/** Maximum number of entries in a 422. */
const DETAILS_MAX = 100;

/** The validated value. Throws AppError 422 with an entry per field that is wrong. `where` is `body` or `query`. */
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

/** Numbers below these fields must be exact, because they are stored or compared with stored values. */
const EXACT: ReadonlySet<string> = new Set(['metadata', 'filters']);

/**
 * Parses a JSON body. An empty body is an empty object if `optional`. Throws 400 `invalid_json`, 413
 * `request_too_large` if it exceeds `shape`, and 422 for numbers in metadata and filters that a 64-bit float would
 * change.
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
 * Splits a path of typia: `$input.documents[3].text` becomes `documents`, 3, `text`. Keys that are not identifiers are
 * JSON strings in brackets.
 */
function segmentsOf(path: string): (string | number)[] {
  return Array.from(
    path.matchAll(/\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g),
    ([, name = '', index, quoted]) =>
      index !== undefined
        ? Number(index)
        : (quoted === undefined ? name : (JSON.parse(quoted) as string)).slice(0, REPORTED_NAME_CHARACTERS_MAX),
  );
}

/** Turns a type expression of typia into words: `(null | string | undefined)` becomes `string`. */
function wordsFor(expected: string): string {
  const words = expected
    .replace(/[()]/g, '')
    .split(' | ')
    .filter((word) => word !== 'null' && word !== 'undefined')
    .map((word) => (word.startsWith('Array<') ? 'a list' : /^[A-Z_]/.test(word) ? 'an object' : word));
  return (
    [...new Set(words)]
      .join(' or ')
      // A negative number fails the type before it fails its minimum.
      .replace(/number & Type<"uint\d+">(?! &)/g, 'a whole number, at least 0')
      .replace(/number & Type<"u?int\d+">/g, 'a whole number')
      .replace(/Minimum<(-?\d+)>/g, 'at least $1')
      .replace(/Maximum<(-?\d+)>/g, 'at most $1')
      .replace(/MinLength<(\d+)>/g, 'not empty')
      .replace(/ & /g, ', ')
  );
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

/** The caller's value as an error repeats it; undefined for objects and lists. */
function told(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, 200);
  return typeof value === 'object' && value !== null ? undefined : value;
}
