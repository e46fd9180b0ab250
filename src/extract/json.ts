// Extracts text from JSON: a `key: value` line per field, with the keys of nested objects joined by dots. In a list of
// objects, and in JSONL, each entry is a row of its own.
import { AppError } from '../api/errors.js';
import { type Budget, type Extracted, type Unit, type Units, flowOf } from './extracted.js';

/** Memory of an empty list or a short number in a list; measured as 40 bytes in Node 20. */
const VALUE_BYTES = 48;
const OPENS_OR_PARTS = new Set([...'[{,'].map((character) => character.charCodeAt(0)));

/**
 * Bounds the memory of a JSON text before it is parsed, because V8 cannot interrupt parsing, and a thread that runs out
 * of memory may crash the process (src/pool/batch-pool.ts). Throws AppError `file_unreadable` if the values of `text`
 * could take more than `memoryBytesMax`. It is an upper bound, because brackets and commas in strings count too.
 */
function checkJsonSize(text: string, memoryBytesMax: number): void {
  if (text.length * VALUE_BYTES <= memoryBytesMax) return;
  let leftValues = (memoryBytesMax - text.length) / VALUE_BYTES;
  for (let i = 0; i < text.length && leftValues >= 0; i++) if (OPENS_OR_PARTS.has(text.charCodeAt(i))) leftValues--;
  if (leftValues < 0)
    throw new AppError('file_unreadable', 'Reading the JSON takes more memory than the limit allows.');
}

const DEPTH_MAX = 256;
const WORD_CHARACTERS_MAX = 32;
/** Matches strings, which are skipped, and numbers. */
const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_OR_ODD_NUMBER = /\d{16}|\d\.\d*0\b|\d[eE][+-]?\d/;

/** Throws AppError `file_unreadable` for invalid JSON. */
export function readJson(text: string, budget: Budget, memoryBytesMax: number): Extracted {
  checkJsonSize(text, memoryBytesMax);
  const value = parse(text, 'The file is not well-formed JSON.');
  if (Array.isArray(value) && value.length > 0 && value.every(isObject))
    return rows(value.map((row, i) => unit(row, i, budget)));
  return flowOf(linesOf(value, budget));
}

/** One value per line; blank lines are skipped. `row` is the line number. */
export function readJsonLines(text: string, budget: Budget, memoryBytesMax: number): Units {
  const units: Unit[] = [];
  for (let i = 0, at = 0; at < text.length; i++) {
    const end = text.indexOf('\n', at);
    const line = text.slice(at, end < 0 ? text.length : end).trim();
    at += end < 0 ? text.length : end - at + 1;
    if (line === '') continue;
    checkJsonSize(line, memoryBytesMax);
    units.push(unit(parse(line, `Line ${i + 1} is not well-formed JSON.`), i, budget));
  }
  return rows(units);
}

const rows = (units: Unit[]): Units => ({ kind: 'units', units, areRows: true });

const unit = (value: unknown, i: number, budget: Budget): Unit => ({
  path: `row_${i}`,
  text: linesOf(value, budget),
  meta: { row: i + 1 },
});

function parse(text: string, complaint: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return LONG_OR_ODD_NUMBER.test(text) ? JSON.parse(text.replace(STRING_OR_NUMBER, asWritten)) : value;
  } catch {
    throw new AppError('file_unreadable', complaint);
  }
}

/** A number that a double would change (long ids, 1.10) becomes a string of its digits. */
const asWritten = (token: string): string =>
  token.startsWith('"') || String(Number(token)) === token ? token : `"${token}"`;

/** Lists of numbers, booleans and short words are written in one line. */
const isShort = (item: unknown): boolean =>
  typeof item === 'number' ||
  typeof item === 'boolean' ||
  (typeof item === 'string' && item.length <= WORD_CHARACTERS_MAX);

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

function linesOf(value: unknown, budget: Budget): string {
  const lines: string[] = [];
  addLines(value, '', lines, budget, 0);
  return lines.join('\n');
}

function addLines(value: unknown, key: string, lines: string[], budget: Budget, depth: number): void {
  if (depth > DEPTH_MAX) throw new AppError('file_unreadable', `The JSON is nested deeper than ${DEPTH_MAX} levels.`);
  if (value === null || value === '') return;
  if (typeof value !== 'object')
    return void lines.push(budget.spendText(key === '' ? String(value) : `${key}: ${String(value)}`));
  if (Array.isArray(value) && value.every(isShort)) return addLines(value.join(', '), key, lines, budget, depth + 1);
  const entries: [string, unknown][] = Array.isArray(value)
    ? value.map((item: unknown) => [key, item])
    : Object.entries(value).map(([name, item]) => [key === '' ? name : `${key}.${name}`, item]);
  for (const [name, item] of entries) addLines(item, name, lines, budget, depth + 1);
}
