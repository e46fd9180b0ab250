// The terms by which texts are ranked: words by their stems (stemming.ts); compounds as a whole (`snake_case`,
// `v1.2.3`, `foo-bar`); and pairs of neighbouring characters in scripts without spaces, where a single character says
// little. Filters and mode boost use tokens only (tokenize.ts). There is a function for chunks, of which term-writer.ts
// is a faster equivalent, and one for queries. Pure functions.
import type { Language } from '../api/choices.js';
import { appendStems, STEM_MARK, termsOfWords } from './stemming.js';
import { ASCII, UNSPACED, plainOf, wordsOf } from './tokenize.js';

/**
 * The maximum number of terms of a chunk in a text index. The largest chunks have fewer, except for texts of ligatures
 * that stand for several words.
 */
export const CHUNK_TERMS_MAX = 0xffff;

/**
 * The last term of a chunk with more terms, which tells that its text itself must be checked. No compound is equal to
 * it.
 */
export const CUT = '\u0001\u0001';

/** The prefix of compounds and pairs. No token contains it, so phrases and prefixes never match such a term. */
export const MARK = '\u0001';
const LETTER = `(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}]`;
const WORD = `(?:${LETTER})+`;
/**
 * Matches words joined by one of the characters - _ . each. The words are also terms of their own. The expression
 * starts matching only at the beginning of a word; otherwise a long word without a joint would take quadratic time.
 */
const COMPOUNDS = new RegExp(`(?<!${LETTER})${WORD}(?:[-_.]${WORD})+`, 'gu');
const ASCII_COMPOUNDS = /(?<![a-z0-9])[a-z0-9]+(?:[-_.][a-z0-9]+)+/g;

/** Texts without a match have no compound. This is tested first because most texts have none. */
const JOINT = /[-_.][\p{L}\p{N}\p{M}]/u;
const ASCII_JOINT = /[-_.][a-z0-9]/;

/** Runs of a script without spaces, with the prolonged sound mark, which belongs to no script. */
const RUNS = new RegExp(`[${UNSPACED}ー]{2,}`, 'gu');

/**
 * The terms of a chunk, at most `CHUNK_TERMS_MAX`: its tokens in their order, so that positions are those of tokens;
 * then a stem for each token that has one, including repeats; then compounds and pairs. With language `none`, tokens
 * are ranked as they are.
 */
export function chunkTerms(text: string, language: Language): string[] {
  const plain = plainOf(text);
  const terms: string[] = wordsOf(plain);
  if (language !== 'none') appendStems(terms, language);
  for (const term of beyondWords(plain)) terms.push(term);
  return terms.length > CHUNK_TERMS_MAX ? [...terms.slice(0, CHUNK_TERMS_MAX - 1), CUT] : terms;
}

/**
 * Up to `max` distinct terms of a query. They are those of a chunk, except that words are included only as they are
 * ranked, and characters in pairs are not included alone. If all words are stop words, the words themselves are
 * included.
 */
export const questionTerms = (text: string, max: number, language: Language): string[] =>
  countedTerms(text, max, language).terms;

/** As `questionTerms`, with the number of occurrences of each term in the query. */
export function countedTerms(text: string, max: number, language: Language): QueryTerms {
  const plain = plainOf(text);
  const words = wordsOf(ASCII.test(plain) ? plain : plain.replace(RUNS, ' '));
  const ranked = termsOfWords(words, language);
  const counts = new Map<string, number>();
  for (const term of [...(ranked.length > 0 ? ranked : words), ...beyondWords(plain)])
    counts.set(term, (counts.get(term) ?? 0) + 1);
  return { terms: [...counts.keys()].slice(0, max), counts: [...counts.values()].slice(0, max) };
}

/** A term without its prefix, for display. */
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

/** The distinct terms of a query, and the number of occurrences of each. */
export interface QueryTerms {
  terms: string[];
  counts: number[];
}
