// One shard's part of a search: what may be ranked at all, which rankings the mode wants, how long each took, and their
// packing for whoever merges them with those of the other shards. Search workers only; called by search.ts.
import type { RankedList, ShardHits, ShardSearch } from '../../src/contract/ranking.js';
import type { PartView } from '../shard/part-view.js';
import { cosinesOf, sampleCosines, wordScores } from './given-chunks.js';
import { rankByVector, rankByWords, type Depth, type Scored } from './rankings.js';
import { select } from './selection.js';
import type { ShardView } from './shard-view.js';
import { breakTies } from './ties.js';

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
