// Use case that measures the recall of a collection: logged or stored queries are searched with the graph and exactly,
// and the hits are compared. Queries run one at a time, with pauses while other searches run, and for a bounded time,
// so that a measurement does not slow searches down. Runs on the main thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../../api/errors.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import {
  RECALLS_MAX,
  RECALL_K_DEFAULT,
  RECALL_LOGGED_MIN,
  RECALL_SAMPLE_DEFAULT,
  RECALL_TIME_MAX_MS,
  VECTOR_SAMPLE_DEFAULT,
} from '../../api/limits.js';
import type { RECALL_ROUTES, RecallAnswer, RecallBody } from '../../api/recall.js';
import type { SearchParams, SearchTiming } from '../../api/search.js';
import type { Collection, SearchEf } from '../../api/collections.js';
import { roundTo } from '../../base/numbers.js';
import type { CollectionSearch } from '../../engine/search/params.js';
import { recalled, type Recalled } from '../../ranking/top-k.js';
import { type UseCases, withErrorCode } from '../use-case.js';
import { countCollection } from '../collections/usage.js';
import {
  type QuestionsContext,
  loggedQuestions,
  loggedSearches,
  sampleVectors,
  storedQuestions,
  type Question,
} from './stored-vectors.js';
import { plainSearch } from '../search/query.js';
import { searchShards, type FoundHit } from '../search/shards.js';
import type { SearchContext } from '../search/search.js';
import type { UnderWay } from './sampler.js';

export interface RecallContext extends QuestionsContext {
  readonly search: SearchContext;
  readonly recallsUnderWay: Pick<UnderWay, 'count' | 'during'>;
  readonly searchesUnderWay: Pick<UnderWay, 'count'>;
}

type Measured = Omit<RecallAnswer, 'tenant' | 'collection'>;

export interface Comparison extends Recalled {
  /** Time of the ranking, in milliseconds. */
  readonly searchMs: number;
  readonly exactMs: number;
}

const RETRY_AFTER_S = 5;

/** The request body with its defaults. */
interface Wish extends Pick<CollectionSearch, 'k' | 'params'> {
  readonly sample: number;
  readonly source: RecallBody['source'];
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

export const recallUseCases = (context: RecallContext): UseCases<typeof RECALL_ROUTES> => ({
  measureRecall: async ({ tenant, name, body }, { signal }) => {
    const measured = await withErrorCode('search_failed', () => measureRecall(context, tenant, name, body, signal));
    return { tenant, collection: name, ...measured };
  },
  sampleVectors: async ({ tenant, name, query: { sample = VECTOR_SAMPLE_DEFAULT, metadata = false } }, { signal }) => {
    const { dim, vectors } = await sampleVectors(context, tenant, name, { sample, metadata }, signal);
    return { tenant, collection: name, dim, vectors, count: vectors.length };
  },
});

/**
 * Throws 404 `collection_not_found`, and `overloaded` while other measurements run. Throws as a search does if a logged
 * text cannot be embedded and stored vectors are excluded by `source`.
 */
async function measureRecall(
  context: RecallContext,
  tenant: Tenant,
  name: CollectionName,
  { sample, k, ef, source }: RecallBody,
  signal: AbortSignal,
): Promise<Measured> {
  const { recallsUnderWay } = context;
  const collection = context.catalog.get(tenant, name);
  if (recallsUnderWay.count >= RECALLS_MAX)
    throw new AppError('overloaded', 'Too many recall measurements are running.', { retryAfterS: RETRY_AFTER_S });
  const wish: Wish = {
    sample: sample ?? RECALL_SAMPLE_DEFAULT,
    k: k ?? RECALL_K_DEFAULT,
    params: ef == null ? {} : { ef },
    source,
    signal,
  };
  return recallsUnderWay.during(() => measure(context, collection, wish));
}

async function measure(context: RecallContext, collection: Collection, wish: Wish): Promise<Measured> {
  const searches = wish.source === 'stored' ? [] : await loggedSearches(context, collection, wish.sample);
  if (wish.source === 'log' || (wish.source == null && searches.length >= Math.min(RECALL_LOGGED_MIN, wish.sample))) {
    try {
      return await compareAll(
        context,
        collection,
        wish,
        'log',
        loggedQuestions(context, collection, searches, wish.signal),
      );
    } catch (error) {
      if (wish.source === 'log' || !(error instanceof AppError && error.code === 'embedder_unavailable')) throw error;
    }
  }
  return compareAll(context, collection, wish, 'stored', storedQuestions(context, collection, wish.sample));
}

async function compareAll(
  context: RecallContext,
  collection: Collection,
  { k, params, sample, signal }: Wish,
  source: 'log' | 'stored',
  questions: AsyncIterable<Question>,
): Promise<Measured> {
  const untilMs = performance.now() + RECALL_TIME_MAX_MS;
  const compared: Comparison[] = [];
  let isCut = false;
  for await (const { vector, own } of questions) {
    isCut = signal.aborted || performance.now() > untilMs;
    if (isCut || compared.length === sample) break;
    const startedAtMs = performance.now();
    compared.push(await compare(context.search, collection, { vector, k, params }, own));
    await giveWay(context, performance.now() - startedAtMs);
  }
  const { ef, isGraphComplete } = await searchEfOf(context, collection, k);
  return {
    ...summed(compared),
    k,
    source,
    ef: params.ef ?? ef,
    graph_complete: isGraphComplete,
    settled: isGraphComplete,
    ...(isCut && { cut: true as const }),
  };
}

/** The largest `ef` of its shards; the graph is complete if it is in all of them. */
async function searchEfOf(context: RecallContext, collection: Collection, k: number): Promise<SearchEf> {
  const { chunks } = await countCollection(context, collection);
  const searchEf = await Promise.all(
    context.shards.requestOf(collection, 'searchEf', { collection: collection.id, k, chunks }),
  );
  return {
    ef: Math.max(...searchEf.map(({ ef }) => ef)),
    isGraphComplete: searchEf.every((one) => one.isGraphComplete),
  };
}

/** Searches with `params` and exactly, and compares the hits. The chunk `own` is left out of both. */
export async function compare(
  context: SearchContext,
  collection: Collection,
  { vector, k, params, filter }: Pick<CollectionSearch, 'vector' | 'k' | 'params' | 'filter'>,
  own?: string,
): Promise<Comparison> {
  const search = async (by: SearchParams): Promise<{ hits: FoundHit[]; ms: number }> => {
    const timing: SearchTiming = { embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 };
    const plain = plainSearch(context, collection, own === undefined ? k : k + 1, by);
    const asked = { ...plain, ...(vector && { vector }), ...(filter && { filter }) };
    const { hits } = await searchShards(context, collection, asked, timing);
    return { hits: hits.filter(({ id }) => id !== own), ms: timing.search_ms };
  };
  const found = await search(params);
  const exact = await search({ exact: true });
  return { ...recalled(found.hits, exact.hits, k), searchMs: found.ms, exactMs: exact.ms };
}

/** While other searches run, pauses as long as the last query took. */
async function giveWay({ searchesUnderWay }: RecallContext, tookMs: number): Promise<void> {
  if (searchesUnderWay.count > 0) await sleep(tookMs);
}

function summed(
  compared: readonly Comparison[],
): Pick<Measured, 'recall' | 'lowest' | 'queries' | 'qps' | 'exact_qps'> {
  const usable = compared.filter(({ wanted }) => wanted > 0);
  if (usable.length === 0) return { recall: null, lowest: null, queries: 0, qps: null, exact_qps: null };
  const sum = (of: (comparison: Comparison) => number): number =>
    usable.reduce((total, comparison) => total + of(comparison), 0);
  const rate = (ms: number): number => Math.round((usable.length / ms) * 1000);
  return {
    recall: roundTo(sum(({ found }) => found) / sum(({ wanted }) => wanted), 4),
    lowest: roundTo(Math.min(...usable.map(({ found, wanted }) => found / wanted)), 4),
    queries: usable.length,
    qps: rate(sum(({ searchMs }) => searchMs)),
    exact_qps: rate(sum(({ exactMs }) => exactMs)),
  };
}
