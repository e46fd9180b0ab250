// Composes the server: data directory, pools, use cases, routes, listener; and takes it apart again. No logic of its own.
// Called by the serve command and by tests; front thread.
import { join } from 'node:path';
import type { Log } from './base/log.js';
import { closeContext, createContext } from './compose-context.js';
import type { Config } from './config-shape.js';
import type { RequestEvent } from './http/options.js';
import { createRoutes } from './http/routes.js';
import { createHttpServer } from './http/server.js';
import type { Context } from './service/context.js';
import { openDataDirectory } from './store/data-dir.js';
import { createDoor } from './tenancy.js';

export interface RunningServer {
  readonly port: number;
  readonly dataDir: string;
  readonly context: Context;
  /** Lets requests under way finish, closes the stores, releases the data directory. */
  stop(): Promise<void>;
}

/** Starts listening at once; shards open meanwhile, and /health/ready tells when. Throws DataDirectoryError, or the listen error. */
export async function startServer(config: Config, log: Log): Promise<RunningServer> {
  const directory = await openDataDirectory(config.dataDir, config.partitions);
  const context = createContext(config, log, directory.path, directory.shards);
  const { fileBytesMax: documentBytesMax, ...limits } = config.limits;
  const http = createHttpServer({
    routes: createRoutes(context),
    ...createDoor(config, context.tenants, log),
    limits: { ...limits, documentBytesMax, temporaryDirectory: join(directory.path, 'tmp') },
    tls: config.tls,
    log: createRecorder(context, log),
    onFault: (error, requestId) => log.error({ requestId, fault: error instanceof Error ? error.stack : String(error) }, 'a request failed'),
  });
  const close = (): Promise<void> => closeContext(context).finally(() => directory.release());
  const port = await http.listen(config.host, config.port).catch(async (error: unknown) => {
    await close();
    throw error;
  });
  const stop = async (): Promise<void> => {
    // Whoever follows events would stay until the time is over.
    context.events.close();
    await http.drain(config.limits.drainTimeoutMs);
    await close();
  };
  return { port, dataDir: directory.path, context, stop };
}

function createRecorder({ metrics }: Context, log: Log): (event: RequestEvent) => void {
  return (event) => {
    metrics.finished(event);
    log.debug({ ...event }, 'request');
  };
}
