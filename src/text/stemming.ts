// By which term a word is ranked in a language: its stem, none for a stop word, the word itself where there is nothing
// to stem. Pure but for what it remembers.
import { createRequire } from 'node:module';
import { stem as stemEnglish } from 'porter2';
import type { Language } from '../api/choices.js';
import { ownString } from '../base/bytes.js';
import { UNSPACED, tokensOf } from './tokenize.js';

/**
 * The Snowball stemmer and the stop words of a language, from libraries, loaded when it is first asked for: all of them
 * take 150 ms, one a few. Synchronously, since a shard worker has to have the terms at once. What the libraries give is
 * indexed, so their versions are pinned: test/unit/text has the terms as they have to stay.
 */
interface LanguageWords {
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

/**
 * Goes before a stem: no word holds it, so no phrase, prefix or part of a word ever meets one. Compounds have another.
 */
export const STEM_MARK = '\u0002';
const STEM_CODE = STEM_MARK.charCodeAt(0);
/**
 * What no language stems: a word with a digit, a character of a script that does not set words apart, the mark that
 * draws a kana out.
 */
const UNSTEMMED = new RegExp(`[\\p{N}${UNSPACED}]|^ー+$`, 'u');
/** No language has longer words; the stemmers' time and what is remembered are bounded by it. */
const STEMMED_CHARACTERS_MAX = 64;
/** Twice as many are remembered: texts have most of their words from so few. */
const GENERATION_WORDS = 65_536;
const STOPPED = '';

/** Remembers the terms of words in two generations: what was not asked for during a whole one is forgotten. */
class RankedWords {
  private recent = new Map<string, string>();
  private before = new Map<string, string>();

  constructor(private readonly words: LanguageWords) {}

  /** STOPPED for a stop word. */
  termOf(word: string): string {
    return this.recent.get(word) ?? this.remember(word);
  }

  private remember(word: string): string {
    const term = this.before.get(word) ?? ownString(this.find(word));
    if (this.recent.size === GENERATION_WORDS) {
      this.before = this.recent;
      this.recent = new Map();
    }
    if (word.length <= STEMMED_CHARACTERS_MAX) this.recent.set(ownString(word), term);
    return term;
  }

  /** The same, not remembered. */
  find(word: string): string {
    if (this.words.stopWords.has(word)) return STOPPED;
    if (word.length > STEMMED_CHARACTERS_MAX || UNSTEMMED.test(word)) return word;
    return STEM_MARK + (this.words.stem(word) || word);
  }
}

/** Each made when its language is first asked for; what it answers does not depend on what it has been asked before. */
const RANKED = new Map<Language, RankedWords>();

function rankedIn(language: Exclude<Language, 'none'>): RankedWords {
  const present = RANKED.get(language);
  if (present) return present;
  const made = new RankedWords(loadLanguage(language));
  RANKED.set(language, made);
  return made;
}

/** The term that a token (tokenize.ts) is ranked by; undefined for a stop word. */
export function termOfWord(word: string, language: Language): string | undefined {
  if (language === 'none') return word;
  return rankedIn(language).termOf(word) || undefined;
}

/** The stem of a token, marked; empty where it has none. For who remembers it himself. */
export function stemOfWord(word: string, language: Exclude<Language, 'none'>): string {
  const term = rankedIn(language).find(word);
  return term.charCodeAt(0) === STEM_CODE ? term : '';
}

/** The terms of all tokens in their order, stop words left out. */
export function termsOfWords(words: readonly string[], language: Language): string[] {
  if (language === 'none') return [...words];
  const ranked = rankedIn(language);
  const terms: string[] = [];
  for (const word of words) {
    const term = ranked.termOf(word);
    if (term !== STOPPED) terms.push(term);
  }
  return terms;
}

/** Puts a stem behind the tokens for each of them that has one, in their order. */
export function appendStems(words: string[], language: Exclude<Language, 'none'>): void {
  const ranked = rankedIn(language);
  const count = words.length;
  for (let i = 0; i < count; i++) {
    const term = ranked.termOf(words[i] as string);
    if (term.charCodeAt(0) === STEM_CODE) words.push(term);
  }
}
