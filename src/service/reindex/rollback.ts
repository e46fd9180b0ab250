// Use case: go back to the space that a collection had before its last reindex, while it is kept. What was written
// since is in both, or is copied now. Called by the rollback endpoints; front thread.
import { AppError } from '../../contract/errors.js';
import type { CollectionName, Tenant } from '../../contract/ids.js';
import { logIdOf, type Collection } from '../../contract/resources.js';
import type { Context } from '../context.js';
import type { Staged } from '../staged.js';
import { switchCollection } from '../stage-collection.js';
import { copyMissing, writesBefore, type Copy } from './copy.js';

/**
 * The collection as it is then. Throws 404 `collection_not_found`, 409 `reindex_conflict` while a job works on it, 409
 * `reindex_state_conflict` where nothing is kept, or what is kept cannot catch up.
 */
export function rollBack(
  context: Context,
  tenant: Tenant,
  name: CollectionName,
  signal: AbortSignal,
): Promise<Collection> {
  const live = context.catalog.get(tenant, name);
  return context.reindexJobs.claim(logIdOf(live), async () => {
    const previous = keptOf(context, live);
    const { staged } = context;
    staged.setMode(previous.id, 'require');
    try {
      await catchUp({ context, source: live, twin: previous.collection, signal, check: () => signal.throwIfAborted() });
      return await switchCollection(context, previous.id, { expect: live.id });
    } finally {
      if (staged.find(previous.id)) staged.setMode(previous.id, 'embed');
    }
  });
}

function keptOf({ staged, nowMs }: Context, live: Collection): Staged {
  const [previous] = staged.beside(live.id, 'previous');
  if (!previous || (previous.kept_until_ms ?? 0) <= nowMs())
    throw new AppError('reindex_state_conflict', 'No previous space of the collection is kept.');
  return previous;
}

async function catchUp(copy: Copy): Promise<void> {
  try {
    await writesBefore(copy);
    while ((await copyMissing(copy)) > 0);
  } catch (error) {
    const isStale =
      error instanceof AppError && (error.code === 'embedder_unavailable' || error.code === 'reindex_invalid');
    if (isStale)
      throw new AppError(
        'reindex_state_conflict',
        'The space that is kept lacks documents written since, and they cannot be embedded for it.',
        { details: { reason: 'stale' } },
      );
    throw error;
  }
}
