// Occurrences of query words in a text, and texts split at ranges. Pure. Positions are UTF-16 units, except those of
// the server, which counts characters.

export type Range = readonly [start: number, end: number];

interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

const WORD = /[\p{L}\p{N}]+/gu;

/** Ranges of query words in a text. Ignores case and Latin diacritics, like the server's terms, but does not stem. */
export function wordsIn(text: string, query: string): Range[] {
  const wanted = new Set(Array.from(query.matchAll(WORD), ([word]) => folded(word)));
  if (wanted.size === 0) return [];
  return Array.from(text.matchAll(WORD)).flatMap(({ 0: word, index }): Range[] =>
    wanted.has(folded(word)) ? [[index, index + word.length]] : [],
  );
}

const folded = (word: string): string => word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/**
 * The words to mark in the texts around a hit: those that the server's highlight found, in the forms they have there;
 * without a highlight those of the query.
 */
export function wordsToMark(
  query: string,
  highlight: { readonly text: string; readonly matches: readonly Range[] } | undefined,
): string {
  if (!highlight || highlight.matches.length === 0) return query;
  const found = inUnits(highlight.text, highlight.matches).map(([start, end]) =>
    highlight.text.slice(start, end).toLowerCase(),
  );
  return [...new Set(found)].join(' ');
}

/** Converts ranges in characters to ranges in UTF-16 units. */
export function inUnits(text: string, ranges: readonly Range[]): Range[] {
  const starts = [0];
  for (const character of text) starts.push((starts.at(-1) as number) + character.length);
  const unitOf = (character: number): number => starts[Math.min(character, starts.length - 1)] as number;
  return ranges.map(([start, end]) => [unitOf(start), unitOf(end)]);
}

/**
 * Splits a text into marked and unmarked pieces. Ranges must be sorted; an overlap with the previous range is cut off.
 */
export function piecesOf(text: string, ranges: readonly Range[]): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  const add = (end: number, isMarked: boolean): void => {
    if (end > at) pieces.push({ text: text.slice(at, end), isMarked });
    at = Math.max(at, end);
  };
  for (const [start, end] of ranges) {
    add(start, false);
    add(end, true);
  }
  add(text.length, false);
  return pieces;
}

// Numbers and times in the browser's locale. Pure.

export const count = (value: number): string => value.toLocaleString();

/** `1 chunk`, `2 chunks`. */
export const counted = (value: number, word: string): string => `${count(value)} ${word}${value === 1 ? '' : 's'}`;

/** Three significant digits. */
export const score = (value: number): string => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3));

export function ms(value: number): string {
  if (value >= 10_000) return `${(value / 1000).toFixed(1)} s`;
  return value >= 100 ? `${value.toFixed(0)} ms` : value >= 10 ? `${value.toFixed(1)} ms` : `${value.toFixed(2)} ms`;
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1000 ** power;
  return `${power === 0 || scaled >= 100 ? scaled.toFixed(0) : scaled.toFixed(1)} ${units[power]}`;
}

export const moment = (iso: string): string =>
  new Date(iso).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export function span(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// Metadata without the fields that the server adds to every chunk, and without the file name. Pure.

const ALWAYS_THERE = new Set(['docid', 'ingested_at', 'offset', 'filename']);

/** The file name of a document, unless its id contains it. */
export function fileNameBeside(docid: string, filename: unknown): string | undefined {
  return typeof filename === 'string' && filename !== docid && !docid.endsWith(`/${filename}`) ? filename : undefined;
}

/** Names with commas or spaces between. */
export const namesIn = (text: string): string[] => text.split(/[\s,]+/).filter((name) => name !== '');

export const ownFields = (meta: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(meta).filter(([name]) => !ALWAYS_THERE.has(name));

// Vectors of the user: the dimensions of a collection, and a vector typed as text. Pure.

/** The dimensions in a vector-space key; undefined if the collection embeds texts. */
export function ownDim(spaceKey: string | undefined): number | undefined {
  const dim = /^identity::dim=(\d+)$/.exec(spaceKey ?? '')?.[1];
  return dim === undefined ? undefined : Number(dim);
}

/** Parses `[0.1, 0.2]`; undefined for any other text. */
export function vectorOf(text: string): number[] | undefined {
  if (!/^\s*\[[-+\d.eE,\s]+\]\s*$/.test(text)) return undefined;
  try {
    return JSON.parse(text) as number[];
  } catch {
    return undefined;
  }
}
