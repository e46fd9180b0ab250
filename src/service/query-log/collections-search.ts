// Use case that searches several collections of a tenant and merges the hits. Each collection is searched, logged and
// counted as by a search of its own, so its query log and its replays do not know of the others. Runs on front threads
// and on the main thread.
import type { Collection } from '../../api/collections.js';
import { AppError, invalidField } from '../../api/errors.js';
import { type CollectionName, type Tenant, parseChunkId } from '../../api/ids.js';
import type { CollectionSearched, MergeMethod } from '../../api/search.js';
import { compareUtf8 } from '../../base/bytes.js';
import type { SearchInput } from '../search/input.js';
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
const OF_ONE_COLLECTION = ['like', 'sort', 'cursor', 'group_by', 'diversity', 'include_common'] as const;

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
  const collections = names.map((name) => found(context, actor, tenant, name));
  const [twice] = names.filter((_, i) => collections.findIndex(({ id }) => id === collections[i]?.id) < i);
  if (twice !== undefined)
    throw invalidField(['body', 'collections'], 'A collection is named twice.', 'value_error', twice);
  if (wanted === 'score' && !haveOneSpace(collections) && !input.rerank) throw differentSpaces(collections);
  const { k, offset } = input;
  const end = (offset ?? 0) + k;
  const results = await Promise.all(
    collections.map(({ name }) => loggedSearch(context, searcher, tenant, name, { ...input, k: end, offset: null })),
  );
  const isComparable = isByScore(collections, results, input);
  if (wanted === 'score' && !isComparable)
    throw invalidField(
      ['body', 'merge'],
      'Scores of words count how rare they are in one collection. Merge by `rank`, search in mode `vector`, or rerank.',
      'value_error',
      wanted,
    );
  const merge = wanted ?? (isComparable ? 'score' : 'rank');
  const hits = (merge === 'score' ? mergedByScore(results) : mergedByRank(results)).slice(offset ?? 0, end);
  return { merge, hits, searches: results.map((result, i) => searched(collections[i] as Collection, result)) };
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

function found({ catalog }: LoggedSearchContext, actor: Actor, tenant: Tenant, name: string): Collection {
  if (!seesCollection(actor, name)) throw new AppError('auth_forbidden');
  try {
    return catalog.get(tenant, name as CollectionName);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'collection_not_found') throw error;
    throw new AppError('collection_not_found', undefined, { details: { collection: name } });
  }
}

const haveOneSpace = (collections: readonly Collection[]): boolean =>
  new Set(collections.map(({ vector_space_key }) => vector_space_key)).size === 1;

function differentSpaces(collections: readonly Collection[]): AppError {
  const spaces = collections.map(({ name, vector_space_key }) => `${name} ${vector_space_key}`).join(', ');
  return invalidField(
    ['body', 'merge'],
    `Scores of different vector spaces cannot be compared (${spaces}). Merge by \`rank\`, or rerank.`,
    'value_error',
    'score',
  );
}

/** Whether scores of the collections mean the same: cosines of one space, or scores of one reranker. */
const isByScore = (
  collections: readonly Collection[],
  results: readonly LoggedResult[],
  { rerank, queries }: SearchInput,
): boolean =>
  rerank != null ||
  (haveOneSpace(collections) &&
    queries == null &&
    results.every(({ mode, degraded }) => mode === 'vector' && !degraded));

interface PlacedHit {
  readonly json: string;
  readonly docid: string;
  readonly score: number;
  /** Position in the result of its collection. */
  readonly rank: number;
}

const placed = (results: readonly LoggedResult[]): PlacedHit[] =>
  results.flatMap(({ hits, ids, scores }) =>
    hits.map((json, rank) => {
      const id = ids[rank] as string;
      return { json, docid: parseChunkId(id)?.docid ?? id, score: scores[rank] as number, rank };
    }),
  );

/** By score, then by document id, then in the order of the collections, as in a search of one collection. */
const mergedByScore = (results: readonly LoggedResult[]): string[] =>
  placed(results)
    .toSorted((a, b) => b.score - a.score || compareUtf8(a.docid, b.docid))
    .map(({ json }) => json);

/** By rank, then in the order of the collections. This is reciprocal rank fusion of lists without a common hit. */
const mergedByRank = (results: readonly LoggedResult[]): string[] =>
  placed(results)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ json }) => json);

const searched = ({ name }: Collection, { mode, degraded, queryId, timing }: LoggedResult): CollectionSearched => ({
  collection: name,
  mode,
  ...(degraded && { degraded }),
  ...(queryId !== undefined && { query_id: queryId }),
  timing,
});
