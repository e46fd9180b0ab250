// What ranking looks for: the words of a text by their stems (stemming.ts), compounds as a whole (`snake_case`,
// `v1.2.3`, `foo-bar`), and pairs of neighbouring characters in scripts that do not set words apart, where a single
// character says little. Filters and boost use the words alone (tokenize.ts). One function for chunks, whose fast twin
// is term-writer.ts, and one for questions. Pure.
import type { Language } from '../api/choices.js';
import { appendStems, STEM_MARK, termsOfWords } from './stemming.js';
import { ASCII, UNSPACED, plainOf, wordsOf } from './tokenize.js';

/**
 * What an index of words takes of a chunk. The largest chunk has fewer, unless it is of ligatures that stand for
 * several words.
 */
export const CHUNK_TERMS_MAX = 0xffff;

/** The term of a chunk that has more: its text has to be looked at itself. No compound is it. */
export const CUT = '\u0001\u0001';

/** Goes before compounds and pairs: no word holds it, so no phrase or prefix ever meets such a term. */
export const MARK = '\u0001';
const LETTER = `(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}]`;
const WORD = `(?:${LETTER})+`;
/**
 * Words joined by one of these each; the words are terms of their own besides. Tried at the beginning of a word alone:
 * elsewhere a long word without a joint would take time by its square.
 */
const COMPOUNDS = new RegExp(`(?<!${LETTER})${WORD}(?:[-_.]${WORD})+`, 'gu');
const ASCII_COMPOUNDS = /(?<![a-z0-9])[a-z0-9]+(?:[-_.][a-z0-9]+)+/g;

/** Without it there is no compound: looked for first, because most texts have none. */
const JOINT = /[-_.][\p{L}\p{N}\p{M}]/u;
const ASCII_JOINT = /[-_.][a-z0-9]/;

/** With the mark that draws a kana out, which belongs to no script. */
const RUNS = new RegExp(`[${UNSPACED}ー]{2,}`, 'gu');

/**
 * The terms of a chunk: its words in their order, so that positions are those of words; behind them a stem for each
 * word that has one, repeats included, and what is more than a word; CHUNK_TERMS_MAX at most. With language `none` the
 * words themselves are what is ranked.
 */
export function chunkTerms(text: string, language: Language): string[] {
  const plain = plainOf(text);
  const terms: string[] = wordsOf(plain);
  if (language !== 'none') appendStems(terms, language);
  for (const term of beyondWords(plain)) terms.push(term);
  return terms.length > CHUNK_TERMS_MAX ? [...terms.slice(0, CHUNK_TERMS_MAX - 1), CUT] : terms;
}

/**
 * Up to `max` distinct terms of a question: as of a chunk, but words only where they are ranked by themselves, and
 * characters that stand in pairs are not asked for alone. Where all words are stop words, they are what is asked for.
 */
export const questionTerms = (text: string, max: number, language: Language): string[] =>
  countedTerms(text, max, language).terms;

/** The same, and how often each stands in the question. */
export function countedTerms(text: string, max: number, language: Language): QueryTerms {
  const plain = plainOf(text);
  const words = wordsOf(ASCII.test(plain) ? plain : plain.replace(RUNS, ' '));
  const ranked = termsOfWords(words, language);
  const counts = new Map<string, number>();
  for (const term of [...(ranked.length > 0 ? ranked : words), ...beyondWords(plain)])
    counts.set(term, (counts.get(term) ?? 0) + 1);
  return { terms: [...counts.keys()].slice(0, max), counts: [...counts.values()].slice(0, max) };
}

/** A term as people read it. */
export const plainTerm = (term: string): string =>
  [MARK, STEM_MARK].some((mark) => term.startsWith(mark)) ? term.slice(1) : term;

function beyondWords(plain: string): string[] {
  if (ASCII.test(plain)) return ASCII_JOINT.test(plain) ? marked(plain.match(ASCII_COMPOUNDS) ?? []) : [];
  const compounds = JOINT.test(plain) ? (plain.match(COMPOUNDS) ?? []) : [];
  return marked([...compounds, ...(plain.match(RUNS) ?? []).flatMap(pairsOf)]);
}

const marked = (terms: readonly string[]): string[] => terms.map((term) => MARK + term);

function pairsOf(run: string): string[] {
  const characters = [...run];
  return characters.slice(1).map((character, i) => `${characters[i] as string}${character}`);
}

/** The distinct terms of a query (text/rank-terms), and how often each stands in it. */
export interface QueryTerms {
  terms: string[];
  counts: number[];
}
