// Composes the server: data directory, pools, use cases, routes, listener; and takes it apart again. No logic of its
// own. Called by the serve command and by tests; front thread.
import { join } from 'node:path';
import type { Log } from './base/log.js';
import type { Tracer } from './base/trace.js';
import { closeContext, createContext } from './compose-context.js';
import type { Config } from './config-shape.js';
import { JSON_BODY_SHAPE, MESSAGE_SHAPE, SEARCH_BODY_SHAPE, VECTOR_JSON_BYTES_MAX } from './contract/limits.js';
import { createRoutes } from './http/routes.js';
import { createHttpServer, type HttpServer } from './http/server.js';
import { loadUws, type Uws } from './http/uws.js';
import type { Context } from './service/context.js';
import { createRecorder } from './request-log.js';
import { openDataDirectory } from './store/data-dir.js';
import { createDoor } from './tenancy.js';

export interface RunningServer {
  readonly port: number;
  readonly dataDir: string;
  readonly context: Context;
  /** Lets requests under way finish, closes the stores, releases the data directory. */
  stop(): Promise<void>;
}

/**
 * Starts listening at once; shards open meanwhile, and /health/ready tells when. Throws UwsError, DataDirectoryError, or
 * the listen error.
 */
export async function startServer(config: Config, log: Log): Promise<RunningServer> {
  const uws = await loadUws();
  const directory = await openDataDirectory(config.dataDir, config.partitions);
  const context = createContext(config, log, directory.path, directory.shards);
  const tracer = config.tracing.enabled ? (await import('./tracer.js')).createTracer(config.tracing, log) : undefined;
  const http = createDoorway(uws, config, context, tracer, log, directory.path);
  watchRequests(context, http);
  const close = (): Promise<void> => closeContext(context).finally(() => directory.release());
  const port = await http.listen(config.host, config.port).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const stop = async (): Promise<void> => {
    // Whoever follows events would stay until the time is over.
    context.events.close();
    await http.drain(config.limits.drainTimeoutMs);
    await tracer?.close();
    await close();
  };
  return { port, dataDir: directory.path, context, stop };
}

function createDoorway(
  uws: Uws,
  config: Config,
  context: Context,
  tracer: Tracer | undefined,
  log: Log,
  dataDir: string,
): HttpServer {
  const { fileBytesMax: documentBytesMax, batchBytesMax, ...limits } = config.limits;
  const bounded = (bytesMax: number): number => Math.min(bytesMax, batchBytesMax);
  return createHttpServer(uws, {
    routes: createRoutes(context, config.allowedSites),
    ...createDoor(config, context.tenants, log),
    limits: {
      ...limits,
      jsonBytesMax: bounded(JSON_BODY_SHAPE.bytesMax),
      searchBytesMax: bounded(SEARCH_BODY_SHAPE.bytesMax + VECTOR_JSON_BYTES_MAX),
      messageBytesMax: bounded(MESSAGE_SHAPE.bytesMax),
      batchBytesMax,
      documentBytesMax,
      temporaryDirectory: join(dataDir, 'sheaf-tmp'),
    },
    tls: config.tls,
    log: createRecorder(context, config.log, log),
    tracer,
    onFault: (error, requestId) =>
      log.error({ requestId, fault: error instanceof Error ? error.stack : String(error) }, 'a request failed'),
  });
}

function watchRequests({ metrics }: Context, http: HttpServer): void {
  metrics.watch(
    'sheaf_requests_under_way',
    'Requests whose reply is not out yet, or whose work goes on.',
    () => http.underWay,
  );
  metrics.watch('sheaf_request_bodies_bytes', 'Bytes of bodies in memory.', () => http.heldBytes);
}
