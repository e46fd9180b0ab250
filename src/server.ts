// Composes the server: data directory, pools, use cases, routes, listener; and takes it apart again. No logic of its own.
// Called by the serve command and by tests; front thread.
import type { Log } from './base/log.js';
import type { Config } from './config-shape.js';
import { createHttpServer } from './http/server.js';
import { createRoutes } from './http/routes.js';
import { BatchPool } from './pool/batch-pool.js';
import { EmbedPool } from './pool/embed-pool.js';
import { ShardPool } from './pool/shard-pool.js';
import { Catalog } from './service/catalog.js';
import type { Context } from './service/context.js';
import { dropAgain, openShard } from './service/open-shard.js';
import { openDataDirectory } from './store/data-dir.js';
import { allowEverybody, authenticateByKey, type Authenticate } from './tenants/authenticate.js';
import { keptAdminKey, KeyRing } from './tenants/keys.js';

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
    authenticate: createAuthenticate(config, directory.path),
    limits: { ...limits, documentBytesMax },
    log: (event) => log.debug({ ...event }, 'request'),
    onFault: (error, requestId) => log.error({ requestId, fault: error instanceof Error ? error.stack : String(error) }, 'a request failed'),
  });
  const closePools = async (): Promise<void> => {
    await Promise.all([context.shards.close(), context.embed.close(), context.batch.close()]);
    directory.release();
  };
  const port = await http.listen(config.host, config.port).catch(async (error: unknown) => {
    await closePools();
    throw error;
  });
  const stop = async (): Promise<void> => {
    await http.drain(config.limits.drainTimeoutMs);
    await closePools();
  };
  return { port, dataDir: directory.path, context, stop };
}

function createContext(config: Config, log: Log, path: string, shardCount: number): Context {
  const catalog = new Catalog();
  const shards: ShardPool = new ShardPool({
    shards: shardCount,
    directory: path,
    log,
    open: (shard) => openShard({ catalog, shards }, shard),
    opened: (shard) => dropAgain({ catalog, shards }, shard),
  });
  return {
    catalog,
    shards,
    embed: new EmbedPool(config.threads.embed, log),
    batch: new BatchPool(config.threads.batch, log),
    log,
    nowMs: Date.now,
    chunking: config.chunking,
    metadataBytesMax: config.limits.metadataBytesMax,
  };
}

function createAuthenticate({ auth }: Config, dataDir: string): Authenticate {
  if (auth.mode === 'none') return allowEverybody;
  return authenticateByKey(new KeyRing(auth.adminKey || keptAdminKey(dataDir), auth.keys), Date.now);
}
