// Use case: search a collection, with the common one beside it where that is asked for, or the common one alone.
// Decides the mode and the filters, embeds the text once, searches each collection, and merges. Called by the search
// endpoints and by the replay of logged queries; front thread.
import type { Collection, SearchTiming } from '../../api/collections.js';
import type { SearchMode } from '../../api/choices.js';
import { AppError, invalidField } from '../../api/errors.js';
import { type CollectionName, type Tenant, parseChunkId } from '../../api/ids.js';
import type { ContentFilter, Fusion, FusionSettings, RerankSettings, Telling } from '../../api/search.js';
import { fusionSettings } from '../../ranking/scores.js';
import { timed } from '../../base/trace.js';
import type { CollectionSearch } from '../../engine/search/params.js';
import { compareDocIds } from '../../ranking/top-k.js';
import { commonBeside, findCommonCollection } from '../collections/collections.js';
import type { Context } from '../context.js';
import {
  type EmbeddedQuery,
  type NarrowedSearch,
  type Sought,
  detailsOf,
  narrowingOf,
  rankingsOf,
  searchMode,
  vectorOf,
} from './query.js';
import { checkRerank, rerankHits } from './rerank.js';
import { type FoundHit, searchOf, searchShards } from './shards.js';

// One list out of the hits of a collection and of the common one beside it. Pure.
// Called by the search use case, on the front thread.

/**
 * Best first over all collections, each in its own order; equal scores by document id, those of earlier collections
 * first.
 */
function mergeHits(found: readonly FoundHit[][]): FoundHit[] {
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
  a.score > b.score || (a.score === b.score && compareDocIds(docidOf(a), docidOf(b)) < 0);
const docidOf = ({ id }: FoundHit): string => parseChunkId(id)?.docid ?? id;

export interface SearchInput extends Sought {
  k: number;
  mode?: string;
  filters?: Readonly<Record<string, unknown>>;
  contentFilter?: ContentFilter;
  includeCommon?: boolean;
  /** Wants `q`; the depth is at least k. */
  rerank?: RerankSettings;
  /** Of mode hybrid. */
  fusion?: Fusion;
  /** Breadth of the walk; the index chooses where neither it nor `exact` is given. */
  ef?: number;
  exact?: true;
  telling?: Telling;
  /** Of the caller's key: ANDed to everything. */
  embeddedFilters?: Readonly<Record<string, unknown>>;
}

export interface SearchResult {
  mode: SearchMode;
  /** The embedder did not answer: the words ranked alone. */
  degraded?: true;
  timing: SearchTiming;
  /** The hits, best first, each as JSON text. */
  hits: string[];
  /** Chunk ids of the hits. */
  ids: string[];
}

/**
 * Throws AppError for a mode, a filter, a vector or a text that the collection cannot be searched with. A missing
 * collection is empty.
 */
export async function searchCollection(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  input: SearchInput,
): Promise<SearchResult> {
  const narrowed = narrowingOf(context.search, input);
  checkRerank(context, tenant, input);
  const collection = context.catalog.find(tenant, name);
  const mode = searchMode(input.mode, input.v !== undefined, collection, context.search.modes);
  if (!collection) return searchAll(context, [], mode, input, narrowed);
  const common = input.includeCommon && input.q !== undefined ? commonBeside(context, collection) : undefined;
  return searchAll(context, common ? [collection, common] : [collection], mode, input, narrowed);
}

/** Searches one space, whether it has the name of the collection or is staged beside it. Throws as above. */
export function searchSpace(context: Context, collection: Collection, input: SearchInput): Promise<SearchResult> {
  const mode = searchMode(input.mode, input.v !== undefined, collection, context.search.modes);
  return searchAll(context, [collection], mode, input, narrowingOf(context.search, input));
}

/** Searches the common collection; empty where there is none. Throws as above, and `vector_query_not_allowed`. */
export async function searchShared(context: Context, input: SearchInput): Promise<SearchResult> {
  if (input.v) throw new AppError('vector_query_not_allowed');
  const narrowed = narrowingOf(context.search, input);
  checkRerank(context, context.common.tenant, input);
  const common = findCommonCollection(context);
  const mode = searchMode(input.mode, false, common, context.search.modes);
  return searchAll(context, common ? [common] : [], mode, input, narrowed);
}

/** Searches collections of one embedding space. */
async function searchAll(
  context: Context,
  collections: readonly Collection[],
  mode: SearchMode,
  input: SearchInput,
  narrowed: NarrowedSearch,
): Promise<SearchResult> {
  const [first] = collections;
  const embedding = noTime();
  const fusion = fusionOf(context, mode, input, first !== undefined);
  if (!first) return { mode, timing: embedding, hits: [], ids: [] };
  const embedded = await timed(embedding, 'embed_ms', () => vectorOf(context, first, mode, fusion, input));
  const timings = [embedding];
  const searches = collections.map((collection) => {
    const search = questionOf(context, collection, mode, input, narrowed, fusion, embedded);
    const { vector, narrowing, ef, exact } = search;
    if (vector && ef === undefined && !exact)
      context.recallSampler.offer(collection, { vector, k: input.k, narrowing });
    const timing = noTime();
    timings.push(timing);
    return searchShards(context, collection, search, timing, input.signal);
  });
  const candidates = mergeHits(await Promise.all(searches)).slice(0, depthOf(input));
  const timing = slowest(timings);
  const found = input.rerank
    ? await timed(timing, 'rerank_ms', () => rerankHits(context, first.tenant, candidates, input))
    : candidates;
  const result: SearchResult = { mode, timing, hits: found.map(({ json }) => json), ids: found.map(({ id }) => id) };
  if (embedded === 'unavailable') result.degraded = true;
  return result;
}

const depthOf = ({ rerank, k }: SearchInput): number => rerank?.depth ?? k;

/** Field by field: a literal that spreads what is there takes many times as long. */
function questionOf(
  context: Context,
  collection: Collection,
  mode: SearchMode,
  input: SearchInput,
  { narrowing, narrowed }: NarrowedSearch,
  fusion: FusionSettings,
  embedded: EmbeddedQuery,
): CollectionSearch {
  const { ef, exact, rerank, telling, q } = input;
  const search = searchOf(context, collection, depthOf(input));
  const rankings = rankingsOf(collection, mode, fusion, input, embedded);
  search.fusion = fusion;
  search.narrowed = narrowed;
  if (rankings.vector) search.vector = rankings.vector;
  if (rankings.lexical) search.lexical = rankings.lexical;
  if (narrowing) search.narrowing = narrowing;
  if (ef !== undefined) search.ef = ef;
  if (exact) search.exact = exact;
  if (rerank) search.withParts = true;
  const details = telling && detailsOf(collection, telling, q, rankings);
  if (details) search.details = details;
  return search;
}

/**
 * Throws a 422 for a fusion that is asked of another mode, unless nothing is known of the mode: a missing collection
 * may have any.
 */
function fusionOf(
  { search }: Context,
  mode: SearchMode,
  { fusion, mode: asked }: SearchInput,
  exists: boolean,
): FusionSettings {
  if (!fusion) return search.fusion;
  if (mode !== 'hybrid' && (exists || asked !== undefined))
    throw invalidField(
      ['body', 'fusion'],
      `fusion is of mode hybrid, and this search is of mode ${mode}`,
      'fusion_mode',
    );
  return fusionSettings(fusion, search.fusion);
}

const noTime = (): SearchTiming => ({ embed_ms: 0, filter_ms: 0, hydrate_ms: 0, search_ms: 0 });

/** Collections are searched side by side: a phase took as long as the slowest. */
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
