// Runs one search of one collection on a search worker (workers/search). If segments are not loaded or indexes are
// missing, the owners of the shards are asked to prepare them and the search is retried. Runs on front threads and on
// the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection, CollectionRef } from '../../api/collections.js';
import type { Tenant } from '../../api/ids.js';
import type { SearchTiming } from '../../api/search.js';
import { AppError } from '../../api/errors.js';
import type { CancelSignal } from '../../base/signals.js';
import type { HitPieces } from '../../engine/search/hit-json.js';
import type { CollectionCount } from '../../engine/search/count.js';
import type { Counted } from '../../engine/search/facets.js';
import type { CollectionSearch, Found, MissingIndexes, SortPosition } from '../../engine/search/params.js';
import type { SearchStep, StepAnswer } from '../../engine/search/step-messages.js';
import type { SearchPool } from '../../pool/search-pool.js';
import type { ShardPool } from '../../pool/shard-pool.js';

/** The first search that needs an index of a large collection waits for it, up to this long. */
const WAIT_MAX_MS = 20_000;
const RECHECK_MS = 10;

/**
 * Repeats `ask` until it returns an answer; it returns null while an index is being built. Throws 503
 * `shard_unavailable` if the index is not complete in time; building it continues.
 */
async function untilIndexed<T>(ask: () => Promise<T | null>): Promise<T> {
  const untilMs = performance.now() + WAIT_MAX_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (performance.now() > untilMs)
      throw new AppError('shard_unavailable', 'The collection is still being indexed.', { retryAfterS: 5 });
    await sleep(RECHECK_MS);
  }
}

/** The pools that run a search. */
export interface ShardsContext {
  readonly searches: Pick<SearchPool, 'request'>;
  readonly shards: Pick<ShardPool, 'request' | 'size'>;
}

export interface FoundHit {
  /** The chunk id. */
  id: string;
  score: number;
  /** The whole hit as JSON text. */
  json: string;
  /** Present if requested. */
  pieces?: HitPieces;
}

/** Hits, best first, and whether more follow if the search has result settings. */
export interface FoundHits {
  readonly hits: FoundHit[];
  readonly hasMore: boolean;
  /** The place of the last hit of a sorted search. */
  readonly last?: SortPosition;
}

/** Returns the hits of a search. Writes the time of each phase to `timing`; waiting counts as search time. */
export async function searchShards(
  context: ShardsContext,
  collection: Collection,
  search: CollectionSearch,
  timing: SearchTiming,
  signal?: CancelSignal,
): Promise<FoundHits> {
  const startedAtMs = performance.now();
  const {
    ids,
    scores,
    json,
    pieces,
    hasMore = false,
    last,
    timing: spent,
  } = await findInShards(context, search, collection.tenant, signal);
  Object.assign(timing, spent);
  timing.search_ms = Math.max(0, performance.now() - startedAtMs - spent.filter_ms - spent.hydrate_ms);
  const hits = ids.map((id, i): FoundHit => {
    const hit: FoundHit = { id, score: scores[i] as number, json: json[i] as string };
    if (pieces) hit.pieces = pieces[i] as HitPieces;
    return hit;
  });
  return { hits, hasMore, ...(last && { last }) };
}

/** Runs a search on the shards of this server. */
export const findInShards = (
  context: ShardsContext,
  search: CollectionSearch,
  tenant: Tenant,
  signal?: CancelSignal,
): Promise<Found> => onIndexes(context, search.collection, () => context.searches.request(search, tenant, signal));

export interface CountContext {
  readonly searches: Pick<SearchPool, 'count'>;
  readonly shards: ShardsContext['shards'];
}

/** Counts the chunks of a collection that match, and the values of their metadata. */
export const countShards = (
  context: CountContext,
  count: CollectionCount,
  tenant: Tenant,
  signal?: CancelSignal,
): Promise<Counted> => onIndexes(context, count.collection, () => context.searches.count(count, tenant, signal));

/** Takes a step of a search whose shards several nodes hold. */
export const stepInShards = (
  context: { readonly searches: Pick<SearchPool, 'step'>; readonly shards: ShardsContext['shards'] },
  step: SearchStep,
  tenant: Tenant,
  signal?: CancelSignal,
): Promise<StepAnswer> => onIndexes(context, step.collection, () => context.searches.step(step, tenant, signal));

/** Asks, and if indexes are missing, has them prepared and asks again. */
function onIndexes<T>(
  context: Pick<ShardsContext, 'shards'>,
  collection: CollectionRef,
  ask: () => Promise<T | MissingIndexes[]>,
): Promise<T> {
  return untilIndexed(async () => {
    const first = await ask();
    if (!Array.isArray(first)) return first;
    const second = (await prepare(context, collection, first)) ? await ask() : first;
    return Array.isArray(second) ? null : second;
  });
}

/** Asks the owners of the shards to load segments and build missing indexes; returns false while any is unfinished. */
async function prepare(
  { shards }: Pick<ShardsContext, 'shards'>,
  collection: CollectionRef,
  missing: readonly MissingIndexes[],
): Promise<boolean> {
  const ready = await Promise.all(
    missing.map(({ shard, textIndex, fields }) => shards.request(shard, 'prepare', { collection, textIndex, fields })),
  );
  return ready.every(Boolean);
}
