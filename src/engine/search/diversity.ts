// Maximal marginal relevance (Carbonell and Goldstein 1998): picks hits that are relevant and unlike those before them,
// one by one: the next one has the greatest lambda * relevance - (1 - lambda) * max similarity to a hit already picked.
// The relevance of a hit is its score, scaled so that the candidates range from 0 to 1; the similarity of two hits is the
// cosine of their vectors. Pure; any thread.
import type { HitReader, Ranking, Round, ScoredHit } from './merge.js';
import { type CollectionSearch, type Diversity, type ResultSettings, depthOf } from './params.js';

/** The hits of one page of the candidates, which are the best hits of the search. */
export function diverseHits(
  reader: HitReader,
  search: CollectionSearch,
  { offset, minScore = -Infinity, diversity }: ResultSettings & { diversity: Diversity },
  rank: (asked: CollectionSearch, round?: Round) => Ranking,
): Ranking & { hasMore: boolean } {
  const { lambda, candidates } = diversity;
  const { lists, hits } = rank({ ...search, depth: depthOf(candidates, search.lexical !== undefined) });
  const best = hits.slice(0, candidates).filter(({ score }) => score >= minScore);
  const end = offset + search.k;
  return { lists, hits: picked(reader, best, lambda, end).slice(offset), hasMore: best.length > end };
}

/** The first `count` of the candidates in the order of maximal marginal relevance. */
function picked({ vectorOf }: HitReader, candidates: ScoredHit[], lambda: number, count: number): ScoredHit[] {
  const vectors = candidates.map(vectorOf);
  const scores = candidates.map(({ score }) => score);
  const lowest = Math.min(...scores);
  const range = Math.max(...scores) - lowest;
  const relevance = scores.map((score) => (range === 0 ? 1 : (score - lowest) / range));
  const likest = candidates.map(() => -Infinity);
  const left = new Set(candidates.keys());
  const order: ScoredHit[] = [];
  while (order.length < count && left.size > 0) {
    let [next, most] = [-1, -Infinity];
    for (const i of left) {
      const similarity = order.length === 0 ? 0 : (likest[i] as number);
      const value = lambda * (relevance[i] as number) - (1 - lambda) * similarity;
      if (value > most) [next, most] = [i, value];
    }
    left.delete(next);
    order.push(candidates[next] as ScoredHit);
    for (const i of left) likest[i] = Math.max(likest[i] as number, dot(vectors[i], vectors[next]));
  }
  return order;
}

function dot(a: Float32Array = NONE, b: Float32Array = NONE): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

const NONE = new Float32Array();
