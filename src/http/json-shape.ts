// How much JSON a body may hold, told from its bytes before it is parsed: parsing and checking cost time for each value,
// and the front thread answers nobody meanwhile. What is no JSON is left to the parser. Pure. Used by validation.ts.
import { AppError } from '../contract/errors.js';

export interface JsonShape {
  readonly bytesMax: number;
  /** Names in all of its objects together. */
  readonly namesMax: number;
  /** Values in all of its lists and objects together. */
  readonly valuesMax: number;
  /** How deep lists and objects stand in each other. */
  readonly levelsMax: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
/** Brackets and braces differ in this bit alone. */
const CASE_BIT = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Throws 413 `request_too_large`, with the bound in `details`, where the text has more of something than it may. */
export function checkJsonShape(bytes: Uint8Array, shape: JsonShape): void {
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

/** Behind the string that begins at `start`; at least the end of the text where it does not end. */
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
