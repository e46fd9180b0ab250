// The body of a search. Where it has a vector, that is most of it, and is read number by number straight into float32;
// JSON.parse gets the rest, which is bounded. Used by the search handlers (endpoints/search.ts), front thread.
import { randomUUID } from 'node:crypto';
import { afterSpace, JsonFloats } from '../base/json-floats.js';
import { AppError, invalidField } from '../contract/errors.js';
import { DIM_MAX, JSON_BODY_SHAPE, SEARCH_BODY_SHAPE } from '../contract/limits.js';
import { stringEnd } from './json-shape.js';
import { parseJson } from './validation.js';

export interface SearchBodyText {
  /** Not validated. Its `v` is null where `vector` is given. */
  body: unknown;
  vector?: Float32Array;
}

const QUOTE = 0x22;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
const COLON = 0x3a;
const COMMA = 0x2c;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const LOWER_V = 0x76;

export class SearchBodyReader {
  private readonly floats = new JsonFloats(DIM_MAX);
  /** Stands in the text for the vector that was taken out: nobody else can write it. */
  private readonly mark = randomUUID();
  private readonly markJson = Buffer.from(JSON.stringify(this.mark));

  /** Throws 400 `invalid_json`, 413 for more than a search may hold, and 422 for a long vector that is none. */
  read(bytes: Buffer): SearchBodyText {
    const start = vectorAt(bytes);
    if (start === undefined || bytes[start] !== BRACKET_OPEN)
      return { body: parseJson(bytes, false, SEARCH_BODY_SHAPE) };
    const vector = this.floats.read(bytes, start);
    if (!vector) return { body: parseUnread(bytes) };
    const rest = Buffer.concat([bytes.subarray(0, start), this.markJson, bytes.subarray(this.floats.end)]);
    const body = parseJson(rest, false, SEARCH_BODY_SHAPE) as { v: unknown };
    // A name that comes twice counts the second time.
    if (body.v !== this.mark) return { body };
    body.v = null;
    return { body, vector };
  }
}

/** A short list of other forms of numbers, or of what are none, is told apart as any other JSON is. */
function parseUnread(bytes: Buffer): unknown {
  try {
    return parseJson(bytes, false, JSON_BODY_SHAPE);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'request_too_large') throw error;
    const msg = `Should be a list of at most ${DIM_MAX} plain numbers that float32 can hold.`;
    throw invalidField(['body', 'v'], msg, 'list_type');
  }
}

/**
 * Where the value of the first plain `"v"` of the outermost object begins; undefined where there is none, or the text
 * is not plain.
 */
function vectorAt(bytes: Buffer): number | undefined {
  let at = afterSpace(bytes, 0);
  if (bytes[at] !== BRACE_OPEN) return undefined;
  do {
    const name = afterSpace(bytes, at + 1);
    const nameEnd = stringEnd(bytes, name);
    const colon = afterSpace(bytes, nameEnd);
    if (bytes[name] !== QUOTE || bytes[colon] !== COLON) return undefined;
    const value = afterSpace(bytes, colon + 1);
    if (nameEnd === name + 3 && bytes[name + 1] === LOWER_V) return value;
    at = valueEnd(bytes, value);
  } while (bytes[at] === COMMA);
  return undefined;
}

/** The comma or brace behind a value of the outermost object. */
function valueEnd(bytes: Buffer, start: number): number {
  for (let at = start, depth = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1;
    else if (byte === BRACE_OPEN || byte === BRACKET_OPEN) depth++;
    else if (depth === 0 && (byte === COMMA || byte === BRACE_CLOSE)) return at;
    else if (byte === BRACE_CLOSE || byte === BRACKET_CLOSE) depth--;
  }
  return bytes.length;
}
