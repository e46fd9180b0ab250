// Composes what the use cases work with: catalog, tenants, pools, query log, settings. No logic of its own.
// Called by server.ts at start; front thread.
import { join } from 'node:path';
import type { Log } from './base/log.js';
import { createEmbedders } from './compose-embedders.js';
import type { Config } from './config-shape.js';
import { QUERY_LOG_BYTES_MAX, QUERY_LOG_WAITING_BYTES_MAX } from './contract/limits.js';
import { BatchPool } from './pool/batch-pool.js';
import { LogPool } from './pool/log-pool.js';
import { ShardPool } from './pool/shard-pool.js';
import { Catalog } from './service/catalog.js';
import type { Context } from './service/context.js';
import { Metrics } from './service/metrics.js';
import { afterOpening, openShard } from './service/open-shard.js';
import { QueryLog } from './service/query-log.js';
import { createRegistry } from './tenancy.js';
import { ChunkLedger } from './tenants/chunk-ledger.js';

/** `path`: the data directory, which has `shardCount` shards. */
export function createContext(config: Config, log: Log, path: string, shardCount: number): Context {
  const catalog = new Catalog(config.search.language);
  const metrics = new Metrics();
  const context: Context = {
    catalog,
    tenants: createRegistry(config, path),
    chunkLedger: new ChunkLedger(),
    shards: new ShardPool({
      shards: shardCount,
      directory: path,
      log,
      open: (shard) => openShard(context, shard),
      opened: (shard) => afterOpening(context, shard),
      tenantOf: (collection) => catalog.findById(collection)?.tenant,
    }),
    ...createEmbedders(config, log, (call) => metrics.embedders.called(call)),
    batch: new BatchPool(config.threads.batch, config.parsing, log),
    queryLog: createQueryLog(config, log, path, catalog),
    metrics,
    log,
    nowMs: Date.now,
    ...settingsOf(config),
  };
  return context;
}

/** Call it when nothing is under way. */
export async function closeContext({ shards, embed, embedders, batch, queryLog }: Context): Promise<void> {
  embedders.close();
  await Promise.all([shards.close(), embed.close(), batch.close(), queryLog.close()]);
}

function settingsOf({ chunking, limits, search, common }: Config): Pick<Context, 'chunking' | 'metadataBytesMax' | 'batchLimits' | 'search' | 'common'> {
  const { metadataBytesMax, batchItemsMax: itemsMax, jsonBytesMax: lineBytesMax } = limits;
  return { chunking, metadataBytesMax, batchLimits: { itemsMax, lineBytesMax }, search, common };
}

/** It is tidied from when the catalog tells which collections there are. */
function createQueryLog({ queryLog: { enabled, entriesMax, ageDaysMax } }: Config, log: Log, path: string, catalog: Catalog): QueryLog {
  const pool = new LogPool(join(path, 'query-log'), { entriesMax, bytesMax: QUERY_LOG_BYTES_MAX }, log);
  const queryLog = new QueryLog({ pool, enabled, ageDaysMax, waitingBytesMax: QUERY_LOG_WAITING_BYTES_MAX, log, nowMs: Date.now });
  void catalog.whenLoaded.then(() => queryLog.start(catalog.refs().map(({ id }) => id)));
  return queryLog;
}
