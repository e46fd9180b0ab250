// Tells all shards that an id is nobody's any more. Called where a collection, or what was staged beside one, is out of
// the stored catalog; front thread.
import { AppError } from '../contract/errors.js';
import type { CollectionId } from '../contract/ids.js';
import type { Context } from './context.js';

/**
 * The shards forget an id at once, with what is damaged of it, and remove what it has in the background; one that is
 * away does when it opens. Never rejects.
 */
export async function dropFromShards(
  { catalog, quarantine, fanOut, shards, log }: Context,
  id: CollectionId,
): Promise<void> {
  quarantine.forget(id);
  fanOut.forget(id);
  const told = shards.askAll('dropCollection', { collection: id });
  for (const result of await Promise.allSettled(told)) {
    if (result.status === 'fulfilled') continue;
    catalog.toDrop.add(id);
    if (!(result.reason instanceof AppError))
      log.error({ reason: String(result.reason) }, 'a shard could not be told of a dropped collection');
  }
}
