// Where the words of a query stand in a text, and a text cut at such places. Pure; positions are UTF-16 units, as the
// browser's strings have them, but for what the server gives, which counts characters.

export type Range = readonly [start: number, end: number];

interface Piece {
  readonly text: string;
  readonly isMarked: boolean;
}

const WORD = /[\p{L}\p{N}]+/gu;

/**
 * Case and Latin diacritics make no difference, as to the server's words; the same word in another form is not found.
 */
export function wordsIn(text: string, query: string): Range[] {
  const wanted = new Set(Array.from(query.matchAll(WORD), ([word]) => folded(word)));
  if (wanted.size === 0) return [];
  return Array.from(text.matchAll(WORD)).flatMap(({ 0: word, index }): Range[] =>
    wanted.has(folded(word)) ? [[index, index + word.length]] : [],
  );
}

const folded = (word: string): string => word.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

/**
 * What to mark in texts around a hit: the words that the server found in it, in the forms they have there; without
 * such, those of the query.
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

/** Ranges in characters as ranges in units. */
export function inUnits(text: string, ranges: readonly Range[]): Range[] {
  const starts = [0];
  for (const character of text) starts.push((starts.at(-1) as number) + character.length);
  const unitOf = (character: number): number => starts[Math.min(character, starts.length - 1)] as number;
  return ranges.map(([start, end]) => [unitOf(start), unitOf(end)]);
}

/** All of the text in order. Ranges come in order; what overlaps the one before is cut off. */
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

// Numbers and times as people read them. Pure; used by all views.
// No locale of its own: that of the browser.

export const count = (value: number): string => value.toLocaleString();

/** `1 chunk`, `2 chunks`. */
export const counted = (value: number, word: string): string => `${count(value)} ${word}${value === 1 ? '' : 's'}`;

/** Three digits that matter. */
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

// Metadata without what the server puts into all of it, and the file's name among that.
// Pure; used for documents and hits, which show those elsewhere.

const ALWAYS_THERE = new Set(['docid', 'ingested_at', 'offset', 'filename']);

/** The name of the file that a document came as, unless its id says it. */
export function fileNameBeside(docid: string, filename: unknown): string | undefined {
  return typeof filename === 'string' && filename !== docid && !docid.endsWith(`/${filename}`) ? filename : undefined;
}

export const ownFields = (meta: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(meta).filter(([name]) => !ALWAYS_THERE.has(name));

// Collections of vectors that nobody here has embedded: how many numbers one has, and a vector as it is typed.
// Pure; for the forms that make such collections, fill and search them.

/** Of the key of a vector space; undefined where texts are embedded. */
export function ownDim(spaceKey: string | undefined): number | undefined {
  const dim = /^identity::dim=(\d+)$/.exec(spaceKey ?? '')?.[1];
  return dim === undefined ? undefined : Number(dim);
}

/** `[0.1, 0.2]` as numbers; undefined for other texts. */
export function vectorOf(text: string): number[] | undefined {
  if (!/^\s*\[[-+\d.eE,\s]+\]\s*$/.test(text)) return undefined;
  try {
    return JSON.parse(text) as number[];
  } catch {
    return undefined;
  }
}
