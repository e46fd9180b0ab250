// Use case: is the server alive, and is it of use.
// Called by the health endpoints, and by the serve command until the server is ready; front thread.
import { AppError } from '../../api/errors.js';
import type { Context } from '../context.js';

type Check = 'ok' | 'unavailable';
export type Checks = Record<'storage' | 'embeddings' | 'shards', Check>;

/**
 * Degraded too while any embedder instance does not answer, be it one that nothing needs now, and while a collection is
 * damaged.
 */
export function health(context: Context): 'ready' | 'degraded' {
  const isWhole = context.quarantine.size === 0 && context.catalog.isWhole;
  const isFine = isReady(context) && isWhole && context.embedders.states().every(({ state }) => state === 'usable');
  return isFine ? 'ready' : 'degraded';
}

/** Throws 503 `not_ready`, with the checks in its details, while storage or the default embedder are not usable. */
export function readiness(context: Context): Checks {
  const found = checks(context);
  if (!areFine(found)) throw new AppError('not_ready', undefined, { details: { checks: found }, retryAfterS: 1 });
  return found;
}

/** Whether storage, shards and the default embedder are usable. */
export function isReady(context: Context): boolean {
  return areFine(checks(context));
}

const areFine = (found: Checks): boolean => Object.values(found).every((check) => check === 'ok');

function checks({ catalog, shards, embedders }: Context): Checks {
  const told = (fine: boolean): Check => (fine ? 'ok' : 'unavailable');
  return {
    storage: told(catalog.loaded),
    embeddings: told(embedders.usable),
    shards: told(shards.readyCount === shards.size),
  };
}
