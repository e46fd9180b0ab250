// Words of a query that match other words: those that differ by a typing error, those that begin with the last word,
// and synonyms. Before the ranking, the search looks up in the text indexes of all shards which terms stand for which
// word of the query, and ranks by these terms too, each with a weight. Searching threads only.
import type { Language } from '../../api/choices.js';
import { compareUtf8 } from '../../base/bytes.js';
import { termOfWord } from '../../text/stemming.js';
import { UNSPACED } from '../../text/tokenize.js';
import type { Nearness, TextIndex } from '../postings/text-index.js';
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

/** The terms, with those that stand for them. */
export function termsFor(views: readonly ShardView[], terms: readonly string[], matching: WordMatching): string[] {
  return widen({ terms: [...terms] }, alternativesOf(textIndexesOf(views), matching), matching.language).terms;
}

const textIndexesOf = (views: readonly ShardView[]): TextIndex[] =>
  views.flatMap(({ segment }) => segment?.textIndex ?? []);

/** The search with the terms that stand for its words. It is returned as it is if its words match only themselves. */
export function withAlternatives(views: readonly ShardView[], search: CollectionSearch): CollectionSearch {
  const { matching, lexical, details } = search;
  if (!matching || !lexical || lexical.terms.length === 0) return search;
  const found = alternativesOf(textIndexesOf(views), matching);
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
function alternativesOf(indexes: readonly TextIndex[], { words, edits, open, synonyms }: WordMatching): MatchedWord[] {
  const known = frequenciesOf(indexes, words).map((frequency) => frequency > 0);
  let corrected = 0;
  return words.flatMap((word, i) => {
    const own = synonyms.filter((synonym) => synonym.word === i);
    const isKnown = known[i] === true;
    const isOpen = open === i && !ALONE.test(word);
    const completions = isOpen ? completionsOf(indexes, word, isKnown) : [];
    const isWrong = edits > 0 && !isKnown && completions.length === 0 && CORRECTABLE.test(word);
    const corrections = isWrong && corrected++ < CORRECTED_WORDS_MAX ? correctionsOf(indexes, word, edits, isOpen) : [];
    const all = [...own, ...completions, ...corrections].sort((a, b) => b.weight - a.weight);
    return all.length === 0 ? [] : [{ word, alternatives: all }];
  });
}

function completionsOf(indexes: readonly TextIndex[], word: string, isKnown: boolean): Alternative[] {
  const nearness = { edits: 0, fixed: [...word].length, isPrefix: true };
  const found = [...nearIn(indexes, word, nearness).keys()].filter((token) => token !== word);
  const weight = COMPLETION_WEIGHTS[isKnown ? 'known' : 'unknown'];
  return mostFrequent(indexes, found, COMPLETIONS_MAX).map((token) => ({ token, weight }));
}

/** The tokens with the fewest edits. */
function correctionsOf(indexes: readonly TextIndex[], word: string, most: number, isPrefix: boolean): Alternative[] {
  const { length } = [...word];
  for (let edits = 1; edits <= most && length >= lengthFor(edits); edits++) {
    const found = [...nearIn(indexes, word, { edits, fixed: edits - 1, isPrefix }).keys()];
    const weight = EDIT_WEIGHTS[edits] as number;
    if (found.length > 0) return mostFrequent(indexes, found, CORRECTIONS_MAX).map((token) => ({ token, weight }));
  }
  return [];
}

const lengthFor = (edits: number): number => (edits === 1 ? ONE_EDIT_CHARACTERS_MIN : TWO_EDITS_CHARACTERS_MIN);

function nearIn(indexes: readonly TextIndex[], word: string, nearness: Nearness): Map<string, number> {
  return new Map(indexes.flatMap((index) => [...index.nearTerms(word, nearness, LISTED_MAX)]));
}

/** The number of chunks that have each term. */
function frequenciesOf(indexes: readonly TextIndex[], terms: readonly string[]): number[] {
  const counts = indexes.map((index) => index.statistics(terms).frequencies);
  return terms.map((_, i) => counts.reduce((sum, frequencies) => sum + (frequencies[i] as number), 0));
}

/** Up to `max` of the tokens, those of most chunks first. */
function mostFrequent(indexes: readonly TextIndex[], tokens: readonly string[], max: number): string[] {
  const frequencies = frequenciesOf(indexes, tokens);
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
