// The vector of a search: the one that came with it, or that of its text, from the cache or the embedder; none where
// the embedder does not answer and the words may rank alone. Called by the search use case, on the front thread.
import type { Leaving } from '../base/departure.js';
import { AppError } from '../contract/errors.js';
import type { QueryText } from '../contract/embed-messages.js';
import type { Collection, SearchMode } from '../contract/resources.js';
import { toVector } from '../contract/vector.js';
import { BUILTIN, IDENTITY_TYPE } from '../embedding/spaces.js';
import type { Context } from './context.js';

/** What is searched for: exactly one of `q` and `v`. */
export interface Sought {
  q?: string;
  v?: ArrayLike<number>;
  /** Who asks, where that is not the tenant of the collection. */
  account?: string;
  /** Aborted when nobody waits for the hits any more. */
  signal?: Leaving;
  /** Of the request, where it is traced. */
  traceparent?: string;
}

/** undefined only in modes that look at words, where `search.degrade` allows it. Throws as searchCollection does. */
export async function queryVector(
  context: Context,
  collection: Collection,
  mode: SearchMode,
  { q, v, account, signal, traceparent }: Sought,
): Promise<Float32Array | undefined> {
  if (v) return toVector(v, collection.dim, ['body', 'v']);
  checkHasText(collection);
  try {
    return await vectorOfText(
      context,
      collection,
      { text: q as string, ...(traceparent !== undefined && { traceparent }) },
      account ?? collection.tenant,
      signal,
    );
  } catch (error) {
    const mayDegrade = context.search.degrade && mode !== 'vector';
    if (mayDegrade && error instanceof AppError && error.code === 'embedder_unavailable') return undefined;
    throw error;
  }
}

/** Throws `vectors_only` for a collection that no text can be sought in. */
export function checkHasText({ embedder_type: type }: Collection): void {
  if (type === IDENTITY_TYPE)
    throw new AppError('vectors_only', 'The collection holds vectors only: search it with `v`.');
}

/**
 * The built-in embedder is not worth a cache: its share of a search is no greater than what looking up and keeping
 * take.
 */
async function vectorOfText(
  { embedders, queryCache }: Context,
  collection: Collection,
  query: QueryText,
  owner: string,
  signal?: Leaving,
): Promise<Float32Array> {
  const embed = (until?: Leaving): Promise<Float32Array> =>
    embedders.embedQuery(collection, query, collection.tenant, until);
  if (collection.embedder_type === BUILTIN.space.embedder_type) return embed(signal);
  return queryCache.vectorOf({ owner, space: collection.vector_space_key, text: query.text }, embed, signal);
}
