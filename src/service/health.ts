// Use case: is the server alive, and is it of use.
// Called by the health endpoints, and by the serve command until the server is ready; front thread.
import { AppError } from '../contract/errors.js';
import type { Context } from './context.js';

type Check = 'ok' | 'unavailable';
export type Checks = Record<'storage' | 'embeddings' | 'shards', Check>;

export async function health(context: Context): Promise<'ready' | 'degraded'> {
  return Object.values(await checks(context)).every((check) => check === 'ok') ? 'ready' : 'degraded';
}

/** Throws 503 `not_ready`, with the checks in its details, until storage and embeddings are usable. */
export async function readiness(context: Context): Promise<Checks> {
  const found = await checks(context);
  if (Object.values(found).some((check) => check !== 'ok')) throw new AppError('not_ready', undefined, { details: { checks: found }, retryAfterS: 1 });
  return found;
}

async function checks({ catalog, shards, embedders }: Context): Promise<Checks> {
  const told = (fine: boolean): Check => (fine ? 'ok' : 'unavailable');
  return { storage: told(catalog.loaded), embeddings: told(await embedders.usable()), shards: told(shards.openCount === shards.size) };
}
