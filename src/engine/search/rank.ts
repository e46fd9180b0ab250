// The rankings of a search, one arena of a shard after the other: what of a part may be ranked at all, the rankings that
// the mode wants, how long each took, and their packing for whoever merges them. Search workers only.
import type { Ordinal } from '../../api/ids.js';
import type { SearchParams } from '../../api/search.js';
import type { LexicalStatistics } from '../../ranking/bm25.js';
import { withPriority } from '../../ranking/scores.js';
import { BestFirst, hitsIn, mergeRanked, takeBest } from '../../ranking/top-k.js';
import {
  type Bitmap,
  bitmapOf,
  emptyBitmap,
  fullBitmap,
  intersect,
  ordinalsIn,
  setBit,
  subtract,
} from '../filter/bitmap.js';
import { select } from '../filter/candidates.js';
import type { SearchScope } from '../hnsw/search-plan.js';
import type { WordIndex } from '../postings/text-index.js';
import type { PartView } from '../segments/segment.js';
import { breakTies } from './merge.js';
import { type CollectionSearch, type CosineSample, type RankedList, type ShardHits, isDefault } from './params.js';
import type { ShardView } from './snapshot.js';

/** Rows that tell how near chunks are to a query as a rule. */
const SAMPLE_ROWS = 256;

/** BM25 of each; 0 for a chunk that has none of the terms. */
export function wordScores(
  words: WordIndex,
  terms: string[],
  statistics: LexicalStatistics,
  ordinals: Uint32Array,
): Float64Array {
  if (ordinals.length === 0 || terms.length === 0) return new Float64Array(ordinals.length);
  const ranked = words.rank(terms, statistics, ordinals.length, bitmapOf(ordinals, Math.max(...ordinals) + 1));
  const scores = new Map(Array.from(ranked.ordinals, (ordinal, i) => [ordinal, ranked.scores[i] as number]));
  return Float64Array.from(ordinals, (ordinal) => scores.get(ordinal) ?? 0);
}

/** NaN for a chunk that is not live. */
export function cosinesOf(part: PartView, vector: Float32Array, ordinals: Uint32Array): Float32Array {
  if (ordinals.length === 0) return new Float32Array(0);
  return part.index.scoresOf(vector, ordinals);
}

/** Of about 256 rows, evenly spread over the part; of all of a small part. */
function sampleCosines(part: PartView, vector: Float32Array): CosineSample {
  const { end } = part.index;
  const step = Math.max(1, Math.floor(end / SAMPLE_ROWS));
  const rows = Uint32Array.from({ length: Math.ceil(end / step) }, (_, i) => i * step);
  const cosines = cosinesOf(part, vector, rows).filter((cosine) => !Number.isNaN(cosine));
  return { count: cosines.length, sum: cosines.reduce((sum, cosine) => sum + cosine, 0) };
}

/** Where more of a part's chunks have a priority, all are scored: then that is less work than a search beside it. */
const SCORED_SHARE_MAX = 0.25;

interface Scored {
  ordinal: Ordinal;
  stamp: number;
  score: number;
  /** NaN in the lexical ranking. */
  cosine: number;
}

/** A part that is ranked: what of it is searched, and for what. */
interface RankedPart {
  readonly view: ShardView;
  readonly part: PartView;
  readonly search: CollectionSearch;
  /** Of the terms that are ranked by. */
  readonly statistics: LexicalStatistics;
  readonly scope: SearchScope;
}

/**
 * The nearest chunks to the depth of the search, with all that equal the last (`breakTies` cuts them). Unless the mode
 * fuses it with the ranking by words, by what their priorities make of the cosine.
 */
export function rankByVector(
  part: PartView,
  search: Pick<CollectionSearch, 'depth' | 'params' | 'vector' | 'lexical'>,
  scope: SearchScope,
): Scored[] {
  const { vector, depth, params, lexical } = search;
  if (!vector) return [];
  const nearest = (of: SearchScope): Scored[] => nearestByCosine(part, vector, depth, params, of);
  if (lexical?.mode === 'hybrid' || part.priorities.count === 0) return nearest(scope);
  return withLifted(part, vector, depth, nearest, scope);
}

function nearestByCosine(
  part: PartView,
  vector: Float32Array,
  depth: number,
  params: SearchParams,
  scope: SearchScope,
): Scored[] {
  const { ordinals, stamps, scores } = part.index.searchWithTies(vector, depth, params, scope);
  const found: Scored[] = [];
  for (let i = 0; i < ordinals.length; i++) {
    const cosine = scores[i] as number;
    found.push({ ordinal: ordinals[i] as Ordinal, stamp: stamps[i] as number, cosine, score: cosine });
  }
  return found;
}

/**
 * A chunk that is lifted may come from far below the nearest: those with a priority are all scored, the others ranked
 * as ever.
 */
function withLifted(
  part: PartView,
  vector: Float32Array,
  depth: number,
  nearest: (scope: SearchScope) => Scored[],
  { share, allowed = fullBitmap(part.index.end) }: SearchScope,
): Scored[] {
  const isMany = part.priorities.count > SCORED_SHARE_MAX * part.index.liveCount;
  const lifted = isMany ? allowed : intersect(allowed, part.priorities.bitmap());
  const others = isMany ? [] : nearest({ share, allowed: subtract(allowed, lifted) });
  return [...others, ...bestOf(part, vector, depth, Uint32Array.from(ordinalsIn(lifted)))].sort(
    (a, b) => b.score - a.score,
  );
}

/** Scores all of the rows that are live, and keeps the k best with all that equal the k-th. */
function bestOf({ index, priorities }: PartView, vector: Float32Array, k: number, rows: Uint32Array): Scored[] {
  const cosines = index.scoresOf(vector, rows);
  const live = Uint32Array.from(rows.keys()).filter((i) => !Number.isNaN(cosines[i]));
  const scores = Float64Array.from(live, (i) => withPriority(cosines[i] as number, priorities.of(rows[i] as Ordinal)));
  return takeBest(new BestFirst(live, scores), k, () => true).map(({ item, score }) => {
    const ordinal = rows[item] as Ordinal;
    return { ordinal, stamp: index.stampOf(ordinal), score, cosine: cosines[item] as number };
  });
}

/** In mode hybrid: the best by BM25 of those that have any term of the query. */
function rankByWords({ part, search, statistics, scope: { allowed } }: RankedPart): Scored[] {
  const { lexical, depth } = search;
  const { words, index } = part;
  if (lexical?.mode !== 'hybrid' || !words) return [];
  const first = words.rankWithTies(lexical.terms, statistics, depth, allowed);
  // Of a document that leaves the words stay for a while: they are no hits, and take the place of none.
  const { ordinals, scores } = first.ordinals.every((ordinal) => index.isLive(ordinal))
    ? first
    : words.rankWithTies(lexical.terms, statistics, depth, liveIn(part, allowed));
  return Array.from(
    ordinals,
    (ordinal, i): Scored => ({
      ordinal: ordinal as Ordinal,
      stamp: index.stampOf(ordinal),
      score: scores[i] as number,
      cosine: NaN,
    }),
  );
}

function liveIn({ index }: PartView, allowed = fullBitmap(index.end)): Bitmap {
  const { end } = index;
  const live = emptyBitmap(end);
  for (let ordinal = 0; ordinal < end; ordinal++) if (index.isLive(ordinal)) setBit(live, ordinal);
  return intersect(live, allowed);
}

const NONE_RANKED = pack([]);

/**
 * The best chunks of this shard's part of the collection in each ranking, to the depth of the search and no deeper.
 * Requires that what it needs is indexed. `all`: live chunks of the collection in all shards; where it is left out,
 * this one has them all.
 */
export function rankPart(
  view: ShardView,
  search: CollectionSearch,
  statistics: LexicalStatistics,
  all?: number,
): ShardHits {
  const { part, before, removals } = view;
  const { narrowing, lexical, vector, details } = search;
  const chunks = part?.index.liveCount ?? 0;
  const hits: ShardHits = { before, removals, chunks, vector: NONE_RANKED, filterMs: 0, vectorMs: 0, lexicalMs: 0 };
  if (!part || chunks === 0) {
    if (lexical?.mode === 'hybrid') hits.lexical = NONE_RANKED;
    return hits;
  }
  const startedAtMs = performance.now();
  const allowed = narrowing && select(view, part, narrowing);
  if (narrowing) hits.filterMs = performance.now() - startedAtMs;
  if (vector && details?.relevance) hits.sample = sampleCosines(part, vector);
  rank({ view, part, search, statistics, scope: { share: shareOf(chunks, all), allowed } }, hits);
  return hits;
}

const shareOf = (own: number, all = own): number => Math.min(1, own / all);

/**
 * The hits of a part with its vectors ranked anew, as if it were alone. The rest is what rows had at first: whatever
 * went since is noticed by it.
 */
export function withVectorAnew(
  view: ShardView,
  search: CollectionSearch,
  statistics: LexicalStatistics,
  first: ShardHits,
): ShardHits {
  if (!view.part) return first;
  const startedAtMs = performance.now();
  const ranked = { view, part: view.part, search, statistics, scope: { share: 1 } };
  const nearest = rankByVector(view.part, search, ranked.scope);
  const rankedAtMs = performance.now();
  const vector = packNearest(ranked, nearest);
  return {
    ...first,
    vector,
    vectorMs: first.vectorMs + rankedAtMs - startedAtMs,
    lexicalMs: first.lexicalMs + performance.now() - rankedAtMs,
  };
}

/**
 * Fills the hits in. Equal scores are looked at when everything is ranked: by then the store has all that was found.
 */
function rank(ranked: RankedPart, hits: ShardHits): void {
  const { part, search, scope } = ranked;
  const { vector, lexical } = search;
  const startedAtMs = performance.now();
  const nearest = rankByVector(part, search, scope);
  const rankedAtMs = performance.now();
  const worded = rankByWords(ranked);
  hits.vector = packNearest(ranked, nearest);
  if (lexical?.mode === 'hybrid') {
    hits.lexical = packBest(ranked, worded, true);
    if (wantsBothScores(search) && vector && part.words)
      hits.lexical.cosines = cosinesOf(part, vector, hits.lexical.ordinals);
  }
  hits.vectorMs = rankedAtMs - startedAtMs;
  hits.lexicalMs = performance.now() - rankedAtMs;
}

/** Whether the chunks of each ranking come with their scores of the other one. */
const wantsBothScores = ({ vector, fusion }: CollectionSearch): boolean =>
  vector !== undefined && fusion.method === 'score';

/** With what its chunks have of the words of the query, where the mode or the fusion wants to know. */
function packNearest(ranked: RankedPart, nearest: Scored[]): RankedList {
  const { part, search, statistics } = ranked;
  const { lexical } = search;
  const list = packBest(ranked, nearest, lexical !== undefined);
  if (lexical?.mode === 'boost') list.matched = part.words?.matched(list.ordinals, lexical.terms);
  if (lexical?.mode === 'hybrid' && wantsBothScores(search) && part.words)
    list.words = wordScores(part.words, lexical.terms, statistics, list.ordinals);
  return list;
}

const packBest = ({ view, part, search }: RankedPart, scored: Scored[], isPrioritized: boolean): RankedList =>
  pack(breakTies(view, part, scored, search.depth), isPrioritized ? part : undefined);

/** With the priorities of `part`, where it is given and has any. */
function pack(scored: readonly Scored[], part?: PartView): RankedList {
  const count = scored.length;
  const list: RankedList = {
    ordinals: new Uint32Array(count),
    stamps: new Uint32Array(count),
    scores: new Float64Array(count),
    cosines: new Float32Array(count),
  };
  for (let i = 0; i < count; i++) {
    const { ordinal, stamp, score, cosine } = scored[i] as Scored;
    list.ordinals[i] = ordinal;
    list.stamps[i] = stamp;
    list.scores[i] = score;
    list.cosines[i] = cosine;
  }
  const priorities = part?.priorities;
  if (priorities && priorities.count > 0)
    list.priorities = Float64Array.from(scored, ({ ordinal }) => priorities.of(ordinal));
  return list;
}

/**
 * The rankings of `views`, of all shards and in the same places. Each part is searched for its share of the best, since
 * chunks are spread over shards by chance; one that has more of them, as when all of a document's chunks are the best,
 * is searched again as if it were alone.
 */
export function rankParts(
  views: readonly ShardView[],
  search: CollectionSearch,
  statistics: LexicalStatistics,
): ShardHits[] {
  const chunks = chunksIn(views);
  const lists = views.map((view) => rankPart(view, search, statistics, chunks));
  if (!isShared(views, search)) return lists;
  const found = bestIn(lists, search.depth);
  return lists.map((list, i) =>
    (found[i] as number) > hitsIn(search.depth, list.chunks / chunks)
      ? withVectorAnew(views[i] as ShardView, search, statistics, list)
      : list,
  );
}

const chunksIn = (views: readonly ShardView[]): number =>
  views.reduce((sum, { part }) => sum + (part?.index.liveCount ?? 0), 0);

/**
 * Whether the parts have been searched for shares: what a search says of how it goes, and breadths under a filter, are
 * not divided.
 */
const isShared = ({ length }: readonly ShardView[], { vector, narrowing, params }: CollectionSearch): boolean =>
  length > 1 && vector !== undefined && narrowing === undefined && isDefault(params);

/** How many of the k best by vector each list has. */
function bestIn(lists: readonly ShardHits[], k: number): number[] {
  const counts = lists.map(() => 0);
  for (const { shard } of mergeRanked(
    lists.map(({ vector }) => vector.scores),
    k,
  ))
    counts[shard]!++;
  return counts;
}
