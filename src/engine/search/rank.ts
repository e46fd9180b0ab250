// Ranks segments: evaluates the filter, runs the vector and lexical rankings that the search mode needs, measures their
// time, and packs them for the merge. Searching threads only.
import type { Ordinal } from '../../api/ids.js';
import type { SearchParams } from '../../api/search.js';
import type { LexicalStatistics } from '../../ranking/bm25.js';
import { withPriority } from '../../ranking/scores.js';
import { BestFirst, hitsIn, mergeRanked, takeBest } from '../../ranking/top-k.js';
import { type Bitmap, bitmapOf, fullBitmap, intersect, ordinalsIn, subtract } from '../filter/bitmap.js';
import { candidatesOf } from '../filter/candidates.js';
import type { SearchScope } from '../hnsw/search-plan.js';
import type { TextIndex } from '../postings/text-index.js';
import type { SegmentView } from '../segments/segment.js';
import { breakTies } from './merge.js';
import {
  type CollectionSearch,
  type CosineSample,
  type RankedList,
  type ShardHits,
  estimatesRelevance,
  isDefault,
} from './params.js';
import type { ShardView } from './snapshot.js';

/** Number of rows sampled to estimate the mean cosine of a query. */
const SAMPLE_ROWS = 256;

/** BM25 of each chunk; 0 if it has none of the terms. */
export function bm25Scores(
  textIndex: TextIndex,
  terms: string[],
  statistics: LexicalStatistics,
  ordinals: Uint32Array,
): Float64Array {
  if (ordinals.length === 0 || terms.length === 0) return new Float64Array(ordinals.length);
  const ranked = textIndex.rank(terms, statistics, ordinals.length, bitmapOf(ordinals, Math.max(...ordinals) + 1));
  const scores = new Map(Array.from(ranked.ordinals, (ordinal, i) => [ordinal, ranked.scores[i] as number]));
  return Float64Array.from(ordinals, (ordinal) => scores.get(ordinal) ?? 0);
}

/** Cosine of each chunk; NaN if the chunk is not live. */
export function cosinesOf(segment: SegmentView, vector: Float32Array, ordinals: Uint32Array): Float32Array {
  if (ordinals.length === 0) return new Float32Array(0);
  return segment.index.scoresOf(vector, ordinals);
}

/** Cosines of about 256 rows, evenly spread over the segment, or of all rows of a small one. */
function sampleCosines(segment: SegmentView, vector: Float32Array): CosineSample {
  const { end } = segment.index;
  const step = Math.max(1, Math.floor(end / SAMPLE_ROWS));
  const rows = Uint32Array.from({ length: Math.ceil(end / step) }, (_, i) => i * step);
  const cosines = cosinesOf(segment, vector, rows).filter((cosine) => !Number.isNaN(cosine));
  return { count: cosines.length, sum: cosines.reduce((sum, cosine) => sum + cosine, 0) };
}

/**
 * If more than this share of a segment's chunks has a priority, all chunks are scored: that costs less than a graph
 * search plus the scoring of those chunks.
 */
const SCORED_SHARE_MAX = 0.25;

interface Scored {
  ordinal: Ordinal;
  rowVersion: number;
  score: number;
  /** NaN in the lexical ranking. */
  cosine: number;
}

/** A segment with the search that ranks it. */
interface RankedSegment {
  readonly view: ShardView;
  readonly segment: SegmentView;
  readonly search: CollectionSearch;
  /** Statistics of the terms that the search ranks by. */
  readonly statistics: LexicalStatistics;
  readonly scope: SearchScope;
}

/**
 * The nearest chunks to the depth of the search, with all that tie with the last one (`breakTies` cuts them). Scores
 * include the priority, unless the mode is `hybrid`, where fusion adds it.
 */
export function rankByVector(
  segment: SegmentView,
  search: Pick<CollectionSearch, 'depth' | 'params' | 'vector' | 'lexical'>,
  scope: SearchScope,
): Scored[] {
  const { vector, depth, params, lexical } = search;
  if (!vector) return [];
  const nearest = (of: SearchScope): Scored[] => nearestByCosine(segment, vector, depth, params, of);
  if (lexical?.mode === 'hybrid' || segment.priorities.count === 0) return nearest(scope);
  return withLifted(segment, vector, depth, nearest, scope);
}

function nearestByCosine(
  segment: SegmentView,
  vector: Float32Array,
  depth: number,
  params: SearchParams,
  scope: SearchScope,
): Scored[] {
  const { ordinals, rowVersions, scores } = segment.index.searchWithTies(vector, depth, params, scope);
  const found: Scored[] = [];
  for (let i = 0; i < ordinals.length; i++) {
    const cosine = scores[i] as number;
    found.push({ ordinal: ordinals[i] as Ordinal, rowVersion: rowVersions[i] as number, cosine, score: cosine });
  }
  return found;
}

/**
 * A priority can lift a chunk from far below the nearest ones. Chunks with a priority are therefore all scored; the
 * others are ranked as usual.
 */
function withLifted(
  segment: SegmentView,
  vector: Float32Array,
  depth: number,
  nearest: (scope: SearchScope) => Scored[],
  { share, allowed = fullBitmap(segment.index.end) }: SearchScope,
): Scored[] {
  const isMany = segment.priorities.count > SCORED_SHARE_MAX * segment.index.liveCount;
  const lifted = isMany ? allowed : intersect(allowed, segment.priorities.bitmap());
  const others = isMany ? [] : nearest({ share, allowed: subtract(allowed, lifted) });
  return [...others, ...bestOf(segment, vector, depth, Uint32Array.from(ordinalsIn(lifted)))].sort(
    (a, b) => b.score - a.score,
  );
}

/** Scores all live rows of `rows` and keeps the k best, with all that tie with the k-th. */
function bestOf({ index, priorities }: SegmentView, vector: Float32Array, k: number, rows: Uint32Array): Scored[] {
  const cosines = index.scoresOf(vector, rows);
  const live = Uint32Array.from(rows.keys()).filter((i) => !Number.isNaN(cosines[i]));
  const scores = Float64Array.from(live, (i) => withPriority(cosines[i] as number, priorities.of(rows[i] as Ordinal)));
  return takeBest(new BestFirst(live, scores), k, () => true).map(({ item, score }) => {
    const ordinal = rows[item] as Ordinal;
    return { ordinal, rowVersion: index.rowVersionOf(ordinal), score, cosine: cosines[item] as number };
  });
}

/** Mode `hybrid`: the best by BM25 of the chunks that have any term of the query. */
function rankByTerms({ segment, search, statistics, scope: { allowed } }: RankedSegment): Scored[] {
  const { lexical, depth } = search;
  const { textIndex, index } = segment;
  if (lexical?.mode !== 'hybrid' || !textIndex) return [];
  const first = textIndex.rankWithTies(lexical.terms, statistics, depth, allowed);
  // The postings of a removed document remain for a while. If a removed row is among the best, the ranking runs again
  // over live rows only, so that it takes no place.
  const { ordinals, scores } = first.ordinals.every((ordinal) => index.isLive(ordinal))
    ? first
    : textIndex.rankWithTies(lexical.terms, statistics, depth, liveIn(segment, allowed));
  return Array.from(
    ordinals,
    (ordinal, i): Scored => ({
      ordinal: ordinal as Ordinal,
      rowVersion: index.rowVersionOf(ordinal),
      score: scores[i] as number,
      cosine: NaN,
    }),
  );
}

/** The live rows of a segment, of those in `allowed`. */
export function liveIn({ index }: Pick<SegmentView, 'index'>, allowed?: Bitmap): Bitmap {
  const live = index.liveRows();
  return allowed ? intersect(live, allowed) : live;
}

const NONE_RANKED = pack([]);

/**
 * Ranks one segment, to the depth of the search. Requires the indexes that the search needs. `all` is the number of
 * live chunks of the collection in all shards; without it, this segment is taken to have them all. `among`: the rows to
 * rank, in place of those that the filter admits.
 */
export function rankSegment(
  view: ShardView,
  search: CollectionSearch,
  statistics: LexicalStatistics,
  all?: number,
  among?: Bitmap,
): ShardHits {
  const { segment, before, removals } = view;
  const { filter, lexical, vector, details } = search;
  const chunks = segment?.index.liveCount ?? 0;
  const hits: ShardHits = { before, removals, chunks, vector: NONE_RANKED, filterMs: 0, vectorMs: 0, lexicalMs: 0 };
  if (!segment || chunks === 0) {
    if (lexical?.mode === 'hybrid') hits.lexical = NONE_RANKED;
    return hits;
  }
  const startedAtMs = performance.now();
  const allowed = among ?? (filter && candidatesOf(view, segment, filter));
  if (filter) hits.filterMs = performance.now() - startedAtMs;
  if (vector && estimatesRelevance(details)) hits.sample = sampleCosines(segment, vector);
  rank({ view, segment, search, statistics, scope: { share: shareOf(chunks, all), allowed } }, hits);
  return hits;
}

const shareOf = (own: number, all = own): number => Math.min(1, own / all);

/**
 * Repeats the vector ranking of a segment as if the segment were alone. The row versions and counters of the first
 * ranking are kept, so that any change since then is noticed.
 */
export function withVectorAnew(
  view: ShardView,
  search: CollectionSearch,
  statistics: LexicalStatistics,
  first: ShardHits,
): ShardHits {
  if (!view.segment) return first;
  const startedAtMs = performance.now();
  const ranked = { view, segment: view.segment, search, statistics, scope: { share: 1 } };
  const nearest = rankByVector(view.segment, search, ranked.scope);
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
 * Fills in `hits`. Ties are resolved after both rankings have run: only then is the snapshot of the store sure to have
 * every chunk that was found.
 */
function rank(ranked: RankedSegment, hits: ShardHits): void {
  const { segment, search, scope } = ranked;
  const { vector, lexical } = search;
  const startedAtMs = performance.now();
  const nearest = rankByVector(segment, search, scope);
  const rankedAtMs = performance.now();
  const worded = rankByTerms(ranked);
  hits.vector = packNearest(ranked, nearest);
  if (lexical?.mode === 'hybrid') {
    hits.lexical = packBest(ranked, worded, true);
    if (wantsBothScores(search) && vector && segment.textIndex)
      hits.lexical.cosines = cosinesOf(segment, vector, hits.lexical.ordinals);
  }
  hits.vectorMs = rankedAtMs - startedAtMs;
  hits.lexicalMs = performance.now() - rankedAtMs;
}

/** Whether the chunks of each ranking also need their scores in the other one. */
const wantsBothScores = ({ vector, fusion }: CollectionSearch): boolean =>
  vector !== undefined && fusion.method === 'score';

/** Packs the vector ranking, with the matched tokens or the BM25 of its chunks if the mode or the fusion needs them. */
function packNearest(ranked: RankedSegment, nearest: Scored[]): RankedList {
  const { segment, search, statistics } = ranked;
  const { lexical } = search;
  const list = packBest(ranked, nearest, lexical !== undefined);
  if (lexical?.mode === 'boost')
    list.matched = segment.textIndex?.matched(list.ordinals, lexical.terms, lexical.alternatives);
  if (lexical?.mode === 'hybrid' && wantsBothScores(search) && segment.textIndex)
    list.bm25 = bm25Scores(segment.textIndex, lexical.terms, statistics, list.ordinals);
  return list;
}

const packBest = ({ view, segment, search }: RankedSegment, scored: Scored[], isPrioritized: boolean): RankedList =>
  pack(breakTies(view, segment, scored, search.depth), isPrioritized ? segment : undefined);

/** Packs a ranking, with the priorities of `segment` if it is given and has any. */
function pack(scored: readonly Scored[], segment?: SegmentView): RankedList {
  const count = scored.length;
  const list: RankedList = {
    ordinals: new Uint32Array(count),
    rowVersions: new Uint32Array(count),
    scores: new Float64Array(count),
    cosines: new Float32Array(count),
  };
  for (let i = 0; i < count; i++) {
    const { ordinal, rowVersion, score, cosine } = scored[i] as Scored;
    list.ordinals[i] = ordinal;
    list.rowVersions[i] = rowVersion;
    list.scores[i] = score;
    list.cosines[i] = cosine;
  }
  const priorities = segment?.priorities;
  if (priorities && priorities.count > 0)
    list.priorities = Float64Array.from(scored, ({ ordinal }) => priorities.of(ordinal));
  return list;
}

/**
 * Ranks the segments of all shards; the result is in the order of `views`. Chunks are spread over shards by chance, so
 * each segment is searched only for its expected share of the best. A segment that holds more of them, for example
 * because all chunks of one document are the best, is searched again as if it were alone.
 */
export function rankSegments(
  views: readonly ShardView[],
  search: CollectionSearch,
  statistics: LexicalStatistics,
  among?: readonly Bitmap[],
): ShardHits[] {
  const chunks = chunksIn(views);
  const lists = views.map((view, i) => rankSegment(view, search, statistics, chunks, among?.[i]));
  if (among || !isShared(views, search)) return lists;
  const found = bestIn(lists, search.depth);
  return lists.map((list, i) =>
    (found[i] as number) > hitsIn(search.depth, list.chunks / chunks)
      ? withVectorAnew(views[i] as ShardView, search, statistics, list)
      : list,
  );
}

const chunksIn = (views: readonly ShardView[]): number =>
  views.reduce((sum, { segment }) => sum + (segment?.index.liveCount ?? 0), 0);

/**
 * Whether the segments were searched for their shares. Explicit search parameters and filtered searches are not
 * divided.
 */
const isShared = ({ length }: readonly ShardView[], { vector, filter, params }: CollectionSearch): boolean =>
  length > 1 && vector !== undefined && filter === undefined && isDefault(params);

/** How many of the k best by vector come from each list. */
function bestIn(lists: readonly ShardHits[], k: number): number[] {
  const counts = lists.map(() => 0);
  for (const { shard } of mergeRanked(
    lists.map(({ vector }) => vector.scores),
    k,
  ))
    counts[shard]!++;
  return counts;
}
