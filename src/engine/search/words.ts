// Words of a query that match other words: those that differ by a typing error, those that begin with the last word,
// and synonyms. Before the ranking, the search looks up in the text indexes of all shards which terms stand for which
// word of the query, and ranks by these terms too, each with a weight. Indexes are those of views, which only searching
// threads have; the rest is pure.
import type { Language } from '../../api/choices.js';
import { compareUtf8 } from '../../base/bytes.js';
import { termOfWord } from '../../text/stemming.js';
import { UNSPACED } from '../../text/tokenize.js';
import type { Nearness } from '../postings/text-index.js';
import type { Alternatives, CollectionSearch, LexicalSearch, WordMatching } from './params.js';
import type { ShardView } from './snapshot.js';

/** A token that stands for a word of the query. */
interface Alternative {
  readonly token: string;
  readonly weight: number;
}

interface MatchedWord {
  readonly word: string;
  readonly alternatives: readonly Alternative[];
}

/** Shorter words are not corrected: most of what is an edit away from them is another word. */
const ONE_EDIT_CHARACTERS_MIN = 4;
/** Only words of so many characters may have two edits, and then the first character must be right. */
const TWO_EDITS_CHARACTERS_MIN = 8;
/**
 * The weight of a term by its edits from the word of the query. Not fitted to judged queries;
 * `node dist/load/main.js quality words` measures what they find.
 */
const EDIT_WEIGHTS = [1, 0.7, 0.5] as const;
/** A completion of a word that occurs itself, and of one that does not. */
const COMPLETION_WEIGHTS = { known: 0.2, unknown: 0.8 } as const;
/** The number of corrections of a word and of completions. */
const CORRECTIONS_MAX = 8;
const COMPLETIONS_MAX = 32;
/** The number of words of a query that are corrected, which bounds the time. */
const CORRECTED_WORDS_MAX = 16;
/** The number of terms that each index lists for a word. */
const LISTED_MAX = 256;
/** Words of letters in scripts with spaces. Numbers and identifiers are not corrected. */
const CORRECTABLE = new RegExp(`^(?:(?![${UNSPACED}])[\\p{L}\\p{M}])+$`, 'u');
const ALONE = new RegExp(`^[${UNSPACED}]$`, 'u');

/** What the text indexes of a collection have, over all shards. */
export interface Vocabulary {
  /** The number of chunks that have each token. */
  frequenciesOf(tokens: readonly string[]): number[];
  /** Tokens that are near to a word. */
  nearTo(word: string, nearness: Nearness): string[];
}

export function vocabularyOf(views: readonly ShardView[]): Vocabulary {
  const indexes = views.flatMap(({ segment }) => segment?.textIndex ?? []);
  return {
    frequenciesOf(tokens) {
      const counts = indexes.map((index) => index.statistics(tokens).frequencies);
      return tokens.map((_, i) => counts.reduce((sum, frequencies) => sum + (frequencies[i] as number), 0));
    },
    nearTo: (word, nearness) => [
      ...new Map(indexes.flatMap((index) => [...index.nearTerms(word, nearness, LISTED_MAX)])).keys(),
    ],
  };
}

/** What some shards have of the vocabulary that decides which other words the words of a query match. */
export interface KnownWords {
  /** Tokens with the number of chunks that have them. */
  readonly frequencies: readonly [token: string, chunks: number][];
  /** Lists of tokens by the word and the nearness. */
  readonly near: readonly [key: string, tokens: readonly string[]][];
}

const keyOf = (word: string, { edits, isPrefix }: Nearness): string => `${edits}${isPrefix ? '*' : ''} ${word}`;

/** Lists all that may be asked of a vocabulary, whatever other shards have. */
export function knownWords(vocabulary: Vocabulary, { words, edits, open }: WordMatching): KnownWords {
  const near = new Map<string, readonly string[]>();
  const look = (word: string, nearness: Nearness): readonly string[] => {
    const found = vocabulary.nearTo(word, nearness);
    near.set(keyOf(word, nearness), found);
    return found;
  };
  const known = vocabulary.frequenciesOf(words);
  words.forEach((word, i) => {
    const isOpen = open === i && !ALONE.test(word);
    if (isOpen) look(word, completing(word));
    // A word that other shards have is not corrected.
    if (edits === 0 || known[i] !== 0 || !CORRECTABLE.test(word)) return;
    for (const nearness of correcting(word, edits, isOpen)) if (look(word, nearness).length > 0) break;
  });
  const tokens = [...new Set([...words, ...[...near.values()].flat()])];
  const frequencies = vocabulary.frequenciesOf(tokens);
  return { frequencies: tokens.map((token, i) => [token, frequencies[i] as number]), near: [...near] };
}

/** The vocabulary of shards that have told what they know. */
export function vocabularyOver(known: readonly KnownWords[]): Vocabulary {
  const counts = new Map<string, number>();
  for (const [token, chunks] of known.flatMap(({ frequencies }) => frequencies))
    counts.set(token, (counts.get(token) ?? 0) + chunks);
  const near = known.flatMap((each) => each.near);
  return {
    frequenciesOf: (tokens) => tokens.map((token) => counts.get(token) ?? 0),
    nearTo(word, nearness) {
      const key = keyOf(word, nearness);
      return [...new Set(near.filter(([own]) => own === key).flatMap(([, tokens]) => tokens))];
    },
  };
}

/** The terms, with those that stand for them. */
export function termsFor(vocabulary: Vocabulary, terms: readonly string[], matching: WordMatching): string[] {
  return widen({ terms: [...terms] }, alternativesOf(vocabulary, matching), matching.language).terms;
}

/** The search with the terms that stand for its words. It is returned as it is if its words match only themselves. */
export function withAlternatives(vocabulary: Vocabulary, search: CollectionSearch): CollectionSearch {
  const { matching, lexical, details } = search;
  if (!matching || !lexical || lexical.terms.length === 0) return search;
  const found = alternativesOf(vocabulary, matching);
  if (found.length === 0) return search;
  const { language } = matching;
  const widened = lexical.mode === 'boost' ? widen(lexical, found) : widen(lexical, found, language);
  if (!details) return { ...search, lexical: widened };
  const { terms, highlight } = details;
  return {
    ...search,
    lexical: widened,
    details: {
      ...details,
      ...(terms && { terms: widen(terms, found, language) }),
      ...(highlight && { highlight: { ...highlight, terms: [...new Set([...highlight.terms, ...widened.terms])] } }),
    },
  };
}

/** The number of tokens of the query of a search in mode boost, and whether others may stand for them. */
export const wantedIn = ({ terms, alternatives }: LexicalSearch): { wanted: number; isWidened: boolean } => ({
  wanted: alternatives?.wanted ?? terms.length,
  isWidened: alternatives !== undefined,
});

/** The words of the query that other tokens stand for, with these, the best first. */
function alternativesOf(vocabulary: Vocabulary, { words, edits, open, synonyms }: WordMatching): MatchedWord[] {
  const known = vocabulary.frequenciesOf(words).map((frequency) => frequency > 0);
  let corrected = 0;
  return words.flatMap((word, i) => {
    const own = synonyms.filter((synonym) => synonym.word === i);
    const isKnown = known[i] === true;
    const isOpen = open === i && !ALONE.test(word);
    const completions = isOpen ? completionsOf(vocabulary, word, isKnown) : [];
    const isWrong = edits > 0 && !isKnown && completions.length === 0 && CORRECTABLE.test(word);
    const corrections =
      isWrong && corrected++ < CORRECTED_WORDS_MAX ? correctionsOf(vocabulary, word, edits, isOpen) : [];
    const all = [...own, ...completions, ...corrections].sort((a, b) => b.weight - a.weight);
    return all.length === 0 ? [] : [{ word, alternatives: all }];
  });
}

const completing = (word: string): Nearness => ({ edits: 0, fixed: [...word].length, isPrefix: true });

function completionsOf(vocabulary: Vocabulary, word: string, isKnown: boolean): Alternative[] {
  const found = vocabulary.nearTo(word, completing(word)).filter((token) => token !== word);
  const weight = COMPLETION_WEIGHTS[isKnown ? 'known' : 'unknown'];
  return mostFrequent(vocabulary, found, COMPLETIONS_MAX).map((token) => ({ token, weight }));
}

/** How near corrections of a word may be, the nearest first. */
function correcting(word: string, most: number, isPrefix: boolean): Nearness[] {
  const { length } = [...word];
  return [1, 2]
    .filter((edits) => edits <= most && length >= lengthFor(edits))
    .map((edits) => ({ edits, fixed: edits - 1, isPrefix }));
}

/** The tokens with the fewest edits. */
function correctionsOf(vocabulary: Vocabulary, word: string, most: number, isPrefix: boolean): Alternative[] {
  for (const nearness of correcting(word, most, isPrefix)) {
    const found = vocabulary.nearTo(word, nearness);
    const weight = EDIT_WEIGHTS[nearness.edits] as number;
    if (found.length > 0) return mostFrequent(vocabulary, found, CORRECTIONS_MAX).map((token) => ({ token, weight }));
  }
  return [];
}

const lengthFor = (edits: number): number => (edits === 1 ? ONE_EDIT_CHARACTERS_MIN : TWO_EDITS_CHARACTERS_MIN);

/** Up to `max` of the tokens, those of most chunks first. */
function mostFrequent(vocabulary: Vocabulary, tokens: readonly string[], max: number): string[] {
  const frequencies = vocabulary.frequenciesOf(tokens);
  return tokens
    .map((token, i) => ({ token, chunks: frequencies[i] as number }))
    .sort((a, b) => b.chunks - a.chunks || compareUtf8(a.token, b.token))
    .slice(0, max)
    .map(({ token }) => token);
}

interface Group {
  readonly own: readonly string[];
  readonly count: number;
  readonly others: { term: string; weight: number; word: string }[];
}

/**
 * Adds the terms of alternatives to those of a query, each to the group of its word. A term is in one group: its own if
 * it is of the query, else that of the first word that it stands for. Terms are those of a language, or tokens.
 */
function widen<T extends { terms: string[]; counts?: number[] }>(
  asked: T,
  found: readonly MatchedWord[],
  language: Language = 'none',
): T & { alternatives: Alternatives } {
  const { terms, counts } = asked;
  const places = new Map(terms.map((term, i) => [term, i]));
  const groups = terms.map((term, i): Group => ({ own: [term], count: counts?.[i] ?? 1, others: [] }));
  for (const { word, alternatives } of found) {
    // A stop word that may be the beginning of another word is no term itself.
    const place = places.get(termOfWord(word, language) ?? word) ?? groups.push({ own: [], count: 1, others: [] }) - 1;
    for (const { token, weight } of alternatives) {
      const term = termOfWord(token, language);
      if (term === undefined || places.has(term)) continue;
      places.set(term, place);
      groups[place]?.others.push({ term, weight, word });
    }
  }
  const all = groups.flatMap(({ own, count, others }, group) => [
    ...own.map((term) => ({ term, weight: 1, word: undefined, count, group })),
    ...others.map((other) => ({ ...other, count: count * other.weight, group })),
  ]);
  return {
    ...asked,
    terms: all.map(({ term }) => term),
    ...(counts && { counts: all.map(({ count }) => count) }),
    alternatives: {
      groups: all.map(({ group }) => group),
      weights: all.map(({ weight }) => weight),
      words: all.map(({ word }) => word),
      wanted: terms.length,
    },
  };
}
