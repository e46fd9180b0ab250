// A search of one collection, as a whole or in parts: statistics of its words, the ranking of every shard, one answer.
// A hit that has changed meanwhile makes it run again: an answer shows a document whole, old or new. Search workers
// only; called by worker.ts.
import { AppError } from '../../src/contract/errors.js';
import { CANDIDATES_MIN, CANDIDATES_PER_K } from '../../src/contract/limits.js';
import type { ShardHits, ShardSearch } from '../../src/contract/ranking.js';
import type { SearchTiming } from '../../src/contract/resources.js';
import type {
  CollectionSearch,
  Found,
  RankedShard,
  SearchAnswer,
  SearchTask,
  Wanting,
} from '../../src/contract/search-messages.js';
import { finish, type Finished } from './finish.js';
import { knownOf, type Known } from './known.js';
import { rankParts, rankShards } from './rank-parts.js';
import type { ShardSet } from './shard-set.js';
import type { ShardView } from './shard-view.js';
import { wantingOf } from './wanting.js';

/**
 * Documents that are replaced without a pause make attempts fail one after the other; then what has changed is left
 * out.
 */
const ATTEMPTS_MAX = 100;
const PAUSE_MS = 1;

/** Throws AppError `shard_unavailable`. */
export function search(shards: ShardSet, task: SearchTask): SearchAnswer {
  if (task.part === 'rank') return rankSome(shards, task.search, task.shards);
  const timing: SearchTiming = { embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 };
  const first = shards.view(shards.all, task.search.collection, (views) =>
    attempt(views, task.search, timing, task.part === 'finish' ? task.ranked : undefined),
  );
  return first instanceof Array
    ? { wanting: first }
    : { found: first.hasChanged ? again(shards, task.search, timing) : first.found };
}

/** What is missing is not told any more: indexes do not go while a search is at work, unless memory runs out. */
function again(shards: ShardSet, search: CollectionSearch, timing: SearchTiming): Found {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let attempts = 2; ; attempts++) {
    const answer = shards.view(shards.all, search.collection, (views) => attempt(views, search, timing));
    if (answer instanceof Array) throw new AppError('shard_unavailable', undefined, { retryAfterS: 1 });
    if (!answer.hasChanged || attempts === ATTEMPTS_MAX) return answer.found;
    Atomics.wait(pause, 0, 0, PAUSE_MS);
  }
}

/**
 * `views`: of all shards and their arenas. Those that are ranked already are not ranked again, unless their memory has
 * been made anew.
 */
function attempt(
  views: readonly ShardView[],
  search: CollectionSearch,
  timing: SearchTiming,
  ranked: readonly RankedShard[] = [],
): Finished | Wanting[] {
  const wanting = wantingOf(views, search);
  if (wanting.length > 0) return wanting;
  const startedAtMs = performance.now();
  const known = knownOf(views, search);
  const depth = depthOf(search);
  const lists = rankParts(views, shardSearch(search, depth, known), ranked);
  addTimes(timing, lists, ranked.length > 0, performance.now() - startedAtMs, search);
  return finish(views, lists, search, depth, known.details, timing);
}

/** Statistics are those of the whole collection: a view of every shard, though only some are ranked. */
function rankSome(shards: ShardSet, search: CollectionSearch, wanted: readonly number[]): SearchAnswer {
  return shards.view(shards.all, search.collection, (views) => {
    const wanting = wantingOf(views, search);
    if (wanting.length > 0) return { wanting };
    return { ranked: rankShards(views, shardSearch(search, depthOf(search), knownOf(views, search)), wanted) };
  });
}

const depthOf = ({ k, lexical }: CollectionSearch): number =>
  lexical ? Math.max(CANDIDATES_MIN, CANDIDATES_PER_K * k) : k;

function shardSearch(
  { vector, narrowing, lexical, fusion, details, ef, exact }: CollectionSearch,
  k: number,
  { statistics }: Known,
): ShardSearch {
  const wanted: ShardSearch = { k };
  if (vector) wanted.vector = vector;
  if (narrowing) wanted.narrowing = narrowing;
  if (lexical)
    wanted.lexical =
      lexical.mode === 'boost'
        ? { mode: lexical.mode, terms: lexical.terms }
        : { mode: lexical.mode, terms: lexical.terms, statistics };
  if (ef !== undefined) wanted.ef = ef;
  if (exact) wanted.exact = exact;
  if (vector && lexical?.mode === 'hybrid' && fusion.method === 'score') wanted.bothScores = true;
  if (vector && details?.relevance) wanted.sample = true;
  return wanted;
}

/** Shards that were ranked elsewhere were ranked side by side: a phase took as long as the slowest of them. */
function addTimes(
  timing: SearchTiming,
  lists: readonly ShardHits[],
  sideBySide: boolean,
  elapsedMs: number,
  { lexical }: CollectionSearch,
): void {
  const total = (of: (hits: ShardHits) => number): number =>
    sideBySide ? Math.max(...lists.map(of)) : lists.reduce((sum, hits) => sum + of(hits), 0);
  const filterMs = total((hits) => hits.filterMs);
  timing.filter_ms += filterMs;
  timing.search_ms += sideBySide ? total((hits) => hits.vectorMs + hits.lexicalMs) : Math.max(0, elapsedMs - filterMs);
  if (lexical?.mode !== 'hybrid') return;
  timing.vector_search_ms = (timing.vector_search_ms ?? 0) + total((hits) => hits.vectorMs);
  timing.lexical_search_ms = (timing.lexical_search_ms ?? 0) + total((hits) => hits.lexicalMs);
}
