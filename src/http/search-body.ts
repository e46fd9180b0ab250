// The body of a search. Where it has a vector, that is most of it, and is read number by number straight into float32;
// JSON.parse gets the rest. Whatever is not plain, an error too, JSON.parse gets as a whole. Used by the search
// handlers (endpoints/search.ts), front thread.
import { afterSpace, JsonFloats } from '../base/json-floats.js';
import { DIM_MAX } from '../contract/limits.js';
import { parseJson } from './validation.js';

export interface SearchBodyText {
  /** Not validated. Its `v` is null where `vector` is given. */
  body: unknown;
  vector?: Float32Array;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
const COLON = 0x3a;
const COMMA = 0x2c;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const LOWER_V = 0x76;
const NULL = Buffer.from('null');
const NAME = '"v"';

export class SearchBodyReader {
  private readonly floats = new JsonFloats(DIM_MAX);

  /** Throws 400 `invalid_json`. */
  read(bytes: Buffer): SearchBodyText {
    const start = vectorAt(bytes);
    const vector = start === undefined ? undefined : this.floats.read(bytes, start);
    if (start === undefined || !vector) return { body: parseJson(bytes) };
    const rest = bytes.subarray(this.floats.end);
    // A name that comes twice counts the second time; it may be written with escapes.
    if (rest.includes(NAME) || rest.includes(BACKSLASH)) return { body: parseJson(bytes) };
    return { body: parseJson(Buffer.concat([bytes.subarray(0, start), NULL, rest])), vector };
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

/** Behind the string that begins at `start`. */
function stringEnd(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}
