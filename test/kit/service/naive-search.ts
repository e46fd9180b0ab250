// The naive version of search: scores every given chunk as the contract says. Fusion and order are its own; BM25 comes
// from the naive text index, and cosines are given.
import { LANGUAGE_DEFAULT } from '../../../src/api/choices.js';
import { chunkTerms, questionTerms } from '../../../src/text/terms.js';
import { tokensOf } from '../../../src/text/tokenize.js';
import { NaiveRanking } from '../engine/naive-text-index.js';
import { type NaiveChunk, type NaiveWords, naiveWordScores } from './naive-words.js';

export type { NaiveChunk } from './naive-words.js';

export interface NaiveFusion {
  method: 'rank' | 'score';
  k?: number;
  weights: { vector: number; lexical: number };
}

export interface NaiveQuery {
  mode: 'vector' | 'boost' | 'hybrid';
  q: string;
  k: number;
  fits: (chunk: NaiveChunk) => boolean;
  /** Which words stand for those of the query, in the modes boost and hybrid. */
  words?: NaiveWords;
  /** Only for mode hybrid. */
  fusion?: NaiveFusion;
  /** Candidates of each ranking; by default as many as k needs. */
  depth?: number;
  /** For a further round: the ranks that were given before, and the best BM25 of the first round. */
  round?: { before: number; most: number };
}

export interface NaiveHit {
  id: string;
  score: number;
  /** The score before the priority. */
  plain?: number;
}

type Order = (a: NaiveChunk, b: NaiveChunk) => number;

const byPosition: Order = (a, b) => Buffer.compare(Buffer.from(a.docid), Buffer.from(b.docid)) || a.index - b.index;
const lifted = (score: number, priority: number): number => score + Math.abs(score) * priority;

/** The k best by `score`; equal scores by document and chunk. */
function best(chunks: readonly NaiveChunk[], score: (chunk: NaiveChunk) => number, k: number): NaiveChunk[] {
  return [...chunks].sort((a, b) => score(b) - score(a) || byPosition(a, b)).slice(0, k);
}

export const naiveSearch = (all: readonly NaiveChunk[], query: NaiveQuery): NaiveHit[] =>
  naiveRanking(all, query).slice(0, query.k);

/** All candidates of a search for k hits, best first: in the modes boost and hybrid they are more than k. */
export function naiveRanking(
  all: readonly NaiveChunk[],
  { mode, q, k, fits, words, fusion = PLAIN, depth = mode === 'vector' ? k : Math.max(50, 5 * k), round }: NaiveQuery,
): NaiveHit[] {
  const chunks = all.filter(fits);
  const byCosine = (chunk: NaiveChunk): number => lifted(chunk.cosine, chunk.priority);
  if (mode === 'vector')
    return best(chunks, byCosine, depth).map((chunk) => ({
      id: chunk.id,
      score: byCosine(chunk),
      plain: chunk.cosine,
    }));
  if (mode === 'boost') {
    const share = words ? naiveWordScores(all, q, words).share : plainShare(q);
    const plain = (chunk: NaiveChunk): number => chunk.cosine + 0.1 * share(chunk);
    const score = (chunk: NaiveChunk): number => lifted(plain(chunk), chunk.priority);
    return best(best(chunks, byCosine, depth), score, depth).map((chunk) => ({
      id: chunk.id,
      score: score(chunk),
      plain: plain(chunk),
    }));
  }
  return naiveHybrid(chunks, words ? naiveWordScores(all, q, words).bm25 : bm25(all, q), depth, fusion, round);
}

function plainShare(q: string): (chunk: NaiveChunk) => number {
  const terms = [...new Set(tokensOf(q))];
  return ({ text }) => {
    const tokens = tokensOf(text);
    return terms.length === 0 ? 0 : terms.filter((term) => tokens.includes(term)).length / terms.length;
  };
}

const PLAIN: NaiveFusion = { method: 'rank', k: 60, weights: { vector: 1, lexical: 1 } };

function naiveHybrid(
  chunks: readonly NaiveChunk[],
  words: (chunk: NaiveChunk) => number,
  depth: number,
  { method, k = 60, weights }: NaiveFusion,
  { before, most: mostBefore }: { before: number; most?: number } = { before: 0 },
): NaiveHit[] {
  const vector = weights.vector === 0 ? [] : best(chunks, (chunk) => chunk.cosine, depth);
  const lexical =
    weights.lexical === 0
      ? []
      : best(
          chunks.filter((chunk) => words(chunk) > 0),
          words,
          depth,
        );
  const most = mostBefore ?? Math.max(...lexical.map(words));
  const share = (chunk: NaiveChunk): number => (lexical.length === 0 ? 0 : words(chunk) / most);
  const rankIn = (list: readonly NaiveChunk[], chunk: NaiveChunk): number =>
    list.includes(chunk) ? before + list.indexOf(chunk) + 1 : Infinity;
  const scored = [...new Set([...vector, ...lexical])].map((chunk) => {
    const rank = rankIn(vector, chunk);
    const byRanks = weights.vector / (k + rank) + weights.lexical / (k + rankIn(lexical, chunk));
    const byScores = weights.vector * chunk.cosine + weights.lexical * share(chunk);
    const plain = method === 'rank' ? byRanks : byScores;
    return { chunk, rank, plain, score: lifted(plain, chunk.priority) };
  });
  const byRank = (a: number, b: number): number => (a === b ? 0 : a - b);
  type Scored = (typeof scored)[number];
  const ofRanks = (a: Scored, b: Scored): number =>
    byRank(a.rank, b.rank) || Buffer.compare(Buffer.from(a.chunk.id), Buffer.from(b.chunk.id));
  const ofScores = (a: Scored, b: Scored): number => byPosition(a.chunk, b.chunk);
  scored.sort((a, b) => b.score - a.score || (method === 'rank' ? ofRanks : ofScores)(a, b));
  return scored.map(({ chunk, score, plain }) => ({ id: chunk.id, score, plain }));
}

/** The best BM25 of the chunks that fit; 0 if none has a term. */
export const naiveMost = (all: readonly NaiveChunk[], { q, fits }: NaiveQuery): number =>
  Math.max(0, ...all.filter(fits).map(bm25(all, q)));

/**
 * BM25 scores. The statistics cover all chunks, whatever the filters; a term counts as often as it occurs in the query;
 * a chunk that has none of the terms scores 0.
 */
function bm25(all: readonly NaiveChunk[], q: string): (chunk: NaiveChunk) => number {
  const terms = questionTerms(q, 1024, LANGUAGE_DEFAULT);
  const standing = chunkTerms(q, LANGUAGE_DEFAULT);
  const counts = terms.map((term) => standing.filter((one) => one === term).length);
  const words = new NaiveRanking();
  all.forEach(({ text }, i) => words.chunks.set(i, chunkTerms(text, LANGUAGE_DEFAULT)));
  const scores = new Map(
    words.rank(terms, { ...words.statistics(terms), counts }).map(([i, score]) => [all[i], score]),
  );
  return (chunk) => scores.get(chunk) ?? 0;
}
