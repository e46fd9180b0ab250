// A change of the catalog for a collection that may be switched to another space while it is asked for: the store
// refuses what it is not any more, and then it is asked again for what the collection is by then. Called by the use
// cases that rename, relabel and delete; front thread.
import { AppError } from '../contract/errors.js';
import { logIdOf, type Collection } from '../contract/resources.js';
import type { Context } from './context.js';

/** Rejects with what `ask` rejects with, and with `collection_not_found` only where the collection is gone. */
export async function asOfNow<T>(
  { catalog }: Pick<Context, 'catalog'>,
  collection: Collection,
  ask: (collection: Collection) => Promise<T>,
): Promise<T> {
  for (let now = collection; ; ) {
    try {
      return await ask(now);
    } catch (error) {
      const live = catalog.findByLog(logIdOf(now));
      if (!(error instanceof AppError) || error.code !== 'collection_not_found' || !live || live.id === now.id)
        throw error;
      now = live;
    }
  }
}
