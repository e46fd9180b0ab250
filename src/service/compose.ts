// Composes what the use cases work with: catalog, tenants, pools, query log, settings. No logic of its own.
// Called by server.ts at start; front thread.
import { join } from 'node:path';
import type { Collection } from '../api/collections.js';
import { logIdOf } from '../storage/catalog-commands.js';
import type { CollectionId } from '../api/ids.js';
import { QUERY_LOG_BYTES_MAX, QUERY_LOG_WAITING_BYTES_MAX } from '../api/limits.js';
import type { Log } from '../base/log.js';
import { SharedMeters } from '../base/meters.js';
import type { Config } from '../config/config.js';
import { createSharedShards } from '../engine/memory/shared-memory.js';
import type { SharedShards } from '../engine/write/commands.js';
import { Metrics } from '../observability/metrics.js';
import { ArchivePool } from '../pool/archive-pool.js';
import { BatchPool } from '../pool/batch-pool.js';
import { type EmbedObserver, EmbedPool } from '../pool/embed-pool.js';
import { LogPool } from '../pool/log-pool.js';
import { PoolMetrics } from '../pool/pool-metrics.js';
import { Quarantine } from '../pool/quarantine.js';
import { SearchPool } from '../pool/search-pool.js';
import { ShardPool } from '../pool/shard-pool.js';
import { Catalog } from './collections/catalog.js';
import { StagedCollections } from './collections/shadow-collections.js';
import type { Context } from './context.js';
import { Embedders } from './embedding/embedders.js';
import { QueryCache } from './embedding/query-cache.js';
import { Rerankers } from './embedding/rerankers.js';
import { EventHub } from './events/event-hub.js';
import { FileIds } from './ingest/file-ids.js';
import { afterOpening, openShard } from './open-shard.js';
import { QueryLog } from './query-log/query-log.js';
import { compare } from './recall/recall.js';
import { RecallSampler, UnderWay } from './recall/sampler.js';
import type { Services } from './services.js';
import { ReindexJobs } from './reindex/jobs.js';
import { FanOut } from './search/fan-out.js';
import { KeyRing, keptAdminKey } from './tenants/keys.js';
import { ChunkLedger, configuredLimits } from './tenants/limits.js';
import { TenantRegistry } from './tenants/registry.js';

// Composes what embeds: the instances of the configuration, the threads that run them, and who chooses among them.
// Called by compose-context.ts at start; front thread.

function createEmbedders(
  { embedder, rerankers, threads }: Config,
  log: Log,
  observe: EmbedObserver,
  metrics: PoolMetrics,
): Pick<Context, 'embed' | 'embedders' | 'rerankers' | 'queryCache'> {
  const { instances, default: defaultSelector, cacheBytesMax } = embedder;
  const embed = new EmbedPool({
    threads: threads.embed,
    embedders: instances.map(({ spec }) => spec),
    rerankers: rerankers.map(({ spec }) => spec),
    log,
    observe,
    metrics,
  });
  const embedders = new Embedders({ instances, defaultSelector, pool: embed, log });
  return { embed, embedders, rerankers: new Rerankers(rerankers, embed), queryCache: new QueryCache(cacheBytesMax) };
}

/** In mode none there is no admin key, and nobody asks for one. */
function createRegistry({ auth, tenantLimits }: Config, dataDir: string): TenantRegistry {
  const adminKey = auth.mode === 'none' ? '' : auth.adminKey || keptAdminKey(dataDir);
  return new TenantRegistry(new KeyRing(adminKey, auth.keys), configuredLimits(tenantLimits));
}

/** What the pools have in common that work on the shards. */
interface PoolCommons {
  shared: SharedShards;
  quarantine: Quarantine;
  log: Log;
  metrics: PoolMetrics;
}

/** `path`: the data directory, which has `shardCount` shards. */
export function createContext(config: Config, log: Log, path: string, shardCount: number): Context {
  const catalog = new Catalog(config.search.language);
  const staged = new StagedCollections(catalog);
  const metrics = new Metrics(config.metrics.tenantLabels);
  const poolMetrics = new PoolMetrics();
  const shared = createSharedShards(shardCount, path, config);
  const quarantine = createQuarantine(catalog, log);
  const context: Context = {
    catalog,
    staged,
    ...createRecords(config, path),
    quarantine,
    shards: createShards({ shared, quarantine, log, metrics: poolMetrics }, () => context),
    ...createSearches(config, { shared, quarantine, log, metrics: poolMetrics }, () => context),
    ...createEmbedders(config, log, (call) => metrics.embedders.called(call), poolMetrics),
    batch: createBatchPool(config, log, poolMetrics),
    archives: new ArchivePool(path, shared.latches, log),
    queryLog: createQueryLog(config, { log, path, metrics: poolMetrics, shared }, catalog, staged),
    ...createRecall(config, log, () => context),
    metrics,
    shardTotals: new Map(),
    poolMetrics,
    sharedMeters: SharedMeters.over(shared.meters),
    memories: shared.memories,
    log,
    nowMs: Date.now,
    ...settingsOf(config),
  };
  return context;
}

function createBatchPool({ threads, limits, tuning }: Config, log: Log, metrics: PoolMetrics): BatchPool {
  const { textBytesMax, parseMemoryBytesMax: memoryBytesMax } = tuning;
  return new BatchPool(threads.batch, { timeoutMs: limits.parseTimeoutMs, memoryBytesMax, textBytesMax }, log, metrics);
}

/** What the front thread alone keeps. */
function createRecords(
  config: Config,
  path: string,
): Pick<Context, 'reindexJobs' | 'events' | 'tenants' | 'chunkLedger' | 'fileIds'> {
  return {
    reindexJobs: new ReindexJobs(),
    events: new EventHub(Date.now()),
    tenants: createRegistry(config, path),
    chunkLedger: new ChunkLedger(),
    fileIds: new FileIds(),
  };
}

/** Call it when nothing is under way. */
export async function closeContext({
  shards,
  searches,
  embed,
  embedders,
  batch,
  archives,
  queryLog,
  recallSampler,
  reindexJobs,
}: Context): Promise<void> {
  await reindexJobs.close();
  recallSampler.close();
  embedders.close();
  await archives.close();
  // They read what the shards' owners close.
  await searches.close();
  await Promise.all([shards.close(), embed.close(), batch.close(), queryLog.close()]);
}

function settingsOf({
  chunking,
  limits,
  search,
  common,
}: Config): Pick<Context, 'chunking' | 'metadataBytesMax' | 'batchLimits' | 'search' | 'common'> {
  const { metadataBytesMax, batchItemsMax: itemsMax, batchBytesMax: lineBytesMax } = limits;
  return { chunking, metadataBytesMax, batchLimits: { itemsMax, lineBytesMax }, search, common };
}

function createQuarantine(catalog: Catalog, log: Log): Quarantine {
  const nameOf = (id: CollectionId): object | undefined => {
    const collection = catalog.findById(id);
    return collection && { tenant: collection.tenant, collection: collection.name };
  };
  return new Quarantine(nameOf, log);
}

/** The context it works in comes to be after it. */
function createShards(common: PoolCommons, context: () => Context): ShardPool {
  return new ShardPool({
    ...common,
    open: (shard) => openShard(context(), shard),
    opened: (shard) => afterOpening(context(), shard),
    tenantOf: (id) => (context().catalog.findById(id) ?? context().staged.find(id)?.collection)?.tenant,
  });
}

/** An owner looks after its memory when it is asked anything. */
function createSearches(
  { threads: { search: threads }, tuning: { hitCacheBytes } }: Config,
  common: PoolCommons,
  context: () => Context,
): Pick<Context, 'searches' | 'fanOut'> {
  const died = (): void => void Promise.allSettled(context().shards.askAll('counts', { collections: [] }));
  return { searches: new SearchPool({ ...common, threads, hitCacheBytes, died }), fanOut: new FanOut() };
}

/** The context it works in comes to be after it. */
function createRecall(
  { tuning: { recallSampleMs } }: Config,
  log: Log,
  context: () => Context,
): Pick<Context, 'recallSampler' | 'recallsUnderWay' | 'searchesUnderWay'> {
  const searchesUnderWay = new UnderWay();
  const recallSampler = new RecallSampler({
    everyMs: recallSampleMs,
    compare: (collection, search) => compare(context(), collection, { ...search, params: {} }),
    isBusy: () => searchesUnderWay.count > 0,
    sampled: ({ id, precision }, recalled) => context().metrics.recall.checked(id, precision, recalled),
    log,
  });
  return { searchesUnderWay, recallsUnderWay: new UnderWay(), recallSampler };
}

/** It is tidied from when the catalog tells which collections there are. */
function createQueryLog(
  { queryLog: { enabled, entriesMax, ageDaysMax } }: Config,
  { log, path, metrics, shared }: { log: Log; path: string; metrics: PoolMetrics; shared: SharedShards },
  catalog: Catalog,
  staged: StagedCollections,
): QueryLog {
  const pool = new LogPool({
    directory: join(path, 'query-log'),
    bounds: { entriesMax, bytesMax: QUERY_LOG_BYTES_MAX },
    meters: shared.meters,
    latches: shared.latches,
    log,
    metrics,
  });
  const queryLog = new QueryLog({
    pool,
    enabled,
    ageDaysMax,
    waitingBytesMax: QUERY_LOG_WAITING_BYTES_MAX,
    log,
    nowMs: Date.now,
  });
  const logged = (): Iterable<Collection> => [
    ...catalog.all(),
    ...Array.from(staged.all(), ({ collection }) => collection),
  ];
  void catalog.whenLoaded.then(() => queryLog.start(catalog.isWhole ? Array.from(logged(), logIdOf) : undefined));
  return queryLog;
}

export const servicesOf = (context: Context): Services => ({
  search: context,
  queries: context,
  recall: context,
  ingest: context,
  documents: context,
  collections: context,
  reindex: context,
  archive: context,
  tenants: context,
  events: context,
  health: context,
  metrics: context,
  embedders: context.embedders,
});
