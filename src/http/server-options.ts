// The options of an HTTP server from the configuration: limits, authentication, rate limits, the site guard, logging.
// Front threads, and the main thread where it serves HTTP itself.
import { JSON_BODY_SHAPE, MESSAGE_SHAPE, SEARCH_BODY_SHAPE, VECTOR_JSON_BYTES_MAX } from '../api/limits.js';
import { sharedNowMs } from '../base/clock.js';
import type { SharedProgress } from '../base/log-progress.js';
import type { Log } from '../base/log.js';
import { internalErrorOf } from '../base/thread.js';
import type { Tracer } from '../base/trace.js';
import { openTokenKeys } from '../config/auth.js';
import type { Config } from '../config/config.js';
import { createRecorder } from '../observability/log.js';
import type { Metrics } from '../observability/metrics.js';
import { TokenVerifier, allowEverybody, authenticateBy } from '../service/tenants/auth.js';
import { TenantLimiter } from '../service/tenants/limits.js';
import type { TenantRegistry } from '../service/tenants/registry.js';
import { Consistency } from './consistency.js';
import { Cors } from './cors.js';
import type { HttpServerOptions } from './options.js';
import type { Route } from './route.js';
import type { SharedLimits } from './shared-limits.js';
import { type AllowedSites, siteGuard } from './site-guard.js';

interface ServerParts {
  readonly config: Config;
  readonly routes: readonly Route[];
  readonly tenants: TenantRegistry;
  /** Makes the tenants current; called before a request is authenticated. */
  readonly refresh?: () => void;
  readonly metrics: Metrics;
  readonly tracer: Tracer | undefined;
  readonly log: Log;
  /** Where large form files go. */
  readonly temporaryDirectory: string;
  readonly shared: ServerShare['shared'];
  readonly progress: ServerShare['progress'];
  /** Appends a barrier to the command log, and resolves to its sequence. */
  readonly barrier: () => Promise<number>;
  /** Called with the number of requests in progress whenever it changes. */
  readonly counted?: (underWay: number) => void;
}

/** The counts for limits that hold over all servers, and the index of this one. */
export interface ServerShare {
  readonly shared: { readonly limits: SharedLimits; readonly stripe: number };
  /** Absent on a single machine. */
  readonly progress?: SharedProgress | undefined;
}

export function serverOptions(parts: ServerParts): HttpServerOptions {
  const { config, routes, metrics, tracer, log, temporaryDirectory, shared, progress, barrier, counted } = parts;
  const { fileBytesMax: documentBytesMax, batchBytesMax, ...limits } = config.limits;
  const bounded = (bytesMax: number): number => Math.min(bytesMax, batchBytesMax);
  return {
    routes,
    ...createAccess(parts),
    cors: config.corsOrigins.length > 0 ? new Cors(config.corsOrigins) : undefined,
    shared,
    consistency: progress && new Consistency(progress, barrier),
    counted,
    limits: {
      ...limits,
      heldBytesMax: config.tuning.heldBytesMax,
      bodyTimeoutMs: config.tuning.bodyTimeoutMs,
      jsonBytesMax: bounded(JSON_BODY_SHAPE.bytesMax),
      searchBytesMax: bounded(SEARCH_BODY_SHAPE.bytesMax + VECTOR_JSON_BYTES_MAX),
      messageBytesMax: bounded(MESSAGE_SHAPE.bytesMax),
      batchBytesMax,
      documentBytesMax,
      temporaryDirectory,
    },
    tls: config.tls,
    log: createRecorder(metrics, config.log, log),
    tracer,
    onInternalError: (error, requestId) => log.error({ requestId, error: internalErrorOf(error) }, 'a request failed'),
  };
}

/** Authentication, rate limits, and the site guard. */
function createAccess({
  config,
  tenants,
  refresh,
  shared: { limits, stripe },
  log,
}: ServerParts): Pick<HttpServerOptions, 'authenticate' | 'admit' | 'guardSite'> {
  const limiter = new TenantLimiter((tenant) => tenants.limitsOf(tenant), sharedNowMs, limits, stripe);
  const known = { keys: tenants.ring, hasLoaded: () => tenants.loaded, nowMs: Date.now, ...createTokens(config, log) };
  const authenticate = config.auth.mode === 'none' ? allowEverybody : authenticateBy(known);
  return {
    authenticate: refresh ? (request, route) => (refresh(), authenticate(request, route)) : authenticate,
    admit: (actor, tenant) => limiter.admit(actor, tenant),
    guardSite: config.auth.mode === 'none' ? siteGuard(allowedSitesOf(config)) : undefined,
  };
}

/** Pages of the origins that may read answers may call the server. */
export const allowedSitesOf = ({ allowedSites: { hosts, origins }, corsOrigins }: Config): AllowedSites => ({
  hosts,
  origins: [...origins, ...corsOrigins],
});

function createTokens({ auth: { mode, jwt } }: Config, log: Log): { tokens?: TokenVerifier } {
  if (mode !== 'jwt') return {};
  const keys = openTokenKeys(jwt, Date.now(), (error) =>
    log.warn({ reason: error.message }, 'the token keys could not be read again; the old ones are used'),
  );
  return { tokens: new TokenVerifier({ keys, issuer: jwt.issuer, audience: jwt.audience, nowMs: Date.now }) };
}
