// Content filters: whether the text of a chunk fits, and what every text has among its tokens that contains a value, so
// that filters `contains` read only the texts of chunks with these pieces. Pure.
//
// The filter looks for characters of folded text; tokens are made of another normal form (tokenize.ts). So only
// *steady* ones count: ASCII, and letters and numbers that are their own plain form. Where these follow each other in
// the folded text they do so in the plain one: normalization joins nothing to a letter but what is no letter and comes
// behind it. Hence the last letter of a run does not count where anything may follow, unless it is of ASCII, whose
// marks are taken off again, or Han, to which nothing is joined. test/unit/text/content-pieces.test.ts shows it of every
// code point, and of random texts.
import type { ContentFilter } from '../api/search.js';
import { ASCII, UNSPACED, foldCase, plainOf, tokensOf, wordsOf } from './tokenize.js';

/**
 * Tokens that follow each other. The first may be only the end of one, the last only the beginning, where it is open.
 */
export interface ContentPiece {
  readonly tokens: readonly string[];
  readonly isOpenAtStart: boolean;
  readonly isOpenAtEnd: boolean;
}

/** A longer value is looked for by its beginning. */
const CHARACTERS_MAX = 1024;
const WORD_CHARACTER = /^[\p{L}\p{N}]$/u;
const HAN = /\p{Script=Han}/u;
const ALONE = new RegExp(`^[${UNSPACED}]$`, 'u');
/**
 * Letters that can be joined to one before them (vowels and finals of Hangul, vowels of Kirat Rai), and iota, which a
 * mark turns into.
 */
const JOINED = /[\u03b9\u1160-\u11ff\u{16d63}-\u{16d6a}]/u;

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
  // Without it the token before is whole: something else stood behind it.
  return kept === ''
    ? { tokens, isOpenAtStart, isOpenAtEnd: false }
    : { tokens: [...tokens, kept], isOpenAtStart, isOpenAtEnd: true };
}

/**
 * A test of chunk texts, made once a search. `phrase` and `prefix` without a single token in their value fit nothing.
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

/** Whether `tokens` has the `head` in order and adjacent, and right after it one that fits as the last. */
function hasRun(tokens: readonly string[], head: readonly string[], fitsLast: (token: string) => boolean): boolean {
  for (let at = head.length; at < tokens.length; at++) {
    if (fitsLast(tokens[at] as string) && head.every((token, i) => token === tokens[at - head.length + i])) return true;
  }
  return false;
}
