// One search of one collection over all its shards: every shard ranks its part, the rankings are merged and scored, and the
// owners of the k best turn them into JSON. A hit that is replaced between the two steps makes the search run again: an answer
// shows a document whole, old or new. Front thread.
import type { DetailsWanted, HydratedHit } from '../contract/hits.js';
import { CANDIDATES_MIN, CANDIDATES_PER_K } from '../contract/limits.js';
import type { FusionSettings, LexicalQuery, Narrowed, Narrowing, RankedHit, ShardHits, ShardSearch } from '../contract/ranking.js';
import type { Collection, SearchTiming } from '../contract/resources.js';
import { askIndexed } from './ask-indexed.js';
import { refOf } from './catalog.js';
import type { Context } from './context.js';
import { measured } from './hit-details.js';
import { mergeShards } from './merge-shards.js';
import { perShard } from './per-shard.js';
import { asVectorHits, rankBoosted, rankFused, type ScoredHit } from './score-candidates.js';
import type { Rankings } from './search-rankings.js';

export interface ShardQuery extends Rankings {
  k: number;
  narrowing?: Narrowing;
  narrowed: Narrowed;
  /** Of mode hybrid. */
  fusion: FusionSettings;
  /** The hits come with their parts, to be scored again. */
  withParts?: boolean;
  details?: DetailsWanted;
}

export interface FoundHit extends HydratedHit {
  score: number;
}

/** Documents that are replaced without a pause make attempts fail one after the other; then what has changed is left out. */
const ATTEMPTS_MAX = 16;

/** The k best hits, best first; `timing` gets the time of each phase. */
export async function searchShards(context: Context, collection: Collection, query: ShardQuery, timing: SearchTiming): Promise<FoundHit[]> {
  for (let attempt = 1; ; attempt++) {
    const { hits, details } = await rank(context, collection, query, timing);
    const scored = hits.slice(0, query.k);
    const startedAtMs = performance.now();
    const hydrated = await hydrate(context, collection, { ...query, ...(details && { details }) }, scored);
    timing.hydrate_ms += performance.now() - startedAtMs;
    const found = hydrated.flatMap((hit, i) => (hit ? [{ ...hit, score: (scored[i] as ScoredHit).score }] : []));
    if (found.length === hydrated.length || attempt === ATTEMPTS_MAX) return found;
  }
}

/** At least the k best, best first, and what they shall tell. */
async function rank(context: Context, collection: Collection, query: ShardQuery, timing: SearchTiming): Promise<{ hits: ScoredHit[]; details: DetailsWanted | undefined }> {
  const startedAtMs = performance.now();
  const { lexical } = query;
  const k = lexical ? Math.max(CANDIDATES_MIN, CANDIDATES_PER_K * query.k) : query.k;
  const request = { collection: refOf(collection), ...shardSearch(query, k) };
  const lists = await Promise.all(Array.from({ length: context.shards.size }, (_, shard) => askIndexed(() => context.shards.ask(shard, 'search', request))));
  const hits = await score(context, collection, lists, k, query);
  addTimes(timing, lists, performance.now() - startedAtMs, lexical);
  return { hits, details: query.details && measured(query.details, lists, query.vector) };
}

function shardSearch({ vector, narrowing, lexical, fusion, details }: ShardQuery, k: number): ShardSearch {
  const bothScores = fusion.method === 'score' && vector !== undefined && lexical?.mode === 'hybrid';
  const sample = vector !== undefined && details?.relevance !== undefined;
  return { k, ...(vector && { vector }), ...(narrowing && { narrowing }), ...(lexical && { lexical }), ...(bothScores && { bothScores }), ...(sample && { sample }) };
}

async function score(context: Context, collection: Collection, lists: readonly ShardHits[], k: number, { lexical, fusion }: ShardQuery): Promise<ScoredHit[]> {
  const byVector = await mergeShards(context.shards, collection, lists.map(({ vector }) => vector), k);
  if (!lexical) return asVectorHits(byVector);
  if (lexical.mode === 'boost') return rankBoosted(context, collection, byVector, lexical.terms.length);
  const byWords = await mergeShards(context.shards, collection, lists.flatMap((list) => list.lexical ?? []), k);
  return rankFused(context, collection, fusion, byVector, byWords);
}

/** The shards work side by side: a phase took as long as the slowest of them. */
function addTimes(timing: SearchTiming, lists: readonly ShardHits[], elapsedMs: number, lexical?: LexicalQuery): void {
  const slowest = (of: (hits: ShardHits) => number): number => Math.max(...lists.map(of));
  const filterMs = slowest((hits) => hits.filterMs);
  timing.filter_ms += filterMs;
  timing.search_ms += Math.max(0, elapsedMs - filterMs);
  if (lexical?.mode !== 'hybrid') return;
  timing.vector_search_ms = (timing.vector_search_ms ?? 0) + slowest((hits) => hits.vectorMs);
  timing.lexical_search_ms = (timing.lexical_search_ms ?? 0) + slowest((hits) => hits.lexicalMs);
}

async function hydrate({ shards }: Context, collection: Collection, { narrowed, withParts = false, details }: ShardQuery, hits: readonly ScoredHit[]): Promise<(HydratedHit | null)[]> {
  const { id, tenant, name, priority_key: priorityKey } = collection;
  const head = `{"tenant":${JSON.stringify(tenant)},"collection":${JSON.stringify(name)},`;
  const placed = hits.map(({ candidate: { shard, ordinal, stamp }, score, basis }) => ({ shard, hit: { ordinal, stamp, score, basis } satisfies RankedHit }));
  return perShard(placed, (shard, ofShard) => shards.ask(shard, 'hydrate', { collection: id, head, priorityKey, narrowed, hits: ofShard.map(({ hit }) => hit), withParts, ...(details && { details }) }));
}
