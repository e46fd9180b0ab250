// `sheaf serve`: starts the server (data directory, pools, use cases, routes, listener), prints its addresses, and
// stops it on SIGTERM or SIGINT. Runs on the main thread.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EmbedderInventory } from '../api/embedders.js';
import type { Log } from '../base/log.js';
import { OperatorError } from '../base/operator-error.js';
import { sharedNowMs } from '../base/clock.js';
import { canPassSockets } from '../base/native-threads.js';
import { untilEnded } from '../base/stopping.js';
import { internalErrorOf } from '../base/thread.js';
import type { Config } from '../config/config.js';
import { NoCopy } from '../cluster/data-copy.js';
import type { ClusterNode, JoinOptions } from '../cluster/node.js';
import { readConfig } from '../config/load.js';
import { Admission } from '../http/admission.js';
import { emptyTemporaryDirectory } from '../http/form.js';
import { serveForwarded } from '../http/forward.js';
import { type RouteOptions, createRoutes } from '../http/routes.js';
import { type ServerShare, allowedSitesOf, serverOptions } from '../http/server-options.js';
import { type SharedLimits, createSharedLimits, releaseStripe } from '../http/shared-limits.js';
import { createHttpServer, listenError } from '../http/server.js';
import { allowLongHeads, loadUws } from '../http/uws.js';
import { registerRequests } from '../observability/gauges.js';
import { createLogger } from '../observability/log.js';
import { shareUse } from '../service/cluster/shared-use.js';
import { type Service, closeService, createService } from '../service/compose.js';
import { isReady } from '../service/health/health.js';
import { adminKeyOf } from '../service/tenants/keys.js';
import { type DataDirectory, TEMPORARY, openDataDirectory } from '../storage/data-directory.js';
import { EXIT, makeFilesPrivate } from './command-line.js';
import { descriptorLimit, serveDescriptors, tooFew } from './open-files.js';

export interface RunningServer extends Service {
  readonly port: number;
  readonly dataDir: string;
  /** Resolves if the server has to begin anew, because its node of the cluster has to. */
  readonly mustRejoin: Promise<JoinOptions>;
  /** Completes requests in progress, closes the stores, and releases the data directory. */
  stop(): Promise<void>;
}

/**
 * Starts to listen at once, while shards are still opening; /health/ready reports when they are ready. Throws
 * OperatorError if the server cannot start.
 */
export async function startServer(config: Config, log: Log, joining: JoinOptions = {}): Promise<RunningServer> {
  const directory = await openDataDirectory(config.dataDir, config.partitions);
  const node = await nodeOf(config, directory, log, joining).catch((error: unknown) => {
    directory.release();
    throw error;
  });
  const service = createService(config, log, directory.path, directory.shards, node);
  const temporary = join(directory.path, TEMPORARY);
  emptyTemporaryDirectory(temporary);
  // The last stripe is that of the main thread.
  const limits = createSharedLimits(config.frontThreads + 1);
  const listener = hasFronts(config, log)
    ? createFronts(config, service, log, directory.path, node, limits)
    : await createOwnServer(config, service, log, temporary, node, limits);
  const use = { memory: limits, stripe: config.frontThreads, nowMs: sharedNowMs };
  const endSharing = node && shareUse({ ...use, node: node.id, stream: node.stream });
  registerRequests(service.parts.metrics.registry, listener);
  const close = async (): Promise<void> => {
    endSharing?.();
    await listener.close();
    await closeService(service)
      .then(() => {
        node?.links.close();
        return node?.stream.close();
      })
      .finally(() => directory.release());
  };
  const port = await listener.listen(config.host, config.port).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  service.services.backups.start();
  const stop = async (): Promise<void> => {
    if (config.limits.stopDelayMs > 0) {
      service.services.health.stopping.isSo = true;
      listener.stopSoon();
      await sleep(config.limits.stopDelayMs);
    }
    // Event streams would otherwise stay open until the drain times out.
    service.parts.events.close();
    await untilEnded(log, 'requests', listener.drain(config.limits.drainTimeoutMs));
    await close();
  };
  const mustRejoin = service.parts.recovery?.mustRejoin() ?? new Promise<never>(() => undefined);
  return { port, dataDir: directory.path, ...service, mustRejoin, stop };
}

/** Joins the cluster of the configuration; undefined on a single machine. What that takes is loaded only then. */
async function nodeOf(
  config: Config,
  directory: DataDirectory,
  log: Log,
  joining: JoinOptions,
): Promise<ClusterNode | undefined> {
  if (config.cluster.servers.length === 0) return undefined;
  const { joinCluster } = await import('../cluster/node.js');
  return joinCluster(config, directory, log, joining);
}

/** What serves HTTP: the front threads, or the main thread itself. */
interface HttpListener {
  /** Resolves to the port. Throws ListenError. */
  listen(host: string, port: number): Promise<number>;
  /** Closes each connection after its next reply. */
  stopSoon(): void;
  /** Ends all requests within this time. */
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
  /** Requests in progress, and bytes of bodies in memory. */
  readonly underWay: number;
  readonly heldBytes: number;
}

function hasFronts({ frontThreads }: Config, log: Log): boolean {
  if (frontThreads > 0 && !canPassSockets)
    log.warn(
      {},
      'without a C++ compiler at the installation there are no front threads: one thread serves all requests',
    );
  return frontThreads > 0 && canPassSockets;
}

function createFronts(
  config: Config,
  { parts, services }: Service,
  log: Log,
  dataDir: string,
  node: ClusterNode | undefined,
  limits: SharedLimits,
): HttpListener {
  const routes = createRoutes(services, routeOptions(config));
  const failed = (error: unknown, requestId: string): void =>
    log.error({ requestId, error: internalErrorOf(error) }, 'a request failed');
  const { fronts } = parts;
  const admission = new Admission(limits, config.frontThreads, { inFlightMax: 0, heldBytesMax: 0 });
  allowLongHeads();
  const pool = fronts.start(
    {
      ...parts,
      textVector: services.search.search.textVector,
      node,
      config,
      log,
      adminKey: adminKeyOf(config.auth, dataDir),
      temporaryDirectoryOf: (front) => join(dataDir, TEMPORARY, `front-${front}`),
      startOf: (front) =>
        ({ shared: { limits, stripe: front }, progress: node?.progress.shared }) satisfies ServerShare,
      exited: (front) => releaseStripe(limits, front),
    },
    (peer) => serveForwarded(routes, peer, failed),
  );
  return {
    listen: (host, port) =>
      pool.listen(host, port).catch((error: NodeJS.ErrnoException) => {
        throw listenError(host, port, error);
      }),
    stopSoon: () => admission.stopSoon(),
    drain: (timeoutMs) => pool.drain(timeoutMs),
    close: () => pool.close(),
    get underWay() {
      return pool.sum('requests');
    },
    get heldBytes() {
      return admission.bytesHeld;
    },
  };
}

/** The main thread serves HTTP, and search workers run all searches. */
async function createOwnServer(
  config: Config,
  service: Service,
  log: Log,
  temporary: string,
  node: ClusterNode | undefined,
  limits: SharedLimits,
): Promise<HttpListener> {
  const uws = await loadUws();
  const { parts, services } = service;
  const tracer = config.tracing.enabled
    ? (await import('../observability/tracing.js')).createTracer(config.tracing, config.tuning, log)
    : undefined;
  const http = createHttpServer(
    uws,
    serverOptions({
      config,
      routes: createRoutes(services, routeOptions(config)),
      tenants: parts.state.tenants,
      metrics: parts.metrics,
      tracer,
      log,
      temporaryDirectory: temporary,
      shared: { limits, stripe: config.frontThreads },
      progress: node?.progress.shared,
      barrier: () => parts.commandLog?.barrier() ?? Promise.reject(new Error('there is no command log')),
    }),
  );
  return {
    listen: (host, port) => http.listen(host, port),
    stopSoon: () => http.stopSoon(),
    drain: async (timeoutMs) => {
      await http.drain(timeoutMs);
      await tracer?.close();
    },
    close: () => Promise.resolve(),
    get underWay() {
      return http.underWay;
    },
    get heldBytes() {
      return http.heldBytes;
    },
  };
}

const routeOptions = (config: Config): RouteOptions => ({
  allowed: allowedSitesOf(config),
  archiveBytesMax: config.limits.archiveBytesMax,
});

const READY_RECHECK_MS = 20;
const LOG_THREADS = 1;

/** Runs the server until it is told to stop, and resolves to the exit code. `print` writes lines for the operator. */
export async function serve(env: NodeJS.ProcessEnv, print: (line: string) => void): Promise<number> {
  const startedAtMs = performance.now();
  makeFilesPrivate();
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
    let server = await startServer(config, log);
    const told = signalled();
    for (let fromMs = startedAtMs; ; fromMs = performance.now()) {
      let isOver = false;
      const ended = Promise.race([told, server.mustRejoin]).finally(() => (isOver = true));
      if (await isReadyBefore(() => isOver, server))
        print(banner(server, config, performance.now() - fromMs).join('\n'));
      const joining = await ended;
      await server.stop();
      if (!joining) return EXIT.done;
      // Clients know the port, which may have been any that was free.
      const again = await Promise.race([startedAgain({ ...config, port: server.port }, log, joining), told]);
      // It serves nobody yet and may wait for other nodes, and what it has on disk is whole at any moment.
      if (!again) return EXIT.done;
      server = again;
    }
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    print(`sheaf: ${error.message}`);
    return EXIT.failed;
  }
}

/**
 * Starts a server whose node begins anew. While no other node gives it a copy, it looks again, by turns for a copy and with
 * its own data, which may have become enough.
 */
async function startedAgain(config: Config, log: Log, joining: JoinOptions): Promise<RunningServer> {
  for (let options = joining; ; options = options.copies ? {} : joining) {
    try {
      return await startServer(config, log, options);
    } catch (error) {
      if (!(error instanceof NoCopy)) throw error;
      log.warn({ reason: error.message }, 'the node begins anew once more');
    }
  }
}

function descriptorsOf({ partitions, frontThreads, threads: { search, embed, batch } }: Config): number {
  return serveDescriptors(partitions, frontThreads + search + embed.queries + embed.documents + batch + LOG_THREADS);
}

/** Resolves on a signal to stop. A second signal ends the process at once. */
function signalled(): Promise<undefined> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(undefined));
  });
}

/**
 * Resolves to true once everything is ready, to false if the server is over before. The timer does not keep the process
 * alive.
 */
async function isReadyBefore(isOver: () => boolean, { services }: RunningServer): Promise<boolean> {
  while (!isReady(services.health)) {
    if (isOver()) return false;
    await new Promise((resolve) => setTimeout(resolve, READY_RECHECK_MS).unref());
  }
  return true;
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
