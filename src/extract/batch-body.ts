// Splits the body of a batch, such as `{"documents":[…]}`, in JSON or in MessagePack, into its items
// without parsing them, and packs items into slices, so that each slice can be parsed by itself: JSON with one text per
// line, MessagePack with one value behind the other. Only what surrounds the items is parsed here; errors within an item
// show when that is parsed. Pure functions.
import { AppError, invalidField } from '../api/errors.js';
import { REPORTED_NAME_CHARACTERS_MAX } from '../api/limits.js';
import { splitMsgpack } from '../api/msgpack.js';
import type { LineSlice } from './messages.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
/** Brackets and braces differ only in this bit. */
const CASE_BIT = 0x20;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SQUARE = 0x5b;
const CLOSE_SQUARE = 0x5d;

/** Maximum size of the JSON around the items, which is parsed as a whole. */
const SKELETON_BYTES_MAX = 64 * 1024;

interface SplitBatch {
  /** The value of the body, with an empty list in place of the items. */
  skeleton: unknown;
  /** The number of items. */
  count: number;
  /** The bytes of each item, as views of the body; empty if there is no list or it has more than `itemsMax` items. */
  items: Uint8Array[];
}

/** What the body of a batch is to look like. */
export interface BatchForm {
  /** The field that has the list of the items. */
  readonly field: 'documents' | 'searches' | 'queries';
  readonly itemsMax: number;
  readonly isMsgpack: boolean;
}

/**
 * The bytes of each item of a batch, as views of the body. Throws `invalid_json` or `invalid_msgpack`, 422 if the body is
 * not an object with a list of at least one item, and 413 for more than `itemsMax` items.
 */
export function batchItems(bytes: Uint8Array, { field, itemsMax, isMsgpack }: BatchForm): Uint8Array[] {
  const { skeleton, count, items } = isMsgpack
    ? splitMsgpack(bufferOf(bytes), field, itemsMax)
    : splitJson(bytes, field, itemsMax);
  if (typeof skeleton !== 'object' || skeleton === null || Array.isArray(skeleton))
    throw invalidField(['body'], 'Should be an object.', 'type_error');
  const { [field]: list, ...others } = skeleton as Record<string, unknown>;
  const [extra] = Object.keys(others);
  if (extra !== undefined)
    throw invalidField(
      ['body', extra.slice(0, REPORTED_NAME_CHARACTERS_MAX)],
      'There is no such field.',
      'extra_forbidden',
    );
  if (list === undefined) throw invalidField(['body', field], 'Field required.', 'missing');
  if (!Array.isArray(list)) throw invalidField(['body', field], 'Should be a list.', 'list_type');
  if (count === 0) throw invalidField(['body', field], 'Should have at least one item.', 'too_short');
  if (count > itemsMax) {
    const more = field === 'documents' ? '; NDJSON has no limit' : '';
    throw new AppError('request_too_large', `A batch must have at most ${itemsMax} ${field}${more}.`, {
      details: { limit_items: itemsMax, items: count },
    });
  }
  return items;
}

function splitJson(bytes: Uint8Array, field: BatchForm['field'], itemsMax: number): SplitBatch {
  try {
    return splitBatch(bytes, field, itemsMax);
  } catch (error) {
    if (error instanceof RangeError)
      throw invalidField(
        ['body'],
        `Should be an object with the list \`${field}\` and nothing else.`,
        'extra_forbidden',
      );
    throw new AppError('invalid_json');
  }
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

interface List {
  /** Offset of the opening bracket. */
  start: number;
  /** Offset after the closing bracket. */
  end: number;
  count: number;
  /** [start, end) of each item, up to `itemsMax` items. */
  items: [number, number][];
}

/**
 * Throws SyntaxError if the body is invalid JSON, as far as this shows without parsing items; TypeError if it is
 * invalid UTF-8; RangeError if it has more than 64 KiB outside of its items.
 */
export function splitBatch(body: Uint8Array, field: string, itemsMax = Infinity): SplitBatch {
  const list = findList(body, JSON.stringify(field), itemsMax);
  if (!list) return { skeleton: parse(body), count: 0, items: [] };
  const skeleton = parse(Buffer.concat([body.subarray(0, list.start + 1), body.subarray(list.end - 1)]));
  const items = list.count > itemsMax ? [] : list.items;
  return { skeleton, count: list.count, items: items.map(([start, end]) => notBlank(body.subarray(start, end))) };
}

const parse = (bytes: Uint8Array): unknown => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));

/** The list under this key of the outermost object; the last one if there are several, as in JSON.parse. */
function findList(body: Uint8Array, quotedField: string, itemsMax: number): List | undefined {
  let found: List | undefined;
  let depth = 0;
  let key = '';
  let itemBytes = 0;
  for (let at = 0; at < body.length; ) {
    const byte = body[at] as number;
    if (at - itemBytes > SKELETON_BYTES_MAX) throw new RangeError('there is too much beside the items');
    if (byte === SQUARE && depth === 1 && key === quotedField) {
      found = readList(body, at, itemsMax);
      itemBytes += found.end - at;
      at = found.end;
      continue;
    }
    const end = byte === QUOTE ? endOfString(body, at) : at + 1;
    if (byte === QUOTE && depth === 1) key = plainKey(body.subarray(at, end));
    else if (byte === COMMA && depth === 1) key = '';
    depth += depthChange(byte);
    at = end;
  }
  return found;
}

/** `start` is the opening bracket. A list that does not end, or ends with a brace, makes the skeleton invalid JSON. */
function readList(body: Uint8Array, start: number, itemsMax: number): List {
  let count = 0;
  const items: [number, number][] = [];
  let depth = 0;
  let itemAt = start + 1;
  let at = itemAt;
  for (; at < body.length && depth >= 0; ) {
    const byte = body[at] as number;
    if (byte === COMMA && depth === 0) {
      if (++count <= itemsMax) items.push([itemAt, at]);
      itemAt = at + 1;
    }
    const end = byte === SQUARE ? endOfPlainList(body, at) : undefined;
    if (end === undefined) depth += depthChange(byte);
    at = end ?? (byte === QUOTE ? endOfString(body, at) : at + 1);
  }
  const isEmpty = count === 0 && isBlank(body.subarray(itemAt, at - 1));
  if (!isEmpty) items.push([itemAt, at - 1]);
  return { start, end: at, count: isEmpty ? 0 : count + 1, items };
}

/**
 * The offset after a list of numbers, such as a vector, which is found without looking at each byte. Undefined for a list
 * that may hold strings, lists or objects. The search ends where the next list begins, so that nested lists take no longer
 * than others.
 */
function endOfPlainList(body: Uint8Array, start: number): number | undefined {
  const next = body.indexOf(SQUARE, start + 1);
  const content = body.subarray(start + 1, next < 0 ? body.length : next);
  const length = content.indexOf(CLOSE_SQUARE);
  if (length < 0) return undefined;
  const numbers = content.subarray(0, length);
  return numbers.includes(QUOTE) || numbers.includes(OPEN_BRACE) ? undefined : start + length + 2;
}

function depthChange(byte: number): number {
  const brace = byte | CASE_BIT;
  return brace === OPEN_BRACE ? 1 : brace === CLOSE_BRACE ? -1 : 0;
}

/** `start` is the opening quote; returns the offset after the closing one, or the end of the body. */
function endOfString(body: Uint8Array, start: number): number {
  for (let quote = body.indexOf(QUOTE, start + 1); quote >= 0; quote = body.indexOf(QUOTE, quote + 1)) {
    let backslashes = 0;
    while (body[quote - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return body.length;
}

/** The key in its form without escapes; '' for a key that cannot be `documents`. */
function plainKey(quoted: Uint8Array): string {
  if (quoted.length > 64) return '';
  try {
    return JSON.stringify(parse(quoted));
  } catch {
    return '';
  }
}

function notBlank(item: Uint8Array): Uint8Array {
  if (isBlank(item)) throw new SyntaxError('an item is missing');
  return item;
}

/** Whether all bytes are JSON white space. */
function isBlank(bytes: Uint8Array): boolean {
  return bytes.every(isSpace);
}

/** Whether the byte is JSON white space. */
export const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

export const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Maximum size of a message to a batch worker: some milliseconds of work. */
export const SLICE_LINES_MAX = 256;
export const SLICE_BYTES_MAX = 256 * 1024;

/** Packs items into slices, each in a buffer of its own. A single item may exceed the size of a slice. */
export function sliceItems(items: readonly Uint8Array[], isMsgpack = false): LineSlice[] {
  const slices: LineSlice[] = [];
  for (let from = 0; from < items.length; ) {
    let to = from;
    let bytes = 0;
    while (
      to < items.length &&
      to - from < SLICE_LINES_MAX &&
      (to === from || bytes + (items[to] as Uint8Array).length < SLICE_BYTES_MAX)
    ) {
      bytes += (items[to++] as Uint8Array).length;
    }
    const slice = items.slice(from, to);
    slices.push(isMsgpack ? packedSliceOf(slice) : sliceOf(slice.map((item) => [item])));
    from = to;
  }
  return slices;
}

function packedSliceOf(items: readonly Uint8Array[]): LineSlice {
  const joined = Buffer.allocUnsafeSlow(items.reduce(added, 0));
  let at = 0;
  for (const item of items) {
    joined.set(item, at);
    at += item.length;
  }
  return { bytes: joined, lines: items.length, isMsgpack: true };
}

/**
 * Packs items, each given as a list of pieces, into a slice. Line breaks inside an item become carriage returns, which
 * are also white space in JSON and also invalid in strings.
 */
export function sliceOf(items: readonly (readonly Uint8Array[])[]): LineSlice {
  const joined = Buffer.allocUnsafeSlow(items.reduce((sum, pieces) => pieces.reduce(added, sum + 1), 0));
  let at = 0;
  for (const item of items) {
    let end = at;
    for (const piece of item) {
      joined.set(piece, end);
      end += piece.length;
    }
    replaceBreaks(joined.subarray(at, end));
    joined[end] = NEWLINE;
    at = end + 1;
  }
  return { bytes: joined, lines: items.length };
}

function replaceBreaks(item: Uint8Array): void {
  for (let lf = item.indexOf(NEWLINE); lf >= 0; lf = item.indexOf(NEWLINE, lf)) item[lf] = CARRIAGE_RETURN;
}

const added = (sum: number, { length }: Uint8Array): number => sum + length;

/** The texts of the lines that are not blank; undefined for a line with invalid UTF-8. */
export function textsOfLines(bytes: Uint8Array): (string | undefined)[] {
  const whole = decoded(bytes);
  const lines = whole === undefined ? linesOf(bytes).map(decoded) : whole.split('\n');
  return lines.filter((line) => line === undefined || /[^ \t\r]/.test(line));
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function linesOf(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, from);
    const end = newline < 0 ? bytes.length : newline;
    lines.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return lines;
}
