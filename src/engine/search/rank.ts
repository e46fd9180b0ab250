// One shard's part of a search: what may be ranked at all, which rankings the mode wants, how long each took, and their
// packing for whoever merges them with those of the other shards. Search workers only; called by search.ts.
import type { Ordinal } from '../../api/ids.js';
import type { CosineSample, HybridQuery, RankedList, ShardHits, ShardSearch } from '../../ranking/hits.js';
import { withPriority } from '../../ranking/scores.js';
import { BestFirst, hitsIn, mergeRanked, takeBest } from '../../ranking/top-k.js';
import { bitmapOf, emptyBitmap, fullBitmap, intersect, ordinalsIn, setBit, subtract } from '../filter/bitmap.js';
import { select } from '../filter/candidates.js';
import type { Bitmap, WordIndex } from '../postings/text-index.js';
import type { PartView } from '../segments/segment.js';
import { breakTies } from './merge.js';
import type { RankedShard } from './params.js';
import type { ShardView } from './snapshot.js';

// What given chunks of a part score by words and by vector, for searches that want both scores of every candidate, and
// for what hits tell of themselves. Search workers only; called by rank-part.ts and hit-details.ts.

/** Rows that tell how near chunks are to a query as a rule. */
const SAMPLE_ROWS = 256;

/** BM25 of each; 0 for a chunk that has none of the terms. */
export function wordScores(
  words: WordIndex,
  { terms, statistics }: Omit<HybridQuery, 'mode'>,
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

// The two rankings of a part: by vector and by words, of the chunks that are allowed, with all that equal the k-th
// (ties.ts cuts them). A priority changes the score of the vector ranking before the k best are chosen. Search workers
// only; called by rank-part.ts.

/** Where more of a part's chunks have a priority, all are scored: then that is less work than a search beside it. */
const SCORED_SHARE_MAX = 0.25;

interface Scored {
  ordinal: Ordinal;
  stamp: number;
  score: number;
  /** NaN in the lexical ranking. */
  cosine: number;
}

interface Depth {
  k: number;
  /** Of all live chunks where it is absent. */
  allowed?: Bitmap | undefined;
  ef?: number | undefined;
  exact?: boolean | undefined;
  /** Of all chunks that are searched, those of the part. */
  share?: number | undefined;
}

/** The k nearest chunks, by cosine or, with `prioritized`, by what their priorities make of it. */
export function rankByVector(part: PartView, vector: Float32Array, depth: Depth, prioritized: boolean): Scored[] {
  return prioritized && part.priorities.count > 0
    ? nearestLifted(part, vector, depth)
    : nearestByCosine(part, vector, depth);
}

/** With all that equal the k-th. */
function nearestByCosine(part: PartView, vector: Float32Array, depth: Depth): Scored[] {
  const { ordinals, stamps, scores } = part.index.searchWithTies(vector, depth.k, depth);
  const found: Scored[] = [];
  for (let i = 0; i < ordinals.length; i++) {
    const cosine = scores[i] as number;
    found.push({ ordinal: ordinals[i] as Ordinal, stamp: stamps[i] as number, cosine, score: cosine });
  }
  return found;
}

/**
 * A chunk that is lifted may come from far below the k nearest: those with a priority are all scored, the others ranked
 * as ever.
 */
function nearestLifted(
  part: PartView,
  vector: Float32Array,
  { k, allowed = fullBitmap(part.index.end), ...breadth }: Depth,
): Scored[] {
  const isMany = part.priorities.count > SCORED_SHARE_MAX * part.index.liveCount;
  const lifted = isMany ? allowed : intersect(allowed, part.priorities.bitmap());
  const others = isMany ? [] : nearestByCosine(part, vector, { k, ...breadth, allowed: subtract(allowed, lifted) });
  return [...others, ...bestOf(part, vector, k, Uint32Array.from(ordinalsIn(lifted)))].sort(
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

/** The k best by BM25 of those that have any term of the query. */
function rankByWords(
  part: PartView,
  words: WordIndex,
  { terms, statistics }: HybridQuery,
  { k, allowed }: Depth,
): Scored[] {
  const first = words.rankWithTies(terms, statistics, k, allowed);
  // Of a document that leaves the words stay for a while: they are no hits, and take the place of none.
  const { ordinals, scores } = first.ordinals.every((ordinal) => part.index.isLive(ordinal))
    ? first
    : words.rankWithTies(terms, statistics, k, liveIn(part, allowed));
  return Array.from(
    ordinals,
    (ordinal, i): Scored => ({
      ordinal: ordinal as Ordinal,
      stamp: part.index.stampOf(ordinal),
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
 * The k best chunks of this shard's part of the collection in each ranking, and no more. Requires that what it needs is
 * indexed. `all`: live chunks of the collection in all shards; where it is left out, this one has them all.
 */
export function rankPart(view: ShardView, search: ShardSearch, all?: number): ShardHits {
  const { part, before, removals } = view;
  const { narrowing, lexical } = search;
  const chunks = part?.index.liveCount ?? 0;
  const hits: ShardHits = { before, removals, chunks, vector: NONE_RANKED, filterMs: 0, vectorMs: 0, lexicalMs: 0 };
  if (!part || chunks === 0) {
    if (lexical?.mode === 'hybrid') hits.lexical = NONE_RANKED;
    return hits;
  }
  const startedAtMs = performance.now();
  const depth = depthOf(search, chunks, all);
  if (narrowing) {
    depth.allowed = select(view, part, narrowing);
    hits.filterMs = performance.now() - startedAtMs;
  }
  if (search.sample && search.vector) hits.sample = sampleCosines(part, search.vector);
  rank(view, part, search, depth, hits);
  return hits;
}

/**
 * The hits of a part with its vectors ranked anew, as if it were alone. The rest is what rows had at first: whatever
 * went since is noticed by it.
 */
export function withVectorAnew(view: ShardView, search: ShardSearch, first: ShardHits): ShardHits {
  if (!view.part) return first;
  const startedAtMs = performance.now();
  const depth = depthOf(search, first.chunks);
  const nearest = nearestIn(view.part, search, depth);
  const rankedAtMs = performance.now();
  const vector = packNearest(view, view.part, search, nearest, depth.k);
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
function rank(view: ShardView, part: PartView, search: ShardSearch, depth: Depth, hits: ShardHits): void {
  const { vector, lexical } = search;
  const startedAtMs = performance.now();
  const nearest = nearestIn(part, search, depth);
  const rankedAtMs = performance.now();
  const worded = lexical?.mode === 'hybrid' && part.words ? rankByWords(part, part.words, lexical, depth) : [];
  hits.vector = packNearest(view, part, search, nearest, depth.k);
  if (lexical?.mode === 'hybrid') hits.lexical = packBest(view, part, worded, depth.k, part);
  if (search.bothScores && hits.lexical && vector && part.words)
    hits.lexical.cosines = cosinesOf(part, vector, hits.lexical.ordinals);
  hits.vectorMs = rankedAtMs - startedAtMs;
  hits.lexicalMs = performance.now() - rankedAtMs;
}

const nearestIn = (part: PartView, { vector, lexical }: ShardSearch, depth: Depth): Scored[] =>
  vector ? rankByVector(part, vector, depth, lexical?.mode !== 'hybrid') : [];

/** With what its chunks have of the words of the query, where the mode or the fusion wants to know. */
function packNearest(
  view: ShardView,
  part: PartView,
  { lexical, bothScores }: ShardSearch,
  nearest: Scored[],
  k: number,
): RankedList {
  const list = packBest(view, part, nearest, k, lexical && part);
  if (lexical?.mode === 'boost') list.matched = part.words?.matched(list.ordinals, lexical.terms);
  if (lexical?.mode === 'hybrid' && bothScores && part.words)
    list.words = wordScores(part.words, lexical, list.ordinals);
  return list;
}

const packBest = (view: ShardView, part: PartView, scored: Scored[], k: number, prioritized?: PartView): RankedList =>
  pack(breakTies(view, part, scored, k), prioritized);

const depthOf = ({ k, ef, exact }: ShardSearch, own: number, all = own): Depth => ({
  k,
  share: Math.min(1, own / all),
  ef,
  exact,
});

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

// The rankings of all parts of a collection, one arena of a shard after the other. Each is searched for its share of
// the best, since chunks are spread over shards by chance; one that has more of them, as when all of a document's
// chunks are the best, is searched again as if it were alone. Search workers only; called by search.ts.

/**
 * Those of `views`, of all shards and in the same places. What is in `ranked` is not ranked again, unless its memory
 * has been made anew.
 */
export function rankParts(
  views: readonly ShardView[],
  search: ShardSearch,
  ranked: readonly RankedShard[] = [],
): ShardHits[] {
  const chunks = chunksIn(views);
  const lists = views.map((view) => rankedBefore(views, view, ranked) ?? rankPart(view, search, chunks));
  if (!isShared(views, search)) return lists;
  const found = bestIn(lists, search.k);
  return lists.map((list, i) =>
    (found[i] as number) > hitsIn(search.k, list.chunks / chunks)
      ? withVectorAnew(views[i] as ShardView, search, list)
      : list,
  );
}

/** Those of some shards; `views` are of all. */
export function rankShards(views: readonly ShardView[], search: ShardSearch, shards: readonly number[]): RankedShard[] {
  const chunks = chunksIn(views);
  return views
    .filter(({ shard }) => shards.includes(shard))
    .map((view) => ({
      shard: view.shard,
      arena: view.arena,
      incarnation: view.incarnation,
      hits: rankPart(view, search, chunks),
    }));
}

const chunksIn = (views: readonly ShardView[]): number =>
  views.reduce((sum, { part }) => sum + (part?.index.liveCount ?? 0), 0);

/** A shard is ranked again as a whole: documents move between its arenas. */
function rankedBefore(
  views: readonly ShardView[],
  view: ShardView,
  ranked: readonly RankedShard[],
): ShardHits | undefined {
  const find = (one: ShardView): ShardHits | undefined =>
    ranked.find(
      ({ shard, arena, incarnation }) => shard === one.shard && arena === one.arena && incarnation === one.incarnation,
    )?.hits;
  return views.every((one) => one.shard !== view.shard || find(one)) ? find(view) : undefined;
}

/**
 * Whether the parts have been searched for shares: breadths that are asked for, and those of filters, are not divided.
 */
const isShared = ({ length }: readonly ShardView[], { vector, narrowing, ef, exact }: ShardSearch): boolean =>
  length > 1 && vector !== undefined && narrowing === undefined && ef === undefined && !exact;

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
