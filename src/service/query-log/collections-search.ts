// Use case that searches several collections of a tenant and merges the hits. Each collection is searched, logged and
// counted as by a search of its own, so its query log and its replays do not know of the others. Runs on front threads
// and on the main thread.
import type { Collection } from '../../api/collections.js';
import { AppError, invalidField } from '../../api/errors.js';
import type { CollectionName, Tenant } from '../../api/ids.js';
import type { CollectionSearched, MergeMethod } from '../../api/search.js';
import type { SearchInput } from '../search/input.js';
import { searchMode } from '../search/query.js';
import { mergeHits } from '../search/search.js';
import type { FoundHit } from '../search/shards.js';
import { type Actor, seesCollection } from '../tenants/actor.js';
import { type LoggedResult, type LoggedSearchContext, type Searcher, loggedSearch } from './logged-search.js';

/** What is asked of several collections. */
export interface CollectionsSearch {
  readonly collections: readonly string[];
  /** Default: by score where that is possible. */
  readonly merge: MergeMethod | undefined;
  readonly input: SearchInput;
}

export interface CollectionsResult {
  readonly merge: MergeMethod;
  /** The hits as JSON texts, best first. */
  readonly hits: string[];
  readonly searches: CollectionSearched[];
}

/** Fields that mean one collection, or an order that hits of several do not have. */
const OF_ONE_COLLECTION = ['like', 'sort', 'cursor', 'group_by', 'diversity', 'include_common', 'space'] as const;

/**
 * Throws 403 `auth_forbidden` for a collection that the key may not search, 404 `collection_not_found` for one that does
 * not exist, 422 for one that is named twice and for fields that are for one collection, and as `searchCollection` does.
 */
export async function searchCollections(
  context: LoggedSearchContext,
  searcher: Searcher,
  actor: Actor,
  tenant: Tenant,
  { collections: names, merge: wanted, input }: CollectionsSearch,
): Promise<CollectionsResult> {
  checkFields(input);
  const collections = names.map((name) => collectionNamed(context, actor, tenant, name));
  const [twice] = names.filter((_, i) => collections.findIndex(({ id }) => id === collections[i]?.id) < i);
  if (twice !== undefined)
    throw invalidField(['body', 'collections'], 'A collection is named twice.', 'value_error', twice);
  const merge = mergeFor(context, collections, wanted, input);
  const { k, offset } = input;
  const end = (offset ?? 0) + k;
  const results = await Promise.all(
    collections.map(({ name }) => loggedSearch(context, searcher, tenant, name, { ...input, k: end, offset: null })),
  );
  const found = results.map((result) => result.found);
  const hits = (merge === 'score' ? mergeHits(found) : mergedByRank(found)).slice(offset ?? 0, end);
  return {
    merge,
    hits: hits.map(({ json }) => json),
    searches: results.map((result, i) => searched(collections[i] as Collection, result)),
  };
}

function checkFields(input: SearchInput): void {
  const own = OF_ONE_COLLECTION.find((field) => input[field] != null && input[field] !== false);
  const field = own ?? (input.queries?.some(({ like }) => like) ? 'queries' : undefined);
  if (field !== undefined)
    throw invalidField(
      ['body', field],
      `A search of several collections takes no \`${own ?? 'like'}\`: search one collection.`,
      'value_error',
    );
}

function collectionNamed({ catalog }: LoggedSearchContext, actor: Actor, tenant: Tenant, name: string): Collection {
  if (!seesCollection(actor, name)) throw new AppError('auth_forbidden');
  try {
    return catalog.get(tenant, name as CollectionName);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'collection_not_found') throw error;
    throw new AppError('collection_not_found', undefined, { details: { collection: name } });
  }
}

/**
 * How the hits are merged: by score where scores of the collections mean the same, which are cosines of one space and
 * scores of one reranker, else by rank. Decided before anything is searched, so that a refused search is not logged.
 */
function mergeFor(
  { search }: LoggedSearchContext,
  collections: readonly Collection[],
  wanted: MergeMethod | undefined,
  input: SearchInput,
): MergeMethod {
  if (input.rerank) return wanted ?? 'score';
  const spaces = new Set(collections.map(({ vector_space_key }) => vector_space_key));
  if (wanted === 'score' && spaces.size > 1) throw differentSpaces(collections);
  const isByCosine =
    !input.queries && collections.every((each) => searchMode(search.settings, input, each) === 'vector');
  if (wanted === 'score' && !isByCosine)
    throw invalidField(
      ['body', 'merge'],
      'Scores of words count how rare they are in one collection. Merge by `rank`, search in mode `vector`, or rerank.',
      'value_error',
      wanted,
    );
  return wanted ?? (isByCosine && spaces.size === 1 ? 'score' : 'rank');
}

function differentSpaces(collections: readonly Collection[]): AppError {
  const spaces = collections.map(({ name, vector_space_key }) => `${name} ${vector_space_key}`).join(', ');
  return invalidField(
    ['body', 'merge'],
    `Scores of different vector spaces cannot be compared (${spaces}). Merge by \`rank\`, or rerank.`,
    'value_error',
    'score',
  );
}

/** By rank, then in the order of the collections. This is reciprocal rank fusion of lists without a common hit. */
function mergedByRank(found: readonly (readonly FoundHit[])[]): FoundHit[] {
  const longest = Math.max(...found.map(({ length }) => length));
  return Array.from({ length: longest }, (_, rank) => found.flatMap((hits) => hits[rank] ?? [])).flat();
}

const searched = ({ name }: Collection, { mode, degraded, queryId, timing }: LoggedResult): CollectionSearched => ({
  collection: name,
  mode,
  ...(degraded && { degraded }),
  ...(queryId !== undefined && { query_id: queryId }),
  timing,
});
