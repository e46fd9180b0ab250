// `sheaf serve`: starts the server (data directory, pools, use cases, routes, listener), prints its addresses, and
// stops it on SIGTERM or SIGINT. Front thread.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { JSON_BODY_SHAPE, MESSAGE_SHAPE, SEARCH_BODY_SHAPE, VECTOR_JSON_BYTES_MAX } from '../api/limits.js';
import type { EmbedderInventory } from '../api/embedders.js';
import { sharedNowMs } from '../base/clock.js';
import type { Log } from '../base/log.js';
import { OperatorError } from '../base/operator-error.js';
import { internalErrorOf } from '../base/thread.js';
import type { Tracer } from '../base/trace.js';
import { openTokenKeys } from '../config/auth.js';
import type { Config } from '../config/config.js';
import { readConfig } from '../config/load.js';
import type { HttpServerOptions } from '../http/options.js';
import { createRoutes } from '../http/routes.js';
import { type HttpServer, createHttpServer } from '../http/server.js';
import { type SharedLimits, createSharedLimits } from '../http/shared-limits.js';
import { siteGuard } from '../http/site-guard.js';
import { type Uws, loadUws } from '../http/uws.js';
import { registerRequests } from '../observability/gauges.js';
import { createLogger, createRecorder } from '../observability/log.js';
import { type Service, closeService, createService } from '../service/compose.js';
import { isReady } from '../service/health/health.js';
import { TokenVerifier, allowEverybody, authenticateBy } from '../service/tenants/auth.js';
import { TenantLimiter } from '../service/tenants/limits.js';
import type { TenantRegistry } from '../service/tenants/registry.js';
import { openDataDirectory } from '../storage/data-directory.js';
import { EXIT } from './command-line.js';
import { descriptorLimit, serveDescriptors, tooFew } from './open-files.js';

export interface RunningServer extends Service {
  readonly port: number;
  readonly dataDir: string;
  /** Completes requests in progress, closes the stores, and releases the data directory. */
  stop(): Promise<void>;
}

/**
 * Starts to listen at once, while shards are still opening; /health/ready reports when they are ready. Throws
 * OperatorError if the server cannot start.
 */
export async function startServer(config: Config, log: Log): Promise<RunningServer> {
  const uws = await loadUws();
  const directory = await openDataDirectory(config.dataDir, config.partitions);
  const service = createService(config, log, directory.path, directory.shards);
  const tracer = config.tracing.enabled
    ? (await import('../observability/tracing.js')).createTracer(config.tracing, config.tuning, log)
    : undefined;
  const http = createListener(uws, config, service, tracer, log, directory.path);
  registerRequests(service.parts.metrics.registry, http);
  const close = (): Promise<void> => closeService(service).finally(() => directory.release());
  const port = await http.listen(config.host, config.port).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const stop = async (): Promise<void> => {
    // Event streams would otherwise stay open until the drain times out.
    service.parts.events.close();
    await http.drain(config.limits.drainTimeoutMs);
    await tracer?.close();
    await close();
  };
  return { port, dataDir: directory.path, ...service, stop };
}

function createListener(
  uws: Uws,
  config: Config,
  { parts, services }: Service,
  tracer: Tracer | undefined,
  log: Log,
  dataDir: string,
): HttpServer {
  const { fileBytesMax: documentBytesMax, batchBytesMax, ...limits } = config.limits;
  const bounded = (bytesMax: number): number => Math.min(bytesMax, batchBytesMax);
  const shared = { limits: createSharedLimits(1), stripe: 0 };
  return createHttpServer(uws, {
    routes: createRoutes(services, {
      allowed: config.allowedSites,
      archiveBytesMax: config.limits.archiveBytesMax,
    }),
    ...createAccess(config, parts.tenants, shared, log),
    shared,
    limits: {
      ...limits,
      heldBytesMax: config.tuning.heldBytesMax,
      bodyTimeoutMs: config.tuning.bodyTimeoutMs,
      jsonBytesMax: bounded(JSON_BODY_SHAPE.bytesMax),
      searchBytesMax: bounded(SEARCH_BODY_SHAPE.bytesMax + VECTOR_JSON_BYTES_MAX),
      messageBytesMax: bounded(MESSAGE_SHAPE.bytesMax),
      batchBytesMax,
      documentBytesMax,
      temporaryDirectory: join(dataDir, 'sheaf-tmp'),
    },
    tls: config.tls,
    log: createRecorder(parts.metrics, config.log, log),
    tracer,
    onInternalError: (error, requestId) => log.error({ requestId, error: internalErrorOf(error) }, 'a request failed'),
  });
}

/** Authentication, rate limits, and the site guard. */
function createAccess(
  config: Config,
  tenants: TenantRegistry,
  { limits, stripe }: { limits: SharedLimits; stripe: number },
  log: Log,
): Pick<HttpServerOptions, 'authenticate' | 'admit' | 'guardSite'> {
  const limiter = new TenantLimiter((tenant) => tenants.limitsOf(tenant), sharedNowMs, limits, stripe);
  const known = { keys: tenants.ring, hasLoaded: () => tenants.loaded, nowMs: Date.now, ...createTokens(config, log) };
  return {
    authenticate: config.auth.mode === 'none' ? allowEverybody : authenticateBy(known),
    admit: (actor, tenant) => limiter.admit(actor, tenant),
    guardSite: config.auth.mode === 'none' ? siteGuard(config.allowedSites) : undefined,
  };
}

function createTokens({ auth: { mode, jwt } }: Config, log: Log): { tokens?: TokenVerifier } {
  if (mode !== 'jwt') return {};
  const keys = openTokenKeys(jwt, Date.now(), (error) =>
    log.warn({ reason: error.message }, 'the token keys could not be read again; the old ones are used'),
  );
  return { tokens: new TokenVerifier({ keys, issuer: jwt.issuer, audience: jwt.audience, nowMs: Date.now }) };
}

const READY_RECHECK_MS = 20;
const LOG_THREADS = 1;

/** Runs the server until it is told to stop, and resolves to the exit code. `print` writes lines for the operator. */
export async function serve(env: NodeJS.ProcessEnv, print: (line: string) => void): Promise<number> {
  const startedAtMs = performance.now();
  try {
    const warnings: string[] = [];
    const config = readConfig(env, (warning) => warnings.push(warning));
    const [limit, wanted] = [descriptorLimit(), descriptorsOf(config)];
    if (limit < wanted) {
      print(tooFew(limit, wanted));
      return EXIT.failed;
    }
    const log = createLogger(config.log.level);
    for (const warning of warnings) log.warn({}, warning);
    const server = await startServer(config, log);
    const stopped = untilSignal(server);
    const hasStarted = await Promise.race([untilReady(server), stopped.then(() => false)]);
    if (hasStarted) print(banner(server, config, performance.now() - startedAtMs).join('\n'));
    await stopped;
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    print(`sheaf: ${error.message}`);
    return EXIT.failed;
  }
}

function descriptorsOf({ partitions, threads: { search, embed, batch } }: Config): number {
  return serveDescriptors(partitions, search + embed.queries + embed.documents + batch + LOG_THREADS);
}

/** Stops on a signal. A second signal ends the process at once. */
function untilSignal(server: RunningServer): Promise<void> {
  return new Promise((resolve, reject) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.once(signal, () => void server.stop().then(resolve, reject));
  });
}

/**
 * Resolves to true once everything is ready; never if the server is stopped before. The timer does not keep the process
 * alive.
 */
async function untilReady({ services }: RunningServer): Promise<true> {
  for (;;) {
    if (isReady(services.health)) return true;
    await new Promise((resolve) => setTimeout(resolve, READY_RECHECK_MS).unref());
  }
}

function banner(
  { port, dataDir, parts, services }: RunningServer,
  { host, tls, auth: { mode: authMode } }: Config,
  tookMs: number,
): string[] {
  const url = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const key = authMode === 'none' ? '' : ` -H "Authorization: Bearer $KEY"`;
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return [
    `Sheaf ${version} is ready at ${url} after ${(tookMs / 1000).toFixed(1)} s`,
    `  console   ${url}/ui`,
    `  data      ${dataDir} (${parts.shards.size} shards)`,
    `  embedder  ${embedderLabels(services.embedders.inventory()).join(', ')}`,
    `  auth      ${authMode}${authMode !== 'none' ? `: the admin key is auth.admin_key, or in ${dataDir}/admin.key` : ', loopback only'}`,
    `  API       ${url}/docs, for agents ${url}/mcp`,
    `  guide     ${url}/docs/index`,
    `  try       curl -s${key} ${url}/v1/collections/default/docs/documents --json '{"text":"Captain Nemo commands the Nautilus."}'`,
    `            curl -s${key} "${url}/v1/collections/default/docs/search?q=submarine+captain"`,
    '            or sheaf ingest FOLDER and sheaf search QUERY (in a checkout: npx sheaf); sheaf --help shows the rest',
  ];
}

/** Labels of the embedders, the default first. */
function embedderLabels({ embedders, default: { vector_key: vectorKey } }: EmbedderInventory): string[] {
  const label = ({ embedder_type, embed_model }: EmbedderInventory['embedders'][number]): string =>
    `${embedder_type}:${embed_model}`;
  const isDefault = ({ vector_key }: EmbedderInventory['embedders'][number]): boolean => vector_key === vectorKey;
  const others = embedders.filter((embedder) => !isDefault(embedder));
  return [
    ...new Set([
      ...embedders.filter(isDefault).map((embedder) => `${label(embedder)} (default)`),
      ...others.map(label),
    ]),
  ];
}
