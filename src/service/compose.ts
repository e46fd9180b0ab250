// Builds the service: long-lived objects (pools, catalog, logs, registries), and the contexts that the use cases of
// each feature receive. Runs on the main thread.
import type { Collection } from '../api/collections.js';
import type { CollectionId } from '../api/ids.js';
import type { PlacedMemory } from '../api/memory-placement.js';
import { QUERY_LOG_BYTES_MAX, QUERY_LOG_WAITING_BYTES_MAX } from '../api/limits.js';
import { PAGE_BYTES, spreadOverNodes } from '../base/arena-memory.js';
import type { Log } from '../base/log.js';
import { untilEnded } from '../base/stopping.js';
import { join } from 'node:path';
import { TEMPORARY } from '../storage/data-directory.js';
import { SharedMeters } from '../base/meters.js';
import { ReplicatedLog, type ReplicatedLogOptions } from '../cluster/command-log.js';
import { CopyGiver } from '../cluster/data-copy.js';
import type { ClusterNode } from '../cluster/node.js';
import { Recovery } from '../cluster/recovery.js';
import type { Config } from '../config/config.js';
import { readEmbedderFile } from '../embedding/builtin/table.js';
import { createSharedShards } from '../engine/memory/shared-memory.js';
import type { SharedShards } from '../engine/write/commands.js';
import { Metrics } from '../observability/metrics.js';
import { ArchivePool } from '../pool/archive-pool.js';
import { BatchPool } from '../pool/batch-pool.js';
import { EmbedPool } from '../pool/embed-pool.js';
import { LogPool } from '../pool/log-pool.js';
import { PoolMetrics } from '../pool/pool-metrics.js';
import { Quarantine } from '../pool/quarantine.js';
import { SearchPool } from '../pool/search-pool.js';
import { ShardPool } from '../pool/shard-pool.js';
import { logIdOf } from '../storage/catalog-commands.js';
import type { LogBounds } from '../storage/query-log-commands.js';
import type { Catalog } from './collections/catalog.js';
import type { CatalogContext, Lifecycle } from './collections/catalog-changes.js';
import { CatalogState } from './collections/catalog-state.js';
import type { CollectionsContext } from './collections/collections.js';
import type { ShadowCollections } from './collections/shadow-collections.js';
import { LeaderCalls } from './cluster/leader-calls.js';
import type { ArchiveContext } from './archive/archive.js';
import { ScheduledBackups } from './archive/scheduled-backups.js';
import { MetricsHistory } from './health/metrics-history.js';
import { MemoryPlacer } from './cluster/memory-placer.js';
import { applyRemoteChanges, noteRemoteWrites } from './cluster/remote-changes.js';
import { shareEvents } from './cluster/shared-events.js';
import { answerQueries, othersQueries } from './cluster/shared-queries.js';
import { NodeLinks } from '../cluster/node-links.js';
import { RoutedSearches } from './cluster/routed-searches.js';
import { answerSearches, workHere } from './cluster/search-answers.js';
import { Embedders } from './embedding/embedders.js';
import { QueryCache } from './embedding/query-cache.js';
import { Rerankers } from './embedding/rerankers.js';
import { KeyedWrites } from './documents/keyed-writes.js';
import { EventHub } from './events/event-hub.js';
import { Fronts } from './fronts.js';
import { FileIds } from './ingest/file-ids.js';
import { type StartupContext, afterOpening, openShard } from './open-shard.js';
import type { LoggedSearchContext } from './query-log/logged-search.js';
import { type AskOthers, QueryLog } from './query-log/query-log.js';
import { compare } from './recall/recall.js';
import { RecallSampler, type RecallSamplerOptions, UnderWay } from './recall/sampler.js';
import { type ReindexContext, ReindexJobs, endJobsOf } from './reindex/jobs.js';
import { jobWorks } from './reindex/reindex.js';
import { WrittenDocuments } from './reindex/written-documents.js';
import { textVectors } from './search/query.js';
import type { SearchContext } from './search/search.js';
import type { Services } from './services.js';
import { KeyRing, adminKeyOf } from './tenants/keys.js';
import { ChunkLedger, configuredLimits } from './tenants/limits.js';
import type { TenantRegistry } from './tenants/registry.js';

/** Objects that are built once and live as long as the server. Tests use them to reach internals. */
interface Parts {
  /** The state of which `catalog`, `shadows` and `tenants` are parts. */
  readonly state: CatalogState;
  readonly catalog: Catalog;
  readonly shadows: ShadowCollections;
  readonly jobs: ReindexJobs;
  readonly events: EventHub;
  readonly tenants: TenantRegistry;
  readonly quarantine: Quarantine;
  readonly shards: ShardPool;
  /** Absent on a single machine. */
  readonly commandLog: ReplicatedLog | undefined;
  readonly recovery: Recovery | undefined;
  /** Asks the other nodes. */
  readonly nodes: NodeLinks | undefined;
  readonly searches: SearchPool;
  /** Absent if this server holds everything in memory. */
  readonly sharing: Sharing | undefined;
  /** Searches of this server, or of the nodes that hold the collections. */
  readonly routed: Pick<SearchPool, 'request' | 'count'>;
  /** The worker threads that run embedders and rerankers. */
  readonly embed: EmbedPool;
  readonly embedders: Embedders;
  readonly rerankers: Rerankers;
  readonly queryCache: QueryCache;
  readonly batch: BatchPool;
  readonly archives: ArchivePool;
  readonly logs: LogPool;
  readonly queryLog: QueryLog;
  readonly recallSampler: RecallSampler;
  readonly searchesUnderWay: UnderWay;
  readonly metrics: Metrics;
  readonly poolMetrics: PoolMetrics;
  readonly fronts: Fronts;
  /** The memory that the threads share. */
  readonly shared: SharedShards;
  readonly embedderFile: Uint8Array | undefined;
}

/** How the nodes of a cluster share the memory. */
interface Sharing {
  readonly placer: MemoryPlacer;
  readonly routed: RoutedSearches;
}

export interface Service {
  readonly parts: Parts;
  readonly services: Services;
}

/** `path` is the data directory, which has `shardCount` shards. `node`: absent on a single machine. */
export function createService(
  config: Config,
  log: Log,
  path: string,
  shardCount: number,
  node?: ClusterNode | undefined,
): Service {
  const parts = createParts(config, log, path, shardCount, node, {
    openShard: (shard) => openShard(startup, shard),
    afterOpening: (shard) => afterOpening(startup, shard),
    changed: (commands, results) => applyRemoteChanges(startup.store, startup.reindex, commands, results),
    written: (commands) => noteRemoteWrites(startup.reindex, commands),
    compare: (collection, sampled) => compare(services.recall.search, collection, { ...sampled, params: {} }),
  });
  const services = createServices(parts, config, log, path, node);
  const { collections, reindex, archive } = services;
  const { store } = collections;
  const { documents } = services;
  const { commandLog } = parts;
  const startup: StartupContext = { store, collections, documents, reindex, archive, commandLog, orphans: new Set() };
  return { parts, services };
}

/** Closes all pools and jobs. Call it when no request is under way. */
export async function closeService({ parts, services }: Service): Promise<void> {
  const { shards, searches, embed, embedders, batch, archives, queryLog, recallSampler, jobs, commandLog, recovery } =
    parts;
  const { log } = services.archive.store;
  const closed = (what: string, closing: Promise<unknown>): Promise<void> => untilEnded(log, what, closing);
  services.metrics.history.close();
  await closed('backups', services.backups.close());
  parts.sharing?.placer.close();
  parts.sharing?.routed.close();
  recovery?.close();
  parts.nodes?.close();
  const jobsEnded = jobs.close();
  // What jobs wait for, the log may not take now. Another node goes on with them.
  commandLog?.close();
  await closed('jobs', jobsEnded);
  recallSampler.close();
  embedders.close();
  await closed('archives', archives.close());
  // Search workers read what the owners of the shards close, so they are closed first.
  await closed('searches', searches.close());
  await Promise.all([
    closed('shards', shards.close()),
    closed('embedding', embed.close()),
    closed('documents', batch.close()),
    closed('query log', queryLog.close()),
  ]);
}

/** Callbacks from long-lived objects to use cases, which are created after them. */
interface UseCases extends Pick<RecallSamplerOptions, 'compare'>, Pick<ReplicatedLogOptions, 'changed' | 'written'> {
  openShard(shard: number): Promise<void>;
  afterOpening(shard: number): Promise<void>;
}

function createParts(
  config: Config,
  log: Log,
  path: string,
  shardCount: number,
  node: ClusterNode | undefined,
  useCases: UseCases,
): Parts {
  const state = createCatalogState(config, path);
  const { catalog, shadows, tenants } = state;
  const metrics = new Metrics(config.metrics.tenantLabels);
  const poolMetrics = new PoolMetrics();
  const inCluster = node && { isOfNode: true, placement: node.placement };
  const shared = createSharedShards(shardCount, path, { ...config, ...inCluster });
  spreadOverNodes(shared.memories.flat(), shared.arenaPagesMax * PAGE_BYTES, log);
  const quarantine = createQuarantine(catalog, log);
  const pool = { shared, quarantine, log, metrics: poolMetrics };
  const logging: ReturnType<typeof createCommandLog> | undefined =
    node && createCommandLog(node, path, shardCount, log, useCases, () => ({ shards, placer: sharing?.placer }));
  const { commandLog, recovery } = logging ?? {};
  const shards: ShardPool = new ShardPool({
    ...pool,
    commandLog,
    open: useCases.openShard,
    opened: useCases.afterOpening,
    tenantOf: (id) => (catalog.findById(id) ?? shadows.find(id)?.collection)?.tenant,
    successorOf: (id) => shadows.successorOf(id),
  });
  const jobs = new ReindexJobs();
  const searches = new SearchPool({
    ...pool,
    threads: config.threads.search,
    hitCacheBytes: config.tuning.hitCacheBytes,
    exited: (threadId) => shards.releaseReader(threadId),
  });
  const nodes = node && commandLog && new NodeLinks({ node: node.id, addressOf: commandLog.nodes.addressOf, log });
  const sharing: Sharing | undefined =
    node && commandLog && createSharing(node, config, { commandLog, nodes, shards, searches, jobs, shared, log });
  const fronts = new Fronts(metrics);
  const searchesUnderWay = new UnderWay(() => fronts.searchesUnderWay);
  const logs = createLogPool(config, path, shared, log, poolMetrics);
  const askOthers =
    node && commandLog && nodes && othersQueries({ node: node.id, nodes: commandLog.nodes, ask: nodes.ask, log });
  const queryLog = createQueryLog(config, { logs, shared, log, fronts, askOthers }, catalog, shadows);
  if (node) answerQueries(node.links, queryLog);
  return {
    state,
    catalog,
    shadows,
    jobs,
    events: new EventHub(Date.now()),
    tenants,
    quarantine,
    shards,
    commandLog,
    recovery,
    nodes,
    searches,
    sharing,
    routed: sharing?.routed ?? searches,
    ...createEmbedders(config, log, metrics, poolMetrics),
    batch: createBatchPool(config, log, poolMetrics),
    archives: new ArchivePool(path, shared.readGates, log, config.scale.archiveProcesses),
    logs,
    queryLog,
    recallSampler: new RecallSampler({
      everyMs: config.tuning.recallSampleMs,
      compare: useCases.compare,
      isBusy: () => searchesUnderWay.count > 0,
      sampled: ({ id, precision }, recalled) => metrics.recall.checked(id, precision, recalled),
      log,
    }),
    searchesUnderWay,
    metrics,
    poolMetrics,
    fronts,
    shared,
  };
}

function createCommandLog(
  { id, stream, links, address, progress, placement, known }: ClusterNode,
  path: string,
  shards: number,
  log: Log,
  { changed, written }: Pick<ReplicatedLogOptions, 'changed' | 'written'>,
  later: () => { shards: ShardPool; placer: MemoryPlacer | undefined },
): { commandLog: ReplicatedLog; recovery: Recovery } {
  const giver = new CopyGiver({
    path,
    copyTo: async (directory) => {
      await commandLog.advanceIdle(1);
      await later().shards.copyTo(directory);
    },
    applied: () => commandLog.applied,
    agrees: () => commandLog.agrees(),
    log,
  });
  const commandLog: ReplicatedLog = new ReplicatedLog({
    stream,
    progress,
    node: id,
    shards,
    apply: (batch) => later().shards.apply(batch),
    changed,
    written,
    log,
    heldAfter: () => giver.heldAfter,
    address,
    known,
    memory: placement && ((): PlacedMemory => later().placer?.told ?? { loading: [], kept: [] }),
  });
  links.on('copy', (question) => giver.answer(question));
  return { commandLog, recovery: new Recovery({ stream, node: id, commandLog, log }) };
}

/** Undefined if every node holds everything. */
function createSharing(
  { id, process, links, progress, placement, keepMembers }: ClusterNode,
  { cluster: { leaveMs } }: Pick<Config, 'cluster'>,
  parts: Pick<Parts, 'shards' | 'searches' | 'jobs' | 'shared'> & {
    commandLog: ReplicatedLog;
    nodes: NodeLinks | undefined;
    log: Log;
  },
): Sharing | undefined {
  const { commandLog, nodes, shards, searches, jobs, shared, log } = parts;
  if (!placement || !nodes) return undefined;
  const building = (): CollectionId[] => jobs.building();
  const placer = new MemoryPlacer({ placement, leaveMs, nodes: commandLog.nodes, shards, keepMembers, building, log });
  const meter = SharedMeters.over(shared.meters).routed;
  answerSearches(process, { searches, shards, progress, links, meter, log });
  const { holders, standsIn } = placer;
  const routed = new RoutedSearches({
    searches,
    here: (work, tenant, signal) => workHere({ searches, shards }, work, tenant, signal),
    holders,
    standsIn,
    progress,
    ask: nodes.ask,
    node: id,
    meter,
  });
  return { placer, routed };
}

function createQuarantine(catalog: Catalog, log: Log): Quarantine {
  const nameOf = (id: CollectionId): object | undefined => {
    const collection = catalog.findById(id);
    return collection && { tenant: collection.tenant, collection: collection.name };
  };
  return new Quarantine(nameOf, log);
}

/** With auth mode `none` there is no admin key, and none is read or created. */
function createCatalogState({ auth, search, tenantLimits }: Config, path: string): CatalogState {
  const ring = new KeyRing(adminKeyOf(auth, path), auth.keys);
  return new CatalogState({ language: search.language, limits: configuredLimits(tenantLimits), ring });
}

function createEmbedders(
  { embedder, rerankers, threads }: Config,
  log: Log,
  metrics: Metrics,
  poolMetrics: PoolMetrics,
): Pick<Parts, 'embed' | 'embedders' | 'rerankers' | 'queryCache' | 'embedderFile'> {
  const { instances, default: defaultSelector, cacheBytesMax } = embedder;
  const embedderFile = readSharedFile(log);
  const embed = new EmbedPool({
    threads: threads.embed,
    embedders: instances.map(({ spec }) => spec),
    embedderFile,
    rerankers: rerankers.map(({ spec }) => spec),
    log,
    observe: (call) => metrics.embedders.called(call),
    metrics: poolMetrics,
  });
  const embedders = new Embedders({ instances, defaultSelector, pool: embed, log });
  return {
    embed,
    embedders,
    rerankers: new Rerankers(rerankers, embed),
    queryCache: new QueryCache(cacheBytesMax),
    embedderFile,
  };
}

/** A file that cannot be read is reported by the threads that need it. */
function readSharedFile(log: Log): Uint8Array | undefined {
  try {
    return readEmbedderFile();
  } catch (error) {
    log.warn({ reason: String(error) }, 'the file of the built-in embedder cannot be read');
    return undefined;
  }
}

function createBatchPool({ threads, limits, tuning }: Config, log: Log, metrics: PoolMetrics): BatchPool {
  const { textBytesMax, parseMemoryBytesMax: memoryBytesMax } = tuning;
  return new BatchPool(threads.batch, { timeoutMs: limits.parseTimeoutMs, memoryBytesMax, textBytesMax }, log, metrics);
}

const logBounds = ({ queryLog: { entriesMax } }: Config): LogBounds => ({ entriesMax, bytesMax: QUERY_LOG_BYTES_MAX });

function createLogPool(
  config: Config,
  directory: string,
  { meters, readGates }: SharedShards,
  log: Log,
  metrics: PoolMetrics,
): LogPool {
  const { writers } = config.queryLog;
  return new LogPool({ directory, writers, bounds: logBounds(config), meters, readGates, log, metrics });
}

/** Starts the query log when the catalog is loaded, because its cleanup needs the ids of the existing collections. */
function createQueryLog(
  config: Config,
  {
    logs,
    shared,
    log,
    fronts,
    askOthers,
  }: { logs: LogPool; shared: SharedShards; log: Log; fronts: Fronts; askOthers: AskOthers | undefined },
  catalog: Catalog,
  shadows: ShadowCollections,
): QueryLog {
  const queryLog = new QueryLog({
    pool: logs,
    enabled: config.queryLog.enabled,
    bounds: logBounds(config),
    ageDaysMax: config.queryLog.ageDaysMax,
    waitingBytesMax: QUERY_LOG_WAITING_BYTES_MAX,
    meter: SharedMeters.over(shared.meters).queryLog,
    log,
    nowMs: Date.now,
    flushFronts: () => fronts.flushLogs(),
    askOthers,
  });
  const logged = (): Iterable<Collection> => [
    ...catalog.all(),
    ...Array.from(shadows.all(), ({ collection }) => collection),
  ];
  void catalog.whenLoaded.then(() => queryLog.start(catalog.isWhole ? Array.from(logged(), logIdOf) : undefined));
  return queryLog;
}

function createServices(parts: Parts, config: Config, log: Log, path: string, node: ClusterNode | undefined): Services {
  const { chunking, limits, search: settings, common } = config;
  const { shardsCopied, batchesRestored } = config.scale;
  const { state, catalog, shadows, jobs, events, tenants, quarantine, shards, embedders, metrics } = parts;
  const { queryLog, queryCache, searchesUnderWay, shared } = parts;
  const { metadataBytesMax, batchItemsMax: itemsMax, batchBytesMax: lineBytesMax } = limits;
  const nowMs = Date.now;
  const lifecycle = createLifecycle(parts, (logId) => endJobsOf(reindex, logId));
  const toDrop = new Set<CollectionId>();
  const store: CatalogContext = { state, catalog, shadows, shards, events, lifecycle, log, nowMs, toDrop };
  const { modes, language } = settings;
  const { partitions, chunksPerPartition } = config.collections;
  const spread = { partitions: Math.min(partitions, shards.size), chunksPerPartition, shards: shards.size };
  const defaults = { chunking, modes, language, ...spread };
  const collections: CollectionsContext = { store, embedders, tenants, quarantine, metrics, defaults, common };
  const search: SearchContext = {
    catalog,
    shadows,
    textVector: textVectors(embedders, queryCache),
    searches: parts.routed,
    shards,
    rerankers: parts.rerankers,
    recallSampler: parts.recallSampler,
    settings,
    common,
    nowMs,
  };
  const loggedSearch: LoggedSearchContext = { search, catalog, queryLog, metrics, searchesUnderWay, nowMs };
  const written = new WrittenDocuments();
  const keyed = new KeyedWrites({ catalog, shards, nowMs, keptMs: limits.idempotencyMs });
  const growth = { chunksPerPartition, everyMs: config.tuning.growthCheckMs };
  const leader =
    node &&
    parts.commandLog &&
    parts.nodes &&
    new LeaderCalls({ commandLog: parts.commandLog, ask: parts.nodes.ask, links: node.links, log });
  const reindex: ReindexContext = {
    store,
    jobs,
    embedders,
    search,
    queryLog,
    shardsCopied,
    written,
    searchesUnderWay,
    growth,
    leader,
  };
  leader?.serve(jobWorks(reindex));
  const archive: ArchiveContext = {
    commandLog: parts.commandLog,
    archives: parts.archives,
    store,
    collections,
    tenants,
    queryLog,
    metadataBytesMax,
    stringOperators: settings.stringOperators,
    batchesRestored,
  };
  const isOwn = (): boolean => shards.readyCount === shards.size && (parts.commandLog?.isLeader ?? true);
  const backups = new ScheduledBackups({
    backups: config.backups,
    archive,
    temporary: join(path, TEMPORARY, 'backups'),
    isOwn,
    nowMs,
    log,
  });
  if (node && parts.commandLog)
    shareEvents({ events, commandLog: parts.commandLog, stream: node.stream, node: node.id });
  return {
    search: loggedSearch,
    counts: { catalog, searches: parts.routed, shards, settings },
    queries: { catalog, queryLog, search: loggedSearch },
    recall: { search, catalog, shards, queryLog, recallsUnderWay: new UnderWay(), searchesUnderWay },
    ingest: {
      collections,
      catalog,
      shadows,
      shards,
      batch: parts.batch,
      embedders,
      tenants,
      chunkLedger: new ChunkLedger(),
      written,
      fileIds: new FileIds(),
      events,
      keyed,
      metrics,
      log,
      nowMs,
      limits: { metadataBytesMax, itemsMax, lineBytesMax },
    },
    documents: {
      catalog,
      shadows,
      shards,
      quarantine,
      metrics,
      events,
      keyed,
      log,
      written,
      nowMs,
      expiryLookMs: config.tuning.expiryLookMs,
      answersLookMs: config.tuning.answersLookMs,
      stringOperators: settings.stringOperators,
      metadataBytesMax,
    },
    collections,
    cluster: { node, commandLog: parts.commandLog },
    reindex,
    archive,
    backups,
    tenants: { tenants, store },
    events: { catalog, events },
    health: { catalog, quarantine, embedders, shards, commandLog: parts.commandLog, stopping: { isSo: false } },
    metrics: {
      metrics,
      history: new MetricsHistory({ metrics, fronts: parts.fronts, nowMs }),
      catalog,
      shadows,
      shards,
      shardTotals: new Map(),
      quarantine,
      embed: parts.embed,
      embedders,
      queryCache,
      queryLog,
      jobs,
      searchesUnderWay,
      poolMetrics: parts.poolMetrics,
      fronts: parts.fronts,
      commandLog: parts.commandLog,
      node,
      sharing: parts.sharing,
      backups,
      sharedMeters: SharedMeters.over(shared.meters),
      memories: shared.memories,
      nowMs,
    },
    embedders,
  };
}

function createLifecycle({ queryLog, events, metrics, quarantine }: Parts, endJobs: Lifecycle['endJobs']): Lifecycle {
  return {
    collectionDeleted: (collection) => {
      const logId = logIdOf(collection);
      const { tenant, name } = collection;
      events.publish(logId, 'collection', { change: 'deleted', tenant, collection: name });
      events.end(logId);
      metrics.count('collectionsDeleted');
    },
    logAbandoned: (logId) => queryLog.forget(logId),
    idDropped: (id) => quarantine.forget(id),
    endJobs,
  };
}
