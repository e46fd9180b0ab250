// Use cases of the health checks: liveness, readiness, and whether everything works. Runs on front threads, which answer
// only liveness, and on the main thread.
import { SERVICE_VERSION } from '../../api/common.js';
import { AppError } from '../../api/errors.js';
import type { Check, HEALTH_ROUTES, Readiness } from '../../api/health.js';
import type { ReplicatedLog } from '../../cluster/command-log.js';
import type { Quarantine } from '../../pool/quarantine.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import type { Catalog } from '../collections/catalog.js';
import type { Embedders } from '../embedding/embedders.js';
import type { UseCases } from '../use-case.js';

export interface HealthContext {
  readonly catalog: Pick<Catalog, 'loaded' | 'isWhole'>;
  readonly quarantine: Pick<Quarantine, 'size'>;
  readonly embedders: Pick<Embedders, 'usable' | 'states'>;
  readonly shards: Pick<ShardPool, 'readyCount' | 'size'>;
  /** Whether the server will stop in a moment. */
  readonly stopping: { isSo: boolean };
  /** Absent on a single machine. */
  readonly commandLog?: Pick<ReplicatedLog, 'isReady' | 'fenced' | 'stalls'> | undefined;
}

type Checks = Readiness['checks'];

const version = SERVICE_VERSION;

export const healthUseCases = (context: HealthContext): UseCases<typeof HEALTH_ROUTES> => ({
  health: () => ({ status: health(context), version }),
  liveness,
  readiness: () => ({ version, checks: readiness(context) }),
});

export const liveness: UseCases<typeof HEALTH_ROUTES>['liveness'] = () => ({ status: 'live', version });

/**
 * Returns `degraded` also while any embedder instance does not answer, even an unused one, and while a collection is
 * damaged.
 */
function health(context: HealthContext): 'ready' | 'degraded' {
  const { commandLog } = context;
  const takesWrites = !commandLog || (commandLog.fenced === undefined && commandLog.stalls().length === 0);
  const isWhole = context.quarantine.size === 0 && context.catalog.isWhole && takesWrites;
  const isFine = isReady(context) && isWhole && context.embedders.states().every(({ state }) => state === 'usable');
  return isFine ? 'ready' : 'degraded';
}

/**
 * Throws 503 `not_ready`, with the checks in its details, while the store, a shard or the default embedder is not
 * usable, and 503 `shutting_down` where the server will stop in a moment.
 */
function readiness(context: HealthContext): Checks {
  if (context.stopping.isSo) throw new AppError('shutting_down');
  const found = checks(context);
  if (!areFine(found)) throw new AppError('not_ready', undefined, { details: { checks: found }, retryAfterS: 1 });
  return found;
}

/** Whether the store, all shards and the default embedder are usable. */
export function isReady(context: HealthContext): boolean {
  return areFine(checks(context));
}

const areFine = (found: Checks): boolean => Object.values(found).every((check) => check === 'ok');

function checks({ catalog, shards, embedders, commandLog }: HealthContext): Checks {
  const told = (fine: boolean): Check => (fine ? 'ok' : 'unavailable');
  return {
    storage: told(catalog.loaded),
    embeddings: told(embedders.usable),
    shards: told(shards.readyCount === shards.size),
    ...(commandLog && { log: told(commandLog.isReady) }),
  };
}
