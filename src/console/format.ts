// Where the words of a query stand in a text, and a text cut at such places. Pure; positions are UTF-16 units, as the
// browser's strings have them, but for what the server gives, which counts characters.

export type Range = readonly [start: number, end: number];

export interface Piece {
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
