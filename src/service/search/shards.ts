// One search of one collection: sent to a search worker, which does the whole of it (workers/search). What a shard has not loaded or indexed yet its owner is asked for first, again and again until it is. Front
// thread.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Collection } from '../../api/collections.js';
import type { SearchTiming } from '../../api/search.js';
import { refOf } from '../../storage/catalog-commands.js';
import { AppError } from '../../api/errors.js';
import type { Leaving } from '../../base/signals.js';
import type { HitParts } from '../../engine/search/hit-json.js';
import type { CollectionSearch, Found, Wanting } from '../../engine/search/params.js';
import type { SearchPool } from '../../pool/search-pool.js';
import type { ShardPool } from '../../pool/shard-pool.js';

/** The first such search of a large collection waits for its index, up to this long. */
const WAIT_MAX_MS = 20_000;
const RECHECK_MS = 10;

/**
 * Asks what can be told only once the words or the metadata of a collection are indexed. `ask` answers null while the
 * index is being built. Throws 503 `shard_unavailable` when it is not complete in time; it goes on being built.
 */
export async function askIndexed<T>(ask: () => Promise<T | null>): Promise<T> {
  const untilMs = performance.now() + WAIT_MAX_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (performance.now() > untilMs)
      throw new AppError('shard_unavailable', 'The collection is still being indexed.', { retryAfterS: 5 });
    await sleep(RECHECK_MS);
  }
}

/** What carries a search out. */
export interface ShardsContext {
  readonly searches: Pick<SearchPool, 'ask'>;
  readonly shards: Pick<ShardPool, 'ask' | 'size'>;
}

export interface FoundHit {
  /** Chunk id. */
  id: string;
  score: number;
  /** The whole hit, as JSON text. */
  json: string;
  /** Where they were asked for. */
  parts?: HitParts;
}

/** The k best hits, best first; `timing` gets the time of each phase, and the search that of waiting too. */
export async function searchShards(
  context: ShardsContext,
  collection: Collection,
  search: CollectionSearch,
  timing: SearchTiming,
  signal?: Leaving,
): Promise<FoundHit[]> {
  const startedAtMs = performance.now();
  const { ids, scores, json, parts, timing: spent } = await find(context, collection, search, signal);
  Object.assign(timing, spent);
  timing.search_ms = Math.max(0, performance.now() - startedAtMs - spent.filter_ms - spent.hydrate_ms);
  return ids.map((id, i): FoundHit => {
    const hit: FoundHit = { id, score: scores[i] as number, json: json[i] as string };
    if (parts) hit.parts = parts[i] as HitParts;
    return hit;
  });
}

function find(
  context: ShardsContext,
  collection: Collection,
  search: CollectionSearch,
  signal: Leaving | undefined,
): Promise<Found> {
  const ask = (): Promise<Found | Wanting[]> => context.searches.ask(search, collection.tenant, signal);
  return askIndexed(async () => {
    const first = await ask();
    if (!Array.isArray(first)) return first;
    const second = (await prepare(context, collection, first)) ? await ask() : first;
    return Array.isArray(second) ? null : second;
  });
}

/** Asks the owners for what is wanting; false while any of it is being made. */
async function prepare(
  { shards }: ShardsContext,
  collection: Collection,
  wanting: readonly Wanting[],
): Promise<boolean> {
  const ready = await Promise.all(
    wanting.map(({ shard, words, fields }) =>
      shards.ask(shard, 'prepare', { collection: refOf(collection), words, fields }),
    ),
  );
  return ready.every(Boolean);
}
