// Content filters: tests whether the text of a chunk matches, and derives the token pieces that every text containing a
// value must have, so that filters `contains` read only the texts of chunks with these pieces. Pure functions.
//
// The filter compares characters of case-folded text, but tokens come from another normal form (tokenize.ts). So only
// *steady* characters count: ASCII characters, and letters and numbers that are equal to their own plain form. Where
// steady characters are adjacent in the folded text, they are adjacent in the plain one: normalization joins only
// characters that are not letters to the letter before them. So the last letter of a run does not count if anything may
// follow it, unless it is ASCII, whose marks are removed again, or Han, to which nothing is joined.
// test/unit/text/content-pieces.test.ts checks this for every code point and for random texts.
import type { ContentFilter } from '../api/search.js';
import { ASCII, UNSPACED, foldCase, plainOf, tokensOf, wordsOf } from './tokenize.js';

/**
 * Adjacent tokens of a text. If the piece is open at its start, the first one may be only the end of a token; if it is
 * open at its end, the last one may be only the beginning of a token.
 */
export interface ContentPiece {
  readonly tokens: readonly string[];
  readonly isOpenAtStart: boolean;
  readonly isOpenAtEnd: boolean;
}

/** Only so many characters of a longer value are used. */
const CHARACTERS_MAX = 1024;
const WORD_CHARACTER = /^[\p{L}\p{N}]$/u;
const HAN = /\p{Script=Han}/u;
const ALONE = new RegExp(`^[${UNSPACED}]$`, 'u');
/**
 * Characters that can be joined to the one before them (vowels and finals of Hangul, vowels of Kirat Rai), and iota,
 * into which a mark can turn.
 */
const JOINED = /[\u03b9\u1160-\u11ff\u{16d63}-\u{16d6a}]/u;

/** The token pieces that every text containing `value` has. */
export function piecesOf(value: string): ContentPiece[] {
  const pieces: ContentPiece[] = [];
  let run = '';
  for (const character of [...foldCase(value.slice(0, CHARACTERS_MAX)), '\ufffd']) {
    if (isSteady(character)) {
      run += character;
      continue;
    }
    const piece = pieceOf(run);
    if (piece.tokens.length > 0) pieces.push(piece);
    run = '';
  }
  return pieces;
}

function isSteady(character: string): boolean {
  return (
    ASCII.test(character) ||
    (WORD_CHARACTER.test(character) && !JOINED.test(character) && plainOf(character) === character)
  );
}

function pieceOf(run: string): ContentPiece {
  const tokens = wordsOf(run);
  const isOpenAtStart = WORD_CHARACTER.test([...run][0] ?? '') && !ALONE.test(tokens[0] ?? '');
  const last = [...run].at(-1) ?? '';
  if (!WORD_CHARACTER.test(last) || HAN.test(last)) return { tokens, isOpenAtStart, isOpenAtEnd: false };
  const token = tokens.pop() ?? '';
  const kept = ASCII.test(last) ? token : token.slice(0, -last.length);
  // If nothing is kept of the last token, the one before it is complete, because another token followed it.
  return kept === ''
    ? { tokens, isOpenAtStart, isOpenAtEnd: false }
    : { tokens: [...tokens, kept], isOpenAtStart, isOpenAtEnd: true };
}

/**
 * Makes a test of chunk texts for one search. The operators `phrase` and `prefix` match nothing if their value has no
 * token.
 */
export function createContentTest({ op, value }: ContentFilter): (text: string) => boolean {
  if (op === 'exact') return (text) => text === value;
  if (op === 'contains') {
    const wanted = foldCase(value);
    return (text) => foldCase(text).includes(wanted);
  }
  const wanted = tokensOf(value);
  const last = wanted.pop();
  if (last === undefined) return () => false;
  const fitsLast = op === 'prefix' ? (token: string) => token.startsWith(last) : (token: string) => token === last;
  return (text) => hasRun(tokensOf(text), wanted, fitsLast);
}

/** True if `tokens` has the tokens of `head` in order and adjacent, followed by one for which `fitsLast` is true. */
function hasRun(tokens: readonly string[], head: readonly string[], fitsLast: (token: string) => boolean): boolean {
  for (let at = head.length; at < tokens.length; at++) {
    if (fitsLast(tokens[at] as string) && head.every((token, i) => token === tokens[at - head.length + i])) return true;
  }
  return false;
}
