// What ranking looks for beyond the words themselves (tokenize.ts): compounds as a whole (`snake_case`, `v1.2.3`, `foo-bar`), and pairs
// of neighbouring characters in scripts that do not set words apart, where a single character says little. Filters and boost use
// the words alone. One pure function for chunks and one for questions; called by the index of words' users.
import { plainOf, UNSPACED, wordsOf } from './tokenize.js';

/** Goes before what is no word: no word holds it, so no phrase or prefix ever meets such a term. */
const MARK = '\u0001';
const WORD = `(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`;
/** Words joined by one of these each; the words are terms of their own besides. */
const COMPOUNDS = new RegExp(`${WORD}(?:[-_.]${WORD})+`, 'gu');
const ASCII_COMPOUNDS = /[a-z0-9]+(?:[-_.][a-z0-9]+)+/g;
/** Without it there is no compound: looked for first, because most texts have none. */
const JOINT = /[-_.][\p{L}\p{N}\p{M}]/u;
const ASCII_JOINT = /[a-z0-9][-_.][a-z0-9]/;
const ASCII = /^[\x00-\x7f]*$/;
/** With the mark that draws a kana out, which belongs to no script. */
const RUNS = new RegExp(`[${UNSPACED}ー]{2,}`, 'gu');

/** The terms of a chunk: its words in their order, so that positions are those of words, and behind them what is more than a word. */
export function chunkTerms(text: string): string[] {
  const plain = plainOf(text);
  const words = wordsOf(plain);
  const more = beyondWords(plain);
  return more.length === 0 ? words : [...words, ...more];
}

/** Up to `max` distinct terms of a question: as of a chunk, but characters that stand in pairs are not asked for alone. */
export function questionTerms(text: string, max: number): string[] {
  const plain = plainOf(text);
  const terms = new Set([...wordsOf(ASCII.test(plain) ? plain : plain.replace(RUNS, ' ')), ...beyondWords(plain)]);
  return [...terms].slice(0, max);
}

function beyondWords(plain: string): string[] {
  if (ASCII.test(plain)) return ASCII_JOINT.test(plain) ? marked(plain.match(ASCII_COMPOUNDS) ?? []) : [];
  const compounds = JOINT.test(plain) ? plain.match(COMPOUNDS) ?? [] : [];
  return marked([...compounds, ...(plain.match(RUNS) ?? []).flatMap(pairsOf)]);
}

const marked = (terms: readonly string[]): string[] => terms.map((term) => MARK + term);

function pairsOf(run: string): string[] {
  const characters = [...run];
  return characters.slice(1).map((character, i) => `${characters[i] as string}${character}`);
}
