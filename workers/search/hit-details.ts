// What hits tell of themselves where it was asked for: the parts of the score, how relevant they are likely to be, the
// best passage. Search workers only; called by hydrate.ts for the hits of one shard, all at once.
import type { Explanation } from '../../src/contract/api/search.js';
import type { DetailsWanted, HitParts } from '../../src/contract/hits.js';
import type { Basis, HybridQuery, RankedHit } from '../../src/contract/ranking.js';
import { scoreOf } from '../../src/rank/basis-score.js';
import { greatestBm25 } from '../../src/rank/bm25.js';
import { nearnessOf, relevanceOf } from '../../src/rank/relevance.js';
import { highlightOf } from '../../src/text/highlight.js';
import { plainTerm } from '../../src/text/rank-terms.js';
import type { PartView } from '../shard/part-view.js';
import type { WordIndex } from '../shard/words/word-index.js';
import { cosinesOf, wordScores } from './given-chunks.js';

type HitDetails = Pick<HitParts, 'explain' | 'relevance' | 'highlight'>;
/** Of one hit, by its place among them, once its text is read. */
export type DetailsOf = (at: number, text: string | undefined, priority: number) => HitDetails;

export function detailsOf(part: PartView, hits: readonly RankedHit[], wanted: DetailsWanted): DetailsOf {
  const ordinals = Uint32Array.from(hits, ({ ordinal }) => ordinal);
  const words = part.words;
  const terms = wanted.explain && words && wanted.words ? termScores(words, wanted.words, ordinals) : [];
  const relevance = wanted.relevance && relevances(part, ordinals, wanted);
  return (at, text, priority) => ({
    ...(wanted.explain && { explain: explanation(hits[at] as RankedHit, terms[at] ?? [], priority) }),
    ...(relevance?.[at] !== undefined && { relevance: relevance[at] }),
    ...(wanted.highlight && text !== undefined && { highlight: highlightOf(text, wanted.highlight) }),
  });
}

/** undefined where nothing is known to tell it by. */
function relevances(
  part: PartView,
  ordinals: Uint32Array,
  { relevance, words }: DetailsWanted,
): (number | undefined)[] {
  const { vector } = relevance as NonNullable<typeof relevance>;
  const cosines = vector && cosinesOf(part, vector.query, ordinals);
  const index = part.words;
  const scores = words && index && words.terms.length > 0 ? wordScores(index, words, ordinals) : undefined;
  const greatest = words ? greatestBm25(words.statistics) : 0;
  return Array.from(ordinals, (_, at) => {
    const nearness = vector && cosines && nearnessOf(cosines[at] as number, vector.mean);
    return relevanceOf(nearness, scores && (scores[at] as number) / greatest);
  });
}

type TermScores = NonNullable<Explanation['lexical']>['terms'];

/**
 * For each chunk the terms that it has: asked for one by one, their scores add up to that of all but for less than a
 * millionth of it.
 */
function termScores(
  words: WordIndex,
  { terms, statistics }: Omit<HybridQuery, 'mode'>,
  ordinals: Uint32Array,
): TermScores[] {
  const found = Array.from(ordinals, (): TermScores => []);
  terms.forEach((term, i) => {
    const { chunks, tokens, frequencies, counts } = statistics;
    const ofTerm = { chunks, tokens, frequencies: [frequencies[i] as number], counts: [counts?.[i] ?? 1] };
    wordScores(words, { terms: [term], statistics: ofTerm }, ordinals).forEach((bm25, at) => {
      if (bm25 > 0) found[at]?.push({ term: plainTerm(term), bm25 });
    });
  });
  return found;
}

function explanation({ basis }: RankedHit, terms: TermScores, priority: number): Omit<Explanation, 'score'> {
  return { ...partsOf(basis, terms), fused: scoreOf(basis), ...(priority !== 0 && { priority }) };
}

function partsOf(basis: Basis, terms: TermScores): Pick<Explanation, 'vector' | 'lexical' | 'boost' | 'fusion'> {
  if (basis.mode === 'vector') return { vector: { cosine: basis.cosine, ...ranked(basis.vectorRank) } };
  if (basis.mode === 'boost')
    return {
      vector: { cosine: basis.cosine, ...ranked(basis.vectorRank) },
      boost: { matched: basis.matched, wanted: basis.wanted, boost: basis.boost },
    };
  const { cosine, vectorRank, bm25, share, lexicalRank, fusion } = basis;
  return {
    ...(cosine !== undefined && { vector: { cosine, ...ranked(vectorRank) } }),
    ...(bm25 !== undefined && {
      lexical: { bm25, ...ranked(lexicalRank), ...(fusion.method === 'score' && { share: share ?? 0 }), terms },
    }),
    fusion,
  };
}

const ranked = (rank: number | undefined): { rank?: number } => (rank === undefined ? {} : { rank });
