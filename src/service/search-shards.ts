// One search of one collection: sent to a search worker, which does the whole of it (workers/search), or a long one to several. What a
// shard has not loaded or indexed yet its owner is asked for first. Called by the search use case; front thread.
import { assert } from '../base/assert.js';
import type { HitParts } from '../contract/hits.js';
import type { FusionSettings, Narrowed, Narrowing } from '../contract/ranking.js';
import type { Collection, SearchTiming } from '../contract/resources.js';
import type { CollectionSearch, DetailsAsked, Found, RankedShard, SearchAnswer, SearchTask, Wanting } from '../contract/search-messages.js';
import { askIndexed } from './ask-indexed.js';
import { refOf } from './catalog.js';
import type { Context } from './context.js';
import type { Rankings } from './search-rankings.js';

export interface ShardQuery extends Rankings {
  k: number;
  narrowing?: Narrowing;
  narrowed: Narrowed;
  /** Of mode hybrid. */
  fusion: FusionSettings;
  ef?: number;
  exact?: true;
  /** The hits come with their parts, to be scored again. */
  withParts?: boolean;
  details?: DetailsAsked;
  signal?: AbortSignal;
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
export async function searchShards(context: Context, collection: Collection, query: ShardQuery, timing: SearchTiming): Promise<FoundHit[]> {
  const startedAtMs = performance.now();
  const { timing: spent, ...found } = await find(context, collection, query);
  Object.assign(timing, spent, { search_ms: Math.max(0, performance.now() - startedAtMs - spent.filter_ms - spent.hydrate_ms) });
  return found.ids.map((id, i) => ({ id, score: found.scores[i] as number, json: found.json[i] as string, ...(found.parts && { parts: found.parts[i] as HitParts }) }));
}

async function find(context: Context, collection: Collection, { signal, ...query }: ShardQuery): Promise<Found> {
  const { tenant, name, priority_key: priorityKey } = collection;
  const head = `{"tenant":${JSON.stringify(tenant)},"collection":${JSON.stringify(name)},`;
  const search: CollectionSearch = { collection: refOf(collection), head, priorityKey, boostWeight: context.search.boostWeight, ...query };
  const ask = (): Promise<Found | Wanting[]> => askOnce(context, search, tenant, signal);
  return askIndexed(async () => {
    const first = await ask();
    if (!Array.isArray(first)) return first;
    const second = (await prepare(context, collection, first)) ? await ask() : first;
    return Array.isArray(second) ? null : second;
  });
}

/** By one worker, or by as many as rank its shards and one that makes the answer. */
async function askOnce({ searches, fanOut, shards }: Context, search: CollectionSearch, tenant: string, signal: AbortSignal | undefined): Promise<Found | Wanting[]> {
  const ask = (task: SearchTask): Promise<SearchAnswer> => searches.ask(task, tenant, signal);
  const split = fanOut.split(search, shards.size, searches.idle);
  const ranked = split && (await Promise.all(split.map((some) => ask({ part: 'rank', search, shards: some }))));
  const wanting = ranked?.find((answer) => 'wanting' in answer);
  const answer = wanting ?? (await ask(ranked ? { part: 'finish', search, ranked: ranked.flatMap(rankedIn) } : { part: 'whole', search }));
  assert(!('ranked' in answer), 'a search is answered whole');
  if ('wanting' in answer) return answer.wanting;
  fanOut.learn(search.collection.id, answer.found.chunks);
  return answer.found;
}

const rankedIn = (answer: SearchAnswer): RankedShard[] => ('ranked' in answer ? answer.ranked : []);

/** Asks the owners for what is wanting; false while any of it is being made. */
async function prepare({ shards }: Context, collection: Collection, wanting: readonly Wanting[]): Promise<boolean> {
  const ready = await Promise.all(wanting.map(({ shard, words, fields }) => shards.ask(shard, 'prepare', { collection: refOf(collection), words, fields })));
  return ready.every(Boolean);
}
