// Use case that searches a collection, optionally together with the common collection, or the common collection alone.
// The text is embedded once, each collection is searched, and the hits are merged. Runs on front threads and on the
// main thread.
import type { SearchMode } from '../../api/choices.js';
import type { Collection } from '../../api/collections.js';
import type { SearchTiming } from '../../api/search.js';
import { AppError, invalidField } from '../../api/errors.js';
import { type CollectionName, type Tenant, parseChunkId } from '../../api/ids.js';
import { compareUtf8 } from '../../base/bytes.js';
import { timed } from '../../base/trace.js';
import { isDefault } from '../../engine/search/params.js';
import type { Catalog } from '../collections/catalog.js';
import { type CommonCollection, commonBeside, findCommonCollection } from '../collections/collections.js';
import type { ShadowCollections } from '../collections/shadow-collections.js';
import type { RecallSampler } from '../recall/sampler.js';
import { cursorAt, placeOfCursor } from './cursor.js';
import type { SearchInput } from './input.js';
import {
  type Caller,
  type PlanContext,
  type Question,
  checkWordMode,
  embedQueries,
  fusionOf,
  planSearch,
  readQuestion,
  searchFilterOf,
  searchMode,
  vectorOf,
} from './query.js';
import { type RerankContext, checkRerank, rerankHits } from './rerank.js';
import { type FoundHit, type FoundHits, type ShardsContext, searchShards } from './shards.js';

export interface SearchContext extends PlanContext, ShardsContext, RerankContext {
  readonly shards: ShardsContext['shards'];
  readonly catalog: Pick<Catalog, 'find'>;
  readonly shadows: Pick<ShadowCollections, 'dualWriteTargets'>;
  readonly recallSampler: Pick<RecallSampler, 'offer'>;
  readonly common: CommonCollection;
  readonly nowMs: () => number;
}

/**
 * Merges the hits of all collections by score, keeping the order within each collection. Equal scores are ordered by
 * document id, then by the order of the collections.
 */
export function mergeHits(found: readonly (readonly FoundHit[])[]): readonly FoundHit[] {
  const [first = [], ...others] = found;
  return others.reduce(mergeTwo, first);
}

function mergeTwo(a: readonly FoundHit[], b: readonly FoundHit[]): FoundHit[] {
  const merged: FoundHit[] = [];
  let next = 0;
  for (const hit of a) {
    for (let other = b[next]; other && isBefore(other, hit); other = b[next]) {
      merged.push(other);
      next++;
    }
    merged.push(hit);
  }
  return [...merged, ...b.slice(next)];
}

const isBefore = (a: FoundHit, b: FoundHit): boolean =>
  a.score > b.score || (a.score === b.score && compareUtf8(docidOf(a), docidOf(b)) < 0);
const docidOf = ({ id }: FoundHit): string => parseChunkId(id)?.docid ?? id;

export interface SearchResult {
  mode: SearchMode;
  /** Set if the embedder did not answer and the terms ranked alone. */
  degraded?: true;
  timing: SearchTiming;
  /** The hits as JSON texts, best first. */
  hits: string[];
  /** The chunk ids of the hits. */
  ids: string[];
  /** The hits with their scores, best first. */
  found: readonly FoundHit[];
  /** The cursor of the next page, if there is one and the search has a cursor. */
  next?: string;
}

/**
 * Throws AppError for a mode, filter, vector or text that the collection cannot be searched with. A missing collection
 * counts as empty.
 */
export async function searchCollection(
  context: SearchContext,
  tenant: Tenant,
  name: CollectionName,
  input: SearchInput,
  caller: Caller = {},
): Promise<SearchResult> {
  const filter = searchFilterOf(context.settings, input, caller);
  checkRerank(context, tenant, input);
  const live = context.catalog.find(tenant, name);
  const collection = input.space === 'staged' ? shadowBeside(context, live) : live;
  const question = { input, caller, filter, mode: searchMode(context.settings, input, collection) };
  if (!collection) return searchAll(context, [], question);
  const common = input.include_common && input.q != null ? commonBeside(context, collection) : undefined;
  return searchAll(context, common ? [collection, common] : [collection], question);
}

/** The vector space that a reindex builds beside the live one, or the one that was live before. Throws a 422. */
function shadowBeside({ shadows, nowMs }: SearchContext, live: Collection | undefined): Collection {
  const targets = live ? shadows.dualWriteTargets(live.id, nowMs()) : [];
  const shadow = targets.find(({ purpose }) => purpose === 'reindex') ?? targets[0];
  if (!shadow) throw withoutShadow();
  return shadow.collection;
}

const withoutShadow = (): AppError =>
  invalidField(
    ['body', 'space'],
    'The collection has no staged space. A reindex builds one, and the space before a switch is kept for a while.',
    'value_error',
    'staged',
  );

/** Searches one vector space, that of a live or of a shadow collection. Throws as `searchCollection` does. */
export async function searchSpace(
  context: SearchContext,
  collection: Collection,
  input: SearchInput,
  caller: Caller,
): Promise<SearchResult> {
  const mode = searchMode(context.settings, input, collection);
  return searchAll(context, [collection], {
    input,
    caller,
    mode,
    filter: searchFilterOf(context.settings, input, caller),
  });
}

/**
 * Searches the common collection; the result is empty if there is none. Throws as `searchCollection` does, and
 * `vector_query_not_allowed`.
 */
export async function searchShared(context: SearchContext, input: SearchInput, caller: Caller): Promise<SearchResult> {
  if (input.space === 'staged') throw withoutShadow();
  const isByVector = input.v || input.like || input.queries?.some(({ v, like }) => v || like);
  if (isByVector) throw new AppError('vector_query_not_allowed');
  const filter = searchFilterOf(context.settings, input, caller);
  checkRerank(context, context.common.tenant, input);
  const common = findCommonCollection(context);
  const question = { input, caller, filter, mode: searchMode(context.settings, input, common) };
  return searchAll(context, common ? [common] : [], question);
}

/** Searches collections that share a vector space. */
async function searchAll(
  context: SearchContext,
  collections: readonly Collection[],
  question: Question,
): Promise<SearchResult> {
  const { input, caller, mode } = question;
  const [first] = collections;
  const embedding = noTime();
  const fusion = fusionOf(context.settings, question, first !== undefined);
  checkWordMode(question, first !== undefined);
  if (input.boost_by) input.nowMs = context.nowMs();
  if (input.cursor != null && first) Object.assign(input, placeOfCursor(first.id, input));
  const read = readQuestion(question);
  if (!first) return { mode, timing: embedding, hits: [], ids: [], found: [] };
  const embedded =
    input.sort || input.like
      ? 'unwanted'
      : await timed(embedding, 'embed_ms', async () =>
          input.queries ? embedQueries(context, first, read, input.queries) : vectorOf(context, first, read, fusion),
        );
  const timings = [embedding];
  const asked = collections.length > 1 ? { ...read, isMerged: true } : read;
  const searches = collections.map((collection) => {
    const search = planSearch(context, collection, asked, fusion, embedded);
    const { vector, filter } = search;
    if (vector && isDefault(search.params)) context.recallSampler.offer(collection, { vector, k: input.k, filter });
    const timing = noTime();
    timings.push(timing);
    return searchShards(context, collection, search, timing, caller.signal);
  });
  const found = await Promise.all(searches);
  const timing = slowest(timings);
  const { hits, hasMore, last } = await pageOf(context, first.tenant, found, read, timing);
  const result: SearchResult = {
    mode,
    timing,
    hits: hits.map(({ json }) => json),
    ids: hits.map(({ id }) => id),
    found: hits,
  };
  const vectors = embedded instanceof Array ? embedded.map(({ vector }) => vector) : [embedded];
  if (vectors.includes('unavailable')) result.degraded = true;
  const next = input.cursor != null && hasMore && cursorAt(first.id, input, last);
  if (next) result.next = next;
  return result;
}

/** Merges what the collections have given, reranks it if requested, and cuts the page. */
async function pageOf(
  context: SearchContext,
  tenant: string,
  found: readonly FoundHits[],
  { input, caller }: Question,
  timing: SearchTiming,
): Promise<FoundHits> {
  const { k, rerank, offset, min_score: minScore } = input;
  if (!rerank && found.length === 1) return found[0] as FoundHits;
  const candidates = mergeHits(found.map(({ hits }) => hits)).slice(0, rerank?.depth);
  const ordered = rerank
    ? await timed(timing, 'rerank_ms', () => rerankHits(context, tenant, candidates, input, caller))
    : candidates;
  const kept = minScore == null ? ordered : ordered.filter(({ score }) => score >= minScore);
  const end = (offset ?? 0) + k;
  const hasMore = kept.length > end || (!rerank && found.some((each) => each.hasMore));
  return { hits: kept.slice(offset ?? 0, end), hasMore };
}

const noTime = (): SearchTiming => ({ embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 });

/** Collections are searched concurrently, so each phase counts with its slowest collection. */
function slowest(timings: readonly SearchTiming[]): SearchTiming {
  const all = noTime();
  for (const timing of timings) {
    for (const name in timing) {
      const phase = name as keyof SearchTiming;
      all[phase] = Math.max(all[phase] ?? 0, timing[phase] ?? 0);
    }
  }
  return all;
}
