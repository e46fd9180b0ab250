// The term by which a token is ranked in a language: its stem, none for a stop word, or the token itself if it is not
// stemmed. Results are cached per thread; otherwise these are pure functions.
import { createRequire } from 'node:module';
import { stem as stemEnglish } from 'porter2';
import type { Language } from '../api/choices.js';
import { ownString } from '../base/bytes.js';
import { UNSPACED, tokensOf } from './tokenize.js';

/**
 * The Snowball stemmer and the stop words of a language. They come from libraries and are loaded when a language is
 * first used, since loading all languages takes 150 ms and one takes a few. Loading is synchronous because shard
 * workers need the terms at once. Terms are stored in indexes, so the versions of the libraries are pinned, and
 * test/unit/text checks that the terms stay the same.
 */
interface LanguageWords {
  /** The stem of a token. It is empty for a few particles. */
  stem(word: string): string;
  readonly stopWords: ReadonlySet<string>;
}

type Stemmed = Exclude<Language, 'none'>;
/** Languages with other names in the libraries. */
const LIBRARY_NAMES: Partial<Record<Stemmed, string>> = { hindi: 'indian' };
/**
 * The tokens of a contraction (isn't, we'll) are stop words up to this length. Longer ones are words of their own (can,
 * won).
 */
const CONTRACTED_MAX = 2;

const load = createRequire(import.meta.url);

/** Loads the stemmer and the stop words of a language. */
export function loadLanguage(language: Stemmed): LanguageWords {
  const name = LIBRARY_NAMES[language] ?? language;
  const { stopwords } = load(`@orama/stopwords/${name}`) as { stopwords: string[] };
  return {
    stem: language === 'english' ? stemEnglish : loadStemmer(name),
    stopWords: new Set(stopwords.flatMap(stopTokens)),
  };
}

/**
 * Not for English: the library has a Porter stemmer with errors (`distribu`) there, and porter2 is that of Snowball.
 */
const loadStemmer = (name: string): ((word: string) => string) =>
  (load(`@orama/stemmers/${name}`) as { stemmer: (word: string) => string }).stemmer;

function stopTokens(entry: string): string[] {
  const tokens = tokensOf(entry);
  return tokens.length === 1 ? tokens : tokens.filter(({ length }) => length <= CONTRACTED_MAX);
}

/**
 * The prefix of stems. No token contains it, so phrases, prefixes and parts of words never match a stem. Compounds have
 * another prefix.
 */
export const STEM_MARK = '\u0002';
const STEM_CODE = STEM_MARK.charCodeAt(0);
/**
 * Tokens that are not stemmed in any language: those with a digit, characters of a script without spaces, and prolonged
 * sound marks.
 */
const UNSTEMMED = new RegExp(`[\\p{N}${UNSPACED}]|^ー+$`, 'u');
/** Longer words are not stemmed or cached, which bounds the time of the stemmers and the size of the cache. */
const STEMMED_CHARACTERS_MAX = 64;
/**
 * The number of words in a generation of the cache, which holds two of them. Most of the words of texts are among that
 * many.
 */
const GENERATION_WORDS = 65_536;
const STOPPED = '';

/** Caches the terms of words in two generations. A word that is not used during a whole generation is dropped. */
class RankedWords {
  private recent = new Map<string, string>();
  private before = new Map<string, string>();

  constructor(private readonly words: LanguageWords) {}

  /** The term of a word; STOPPED for a stop word. */
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

  /** The term of a word, computed without the cache. */
  find(word: string): string {
    if (this.words.stopWords.has(word)) return STOPPED;
    if (word.length > STEMMED_CHARACTERS_MAX || UNSTEMMED.test(word)) return word;
    return STEM_MARK + (this.words.stem(word) || word);
  }
}

/** The caches, each created when its language is first used. Results do not depend on what is cached. */
const RANKED = new Map<Language, RankedWords>();

function rankedIn(language: Exclude<Language, 'none'>): RankedWords {
  const present = RANKED.get(language);
  if (present) return present;
  const made = new RankedWords(loadLanguage(language));
  RANKED.set(language, made);
  return made;
}

/** The term by which a token (tokenize.ts) is ranked; undefined for a stop word. */
export function termOfWord(word: string, language: Language): string | undefined {
  if (language === 'none') return word;
  return rankedIn(language).termOf(word) || undefined;
}

/** The stem of a token, with its prefix; empty if it has none. Not cached, for callers with a cache of their own. */
export function stemOfWord(word: string, language: Exclude<Language, 'none'>): string {
  const term = rankedIn(language).find(word);
  return term.charCodeAt(0) === STEM_CODE ? term : '';
}

/** The terms of all tokens in their order, without stop words. */
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

/** Appends the stem of each token that has one to the tokens, in their order. */
export function appendStems(words: string[], language: Exclude<Language, 'none'>): void {
  const ranked = rankedIn(language);
  const count = words.length;
  for (let i = 0; i < count; i++) {
    const term = ranked.termOf(words[i] as string);
    if (term.charCodeAt(0) === STEM_CODE) words.push(term);
  }
}
