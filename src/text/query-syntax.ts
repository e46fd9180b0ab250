// The syntax of a query: "a phrase" that a chunk must have, -word and -"a phrase" that it must not have, and OR between
// words and phrases of which it must have any. All other words rank and are not required. Reads a query, and tests the
// text of a chunk. Pure functions.
import type { Language } from '../api/choices.js';
import { termOfWord } from './stemming.js';
import { tokensOf } from './tokenize.js';

/** Adjacent tokens, at least one. */
export interface Phrase {
  tokens: string[];
  /** A single word that is not in quotes matches by its stem. */
  isQuoted: boolean;
}

/** What the texts of hits must have and must not have. */
export interface TextClauses {
  /** A chunk must have any phrase of each list. */
  all: Phrase[][];
  none: Phrase[];
}

export interface ReadQuery extends TextClauses {
  /** The words to rank by, without signs. Ends with a space if the last word is complete. */
  text: string;
}

interface Part {
  readonly text: string;
  readonly isQuoted: boolean;
  readonly isExcluded: boolean;
}

const PARTS = /(?<=^|\s)(?<minus>-?)(?:"(?<quoted>[^"]*)(?:"|$)|(?<word>\S+))/gu;
const OR = 'OR';

/**
 * Reads a query. Nothing is an error: quotes that are not closed reach to the end, and an OR without two neighbours is
 * left out. Parts without a letter or digit are left out too.
 */
export function readQuery(query: string): ReadQuery {
  const parts = Array.from(query.matchAll(PARTS), ({ groups }): Part => {
    const { minus, quoted, word } = groups as Record<string, string | undefined>;
    return { text: quoted ?? word ?? '', isQuoted: quoted !== undefined, isExcluded: minus === '-' };
  });
  const read: ReadQuery = { text: '', all: [], none: [] };
  let either: Phrase[] | undefined;
  parts.forEach((part, i) => {
    if (isOr(part)) return;
    const phrase = { tokens: tokensOf(part.text), isQuoted: part.isQuoted };
    if (part.isExcluded) {
      either = undefined;
      if (phrase.tokens.length > 0) read.none.push(phrase);
      return;
    }
    read.text += `${part.text} `;
    const isNextOr = isFollowed(parts, i);
    if (phrase.tokens.length > 0 && (part.isQuoted || either || isNextOr)) {
      if (either) either.push(phrase);
      else read.all.push((either = [phrase]));
    }
    if (!isNextOr) either = undefined;
  });
  // A word at the very end may be the beginning of one.
  const last = parts.at(-1);
  if (last && !last.isQuoted && !last.isExcluded && !isOr(last) && !/\s$/u.test(query)) read.text = read.text.trimEnd();
  return read;
}

const isOr = ({ text, isQuoted, isExcluded }: Part): boolean => text === OR && !isQuoted && !isExcluded;

/** Whether an OR joins the i-th part to one that is not excluded. */
function isFollowed(parts: readonly Part[], i: number): boolean {
  const [or, next] = [parts[i + 1], parts[i + 2]];
  return or !== undefined && isOr(or) && next !== undefined && !next.isExcluded && !isOr(next);
}

/** The term by which a phrase is looked up if it is a single word by its stem; otherwise undefined. */
export function termOfPhrase({ tokens, isQuoted }: Phrase, language: Language): string | undefined {
  const [first] = tokens;
  return isQuoted || tokens.length > 1 || first === undefined ? undefined : (termOfWord(first, language) ?? first);
}

/** Makes a test of chunk texts. */
export function createClauseTest({ all, none }: TextClauses, language: Language): (text: string) => boolean {
  return (text) => {
    const tokens = tokensOf(text);
    const terms = new Set(tokens.map((token) => termOfWord(token, language) ?? token));
    const has = (phrase: Phrase): boolean => {
      const term = termOfPhrase(phrase, language);
      return term === undefined ? hasPhrase(tokens, phrase.tokens) : terms.has(term);
    };
    return all.every((phrases) => phrases.some(has)) && !none.some(has);
  };
}

const hasPhrase = (tokens: readonly string[], wanted: readonly string[]): boolean =>
  tokens.some((_, at) => wanted.every((token, i) => tokens[at + i] === token));
