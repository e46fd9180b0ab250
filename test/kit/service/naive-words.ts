// The naive version of which words stand for others: it compares each word of a query with each token of the
// collection, and ranks by what stands for it. Weights and bounds are those that docs/guide/words.md states.
import { LANGUAGE_DEFAULT } from '../../../src/api/choices.js';
import { termOfWord } from '../../../src/text/stemming.js';
import { chunkTerms, countedTerms } from '../../../src/text/terms.js';
import { tokensOf } from '../../../src/text/tokenize.js';
import { naiveEdits } from '../engine/naive-edits.js';
import { NaiveRanking } from '../engine/naive-text-index.js';

export interface NaiveChunk {
  id: string;
  docid: string;
  index: number;
  text: string;
  cosine: number;
  priority: number;
  meta: Record<string, any>;
}

export interface NaiveWords {
  /** The most edits. */
  fuzzy?: 1 | 2;
  prefix?: boolean;
  synonyms?: readonly { words: string[]; to?: string[] }[];
}

interface Other {
  token: string;
  weight: number;
}

const inOrder = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The tokens that stand for each distinct word of a query, the best first. */
function othersOf(
  all: readonly NaiveChunk[],
  q: string,
  { fuzzy, prefix, synonyms }: NaiveWords,
): (readonly [string, Other[]])[] {
  const frequencies = new Map<string, number>();
  for (const { text } of all)
    for (const token of new Set(tokensOf(text))) frequencies.set(token, (frequencies.get(token) ?? 0) + 1);
  const byFrequency = (tokens: string[]): string[] =>
    tokens.sort((a, b) => (frequencies.get(b) ?? 0) - (frequencies.get(a) ?? 0) || inOrder(a, b));
  const written = tokensOf(q);
  const words = [...new Set(written)];
  return words.map((word) => {
    const own = synonymsOf(written, word, synonyms ?? []);
    const isKnown = frequencies.has(word);
    const isOpen = prefix === true && written.at(-1) === word && /[\p{L}\p{N}]$/u.test(q);
    const longer = isOpen ? [...frequencies.keys()].filter((token) => token !== word && token.startsWith(word)) : [];
    const completions = byFrequency(longer)
      .slice(0, 32)
      .map((token) => ({ token, weight: isKnown ? 0.2 : 0.8 }));
    const corrections: Other[] = [];
    if (fuzzy && !isKnown && longer.length === 0 && /^\p{L}+$/u.test(word)) {
      for (const edits of [1, 2] as const) {
        if (corrections.length > 0 || edits > fuzzy || word.length < (edits === 1 ? 4 : 8)) continue;
        const near = [...frequencies.keys()].filter((token) => {
          const ends = isOpen ? [...token].map((_, end) => token.slice(0, end + 1)) : [token];
          return (
            (edits === 1 || token[0] === word[0]) && ends.some((beginning) => naiveEdits(word, beginning) <= edits)
          );
        });
        const weight = edits === 1 ? 0.7 : 0.5;
        corrections.push(
          ...byFrequency(near)
            .slice(0, 8)
            .map((token) => ({ token, weight })),
        );
      }
    }
    return [word, [...own, ...completions, ...corrections].sort((a, b) => b.weight - a.weight)] as const;
  });
}

const termOf = (token: string): string => termOfWord(token, LANGUAGE_DEFAULT) ?? token;

function synonymsOf(written: readonly string[], word: string, rules: NonNullable<NaiveWords['synonyms']>): Other[] {
  const found: Other[] = [];
  written.forEach((_, at) => {
    const sources = rules.flatMap(({ words, to }) =>
      words.map((source) => ({
        terms: tokensOf(source).map(termOf),
        others: (to ?? words.filter((one) => one !== source)).map(tokensOf),
      })),
    );
    for (const { terms, others } of sources.sort((a, b) => b.terms.length - a.terms.length)) {
      const covered = written.slice(at, at + terms.length);
      if (covered.length < terms.length || !terms.every((term, i) => termOf(covered[i] as string) === term)) continue;
      for (const tokens of others)
        for (const own of covered)
          if (own === word) found.push(...tokens.map((token) => ({ token, weight: 0.8 / tokens.length })));
    }
  });
  return found;
}

export interface NaiveScores {
  bm25: (chunk: NaiveChunk) => number;
  /** The share of the distinct words that a chunk has, weighed. */
  share: (chunk: NaiveChunk) => number;
}

/** What the words of a query give each chunk. */
export function naiveWordScores(all: readonly NaiveChunk[], q: string, words: NaiveWords): NaiveScores {
  const others = othersOf(all, q, words);
  return { bm25: bm25(all, q, others), share: shareOf(q, others) };
}

function shareOf(q: string, others: readonly (readonly [string, Other[]])[]): (chunk: NaiveChunk) => number {
  const wanted = [...new Set(tokensOf(q))];
  const taken = new Set(wanted);
  const groups = others.map(([word, own]) => [
    { token: word, weight: 1 },
    ...own.filter(({ token }) => !taken.has(token) && taken.add(token)),
  ]);
  return ({ text }) => {
    const tokens = tokensOf(text);
    const sum = groups.reduce(
      (total, group) => total + Math.max(0, ...group.map(({ token, weight }) => (tokens.includes(token) ? weight : 0))),
      0,
    );
    return wanted.length === 0 ? 0 : sum / wanted.length;
  };
}

function bm25(
  all: readonly NaiveChunk[],
  q: string,
  others: readonly (readonly [string, Other[]])[],
): (chunk: NaiveChunk) => number {
  const ranking = new NaiveRanking();
  all.forEach(({ text }, i) => ranking.chunks.set(i, chunkTerms(text, LANGUAGE_DEFAULT)));
  const { terms, counts } = countedTerms(q, 1024, LANGUAGE_DEFAULT);
  const taken = new Set(terms);
  const frequencyOf = (term: string): number => ranking.statistics([term]).frequencies[0] as number;
  const weighed = terms.map((term, i) => ({ term, count: counts[i] as number, frequency: frequencyOf(term) }));
  const added = new Map<string, { term: string; count: number }[]>();
  for (const [word, own] of others) {
    const group = termOf(word);
    const count = counts[terms.indexOf(group)] ?? 1;
    for (const { token, weight } of own) {
      const term = termOfWord(token, LANGUAGE_DEFAULT);
      if (term === undefined || taken.has(term)) continue;
      taken.add(term);
      added.set(group, [...(added.get(group) ?? []), { term, count: count * weight }]);
    }
  }
  for (const [group, list] of added) {
    const most = Math.max(frequencyOf(group), ...list.map(({ term }) => frequencyOf(term)));
    weighed.push(...list.map((one) => ({ ...one, frequency: most })));
  }
  const { chunks, tokens } = ranking.statistics([]);
  const statistics = {
    chunks,
    tokens,
    frequencies: weighed.map(({ frequency }) => frequency),
    counts: weighed.map(({ count }) => count),
  };
  const scores = new Map(
    ranking
      .rank(
        weighed.map(({ term }) => term),
        statistics,
      )
      .map(([i, score]) => [all[i], score]),
  );
  return (chunk) => scores.get(chunk) ?? 0;
}
