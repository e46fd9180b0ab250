// The Snowball stemmer and the stop words of each language, from libraries, loaded when a language is first asked for:
// all of them take 150 ms, one a few. Synchronously, since a shard worker has to have the terms at once. Called by
// ranked-words.ts. What the libraries give is indexed, so their versions are pinned: test/text/ has the terms as they
// have to stay.
import { createRequire } from 'node:module';
import { stem as stemEnglish } from 'porter2';
import type { Language } from '../contract/language.js';
import { tokensOf } from './tokenize.js';

export interface LanguageWords {
  /** Takes a token. Of a few particles nothing is left. */
  stem(word: string): string;
  readonly stopWords: ReadonlySet<string>;
}

type Stemmed = Exclude<Language, 'none'>;
/** What the libraries call otherwise. */
const LIBRARY_NAMES: Partial<Record<Stemmed, string>> = { hindi: 'indian' };
/**
 * Tokens of a contraction (isn't, we'll) are stop words up to this length: beyond it they are words of their own (can,
 * won).
 */
const CONTRACTED_MAX = 2;

const load = createRequire(import.meta.url);

export function loadLanguage(language: Stemmed): LanguageWords {
  const name = LIBRARY_NAMES[language] ?? language;
  const { stopwords } = load(`@orama/stopwords/${name}`) as { stopwords: string[] };
  return {
    stem: language === 'english' ? stemEnglish : loadStemmer(name),
    stopWords: new Set(stopwords.flatMap(stopTokens)),
  };
}

/** Not for English: the library's is a Porter stemmer with faults (`distribu`), porter2 is Snowball's. */
const loadStemmer = (name: string): ((word: string) => string) =>
  (load(`@orama/stemmers/${name}`) as { stemmer: (word: string) => string }).stemmer;

function stopTokens(entry: string): string[] {
  const tokens = tokensOf(entry);
  return tokens.length === 1 ? tokens : tokens.filter(({ length }) => length <= CONTRACTED_MAX);
}
