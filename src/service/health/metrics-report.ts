// Metrics as clients read them: Prometheus text and a JSON object. Registers the gauges whose values are read from
// other parts of the server at each scrape. Runs on the main thread.
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SERVICE_VERSION } from '../../api/common.js';
import type { METRICS_ROUTES, MetricsAnswer } from '../../api/health.js';
import { roundTo } from '../../base/numbers.js';
import {
  CATALOG,
  COMMIT_SECONDS,
  type Commits,
  type EndpointCounts,
  type RoutedCounts,
  type SharedMeters,
  placeOfLog,
  placeOfShard,
} from '../../base/meters.js';
import type { ShardAnswer, ShardCounts } from '../../engine/write/commands.js';
import { processMetrics, registerLag, registerPools } from '../../observability/gauges.js';
import type { Metrics } from '../../observability/metrics.js';
import { Registry } from '../../observability/prometheus.js';
import type { EmbedPool } from '../../pool/embed-pool.js';
import type { PoolMetrics } from '../../pool/pool-metrics.js';
import type { Quarantine } from '../../pool/quarantine.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import { logName, shardName } from '../../storage/data-directory.js';
import { MAP_BYTES } from '../../storage/lmdb.js';
import type { ReplicatedLog } from '../../cluster/command-log.js';
import type { ClusterNode } from '../../cluster/node.js';
import type { Catalog } from '../collections/catalog.js';
import type { ShadowCollections } from '../collections/shadow-collections.js';
import type { Embedders } from '../embedding/embedders.js';
import type { QueryCache } from '../embedding/query-cache.js';
import type { QueryLog } from '../query-log/query-log.js';
import type { UnderWay } from '../recall/sampler.js';
import { LIVE, type ReindexJobs } from '../reindex/jobs.js';
import type { Fronts } from '../fronts.js';
import type { UseCases } from '../use-case.js';
import type { ScheduledBackups } from '../archive/scheduled-backups.js';
import type { MemoryPlacer } from '../cluster/memory-placer.js';
import { type MetricsHistory, percentiles } from './metrics-history.js';

export interface MetricsContext {
  readonly metrics: Metrics;
  readonly history: Pick<MetricsHistory, 'latest'>;
  readonly catalog: Pick<Catalog, 'size'>;
  readonly shadows: Pick<ShadowCollections, 'all'>;
  /** Absent on a single machine. */
  readonly commandLog:
    | Pick<ReplicatedLog, 'received' | 'applied' | 'isLeader' | 'fenced' | 'stalls' | 'fullness'>
    | undefined;
  readonly node: Pick<ClusterNode, 'progress'> | undefined;
  /** Absent if this server holds everything in memory. */
  readonly sharing: { readonly placer: Pick<MemoryPlacer, 'moving'> } | undefined;
  readonly backups: Pick<ScheduledBackups, 'latestAtMs' | 'latestBytes' | 'failed'>;
  readonly shards: Pick<ShardPool, 'requestAll' | 'size' | 'openCount'>;
  /** The latest answer of each shard. */
  readonly shardTotals: Map<number, ShardAnswer<'totals'>>;
  readonly quarantine: Pick<Quarantine, 'size'>;
  readonly embed: Pick<EmbedPool, 'endpoints'>;
  readonly embedders: Pick<Embedders, 'states'>;
  readonly queryCache: Pick<QueryCache, 'counts' | 'entries' | 'bytes'>;
  readonly queryLog: Pick<QueryLog, 'counts' | 'stores' | 'waitingBytes'>;
  readonly jobs: Pick<ReindexJobs, 'live' | 'ended'>;
  readonly searchesUnderWay: Pick<UnderWay, 'count'>;
  readonly poolMetrics: PoolMetrics;
  readonly fronts: Pick<Fronts, 'collect' | 'sum'>;
  /** Counters that workers keep in shared memory. */
  readonly sharedMeters: SharedMeters;
  /** The arenas of each shard. */
  readonly memories: readonly (readonly WebAssembly.Memory[])[];
  readonly nowMs: () => number;
}

/** A scrape yields the thread after this many milliseconds; a single metric may exceed it. */
const TURN_MS_MAX = 0.5;

/** Returns a function that renders the counted metrics, the metrics read at the scrape, and those of the process. */
export function createPrometheusReport(context: MetricsContext): () => Promise<string> {
  let inventory: Inventory = { tenants: 0, collections: 0, documents: 0, chunks: 0 };
  const registry = reportRegistry(context, () => inventory);
  const processTexts = processMetrics();
  async function* texts(): AsyncGenerator<string> {
    yield* context.metrics.registry.texts();
    yield* registry.texts();
    yield* processTexts();
  }
  return async () => {
    await context.fronts.collect();
    inventory = await takeInventory(context);
    return joined(texts());
  };
}

/** The metrics whose values are read at each scrape. scripts/docs-tables.mjs lists them. @public */
export function reportRegistry(context: MetricsContext, inventory: () => Inventory): Registry {
  const registry = new Registry();
  registerInventory(registry, inventory);
  registerState(registry, context);
  registerQueryCache(registry, context);
  registerEmbedders(registry, context);
  registerJobs(registry, context);
  registerPools(registry, context.poolMetrics);
  registerStores(registry, context);
  registerShards(registry, context);
  registerMemory(registry, context);
  registerPayloadCache(registry, context);
  registry.gauges('sheaf_build_info', 'Version of the server and of Node; always 1.', ['version', 'node'], () => [
    [[SERVICE_VERSION, process.version], 1],
  ]);
  registerLag(registry);
  return registry;
}

/** Joins the texts of the metrics, and lets other work of the thread run in between. */
async function joined(texts: AsyncIterable<string>): Promise<string> {
  const all: string[] = [];
  let sinceMs = performance.now();
  for await (const text of texts) {
    all.push(text);
    if (performance.now() - sinceMs < TURN_MS_MAX) continue;
    await nextTurn();
    sinceMs = performance.now();
  }
  return `${all.join('\n\n')}\n`;
}

/** Totals of the whole server. */
interface Inventory extends ShardCounts {
  tenants: number;
  collections: number;
}

/**
 * Sums the totals of the shards: one message per shard, whatever the number of collections. A shard that does not
 * answer counts with its latest totals.
 */
async function takeInventory({ catalog, shadows, shards, shardTotals }: MetricsContext): Promise<Inventory> {
  const answers = await Promise.allSettled(
    shards.requestAll('totals', { without: Array.from(shadows.all(), ({ id }) => id) }),
  );
  answers.forEach((answer, shard) => {
    if (answer.status === 'fulfilled') shardTotals.set(shard, answer.value);
  });
  const sum = { ...catalog.size(), documents: 0, chunks: 0 };
  for (const { documents, chunks } of shardTotals.values()) {
    sum.documents += documents;
    sum.chunks += chunks;
  }
  return sum;
}

function registerInventory(registry: Registry, inventory: () => Inventory): void {
  registry.gauge('sheaf_tenants', 'Tenants that have collections.', () => inventory().tenants);
  registry.gauge('sheaf_collections', 'Collections.', () => inventory().collections);
  registry.gauge('sheaf_documents', 'Documents.', () => inventory().documents);
  registry.gauge('sheaf_chunks', 'Chunks.', () => inventory().chunks);
}

/** On a single machine all of them are 0. */
function registerCluster(registry: Registry, { commandLog, node, sharing, sharedMeters, nowMs }: MetricsContext): void {
  registry.gauge(
    'sheaf_cluster_received_messages',
    'Sequence of the last message of the command log that this node has received.',
    () => commandLog?.received ?? 0,
  );
  registry.gauge(
    'sheaf_cluster_applied_messages',
    'Sequence of the message of the command log up to which this node has applied all.',
    () => commandLog?.applied ?? 0,
  );
  registry.gauge('sheaf_cluster_leader', 'Whether this node does the work that one does for all.', () =>
    Number(commandLog?.isLeader ?? false),
  );
  registry.gauge(
    'sheaf_cluster_fenced',
    'Whether this node takes no writes, because the command log contradicts its data.',
    () => Number(commandLog?.fenced !== undefined),
  );
  registry.gauge(
    'sheaf_cluster_stalled_targets',
    'Shards, and the catalog, that cannot apply their next message on this machine.',
    () => commandLog?.stalls().length ?? 0,
  );
  registry.gauge(
    'sheaf_cluster_log_used_ratio',
    'Share of the command log that is in use, 0 to 1; writes are refused from 15/16 on.',
    () => commandLog?.fullness ?? 0,
  );
  registry.gauge(
    'sheaf_cluster_age_seconds',
    'How old what this node shows may be, which grows while the command log does not answer.',
    // A node that has not heard of the log yet has been without it since it started.
    () => (node ? (node.progress.ageMs(nowMs()) ?? 1000 * process.uptime()) / 1000 : 0),
  );
  const { placer } = sharing ?? {};
  const routed = (what: keyof RoutedCounts): number => sharedMeters.routed.read()[what];
  registry.gauge(
    'sheaf_cluster_loading_collections',
    'Collections, or shards of them, that this node is loading because it is to hold them in memory.',
    () => placer?.moving.loading ?? 0,
  );
  registry.gauge(
    'sheaf_cluster_leaving_collections',
    'Collections, or shards of them, that leave the memory of this node once they are loaded elsewhere.',
    () => placer?.moving.leaving ?? 0,
  );
  registry.counter(
    'sheaf_cluster_searches_sent_total',
    'Searches that this node has sent to nodes that hold their collections.',
    () => routed('sent'),
  );
  registry.counter(
    'sheaf_cluster_searches_hedged_total',
    'Searches that were sent to a second node because the first one took long.',
    () => routed('hedged'),
  );
  registry.counter(
    'sheaf_cluster_searches_unanswered_total',
    'Searches that a node did not answer, so that the next one was asked.',
    () => routed('unanswered'),
  );
  registry.counter(
    'sheaf_cluster_searches_received_total',
    'Searches that nodes have sent to this one, and that it has run.',
    () => routed('received'),
  );
}

/** All of them are 0 where no backups are scheduled. */
function registerBackups(registry: Registry, { backups }: MetricsContext): void {
  registry.gauge('sheaf_backup_latest_timestamp_seconds', 'When the latest scheduled backup was made.', () =>
    Math.round(backups.latestAtMs / 1000),
  );
  registry.gauge('sheaf_backup_latest_bytes', 'Size of the latest scheduled backup.', () => backups.latestBytes);
  registry.counter('sheaf_backups_failed_total', 'Scheduled backups that have failed.', () => backups.failed);
}

function registerState(registry: Registry, context: MetricsContext): void {
  const { quarantine, queryLog, searchesUnderWay, shards } = context;
  registry.gauge(
    'sheaf_collections_damaged',
    'Collections with damaged records, which are not served.',
    () => quarantine.size,
  );
  registerCluster(registry, context);
  registerBackups(registry, context);
  registry.gauge('sheaf_shards', 'Shards.', () => shards.size);
  registry.gauge('sheaf_shards_open', 'Shards that are open.', () => shards.openCount);
  registry.gauge('sheaf_searches_under_way', 'Searches in progress.', () => searchesUnderWay.count);
  registry.gauge('sheaf_query_log_waiting_bytes', 'Bytes of logged searches that are not on disk yet.', () =>
    waitingBytes(context),
  );
  registry.counter(
    'sheaf_query_log_appended_total',
    'Searches written to the query log.',
    () => queryLog.counts.stored,
  );
  registry.counter(
    'sheaf_query_log_sampled_out_total',
    'Searches that were not logged because more came than the log took; an entry of the same collection stands for them.',
    () => queryLog.counts.sampledOut,
  );
  registry.counters(
    'sheaf_query_log_dropped_total',
    'Searches that were not logged, and no entry stands for them: too much was waiting (`full`), the store did not take them (`failed`), their front thread died with them (`died`).',
    ['reason'],
    () => {
      const { full, failed, died } = queryLog.counts;
      return Object.entries({ full, failed, died }).map(([reason, searches]) => [[reason], searches]);
    },
  );
}

const waitingBytes = ({ queryLog, fronts }: MetricsContext): number =>
  queryLog.waitingBytes + fronts.sum(({ logWaitingBytes }) => logWaitingBytes);

function registerQueryCache(registry: Registry, { queryCache }: MetricsContext): void {
  registry.counter(
    'sheaf_query_cache_hits_total',
    'Query texts whose vector was cached or already being computed.',
    () => queryCache.counts.hits,
  );
  registry.counter(
    'sheaf_query_cache_misses_total',
    'Cacheable query texts that had to be embedded.',
    () => queryCache.counts.misses,
  );
  registry.counter(
    'sheaf_query_cache_evictions_total',
    'Vectors evicted from the cache.',
    () => queryCache.counts.evictions,
  );
  registry.gauge('sheaf_query_cache_entries', 'Cached vectors of query texts.', () => queryCache.entries);
  registry.gauge('sheaf_query_cache_bytes', 'Memory of the cached vectors.', () => queryCache.bytes);
}

/** The health of each instance, and the calls of endpoints as counted on the thread that makes them. */
function registerEmbedders(registry: Registry, { embed, embedders }: MetricsContext): void {
  const labels = ['embedder'];
  registry.gauges(
    'sheaf_embedder_usable',
    'Whether the instance answers: 0 while its breaker is open, and before it has answered for the first time.',
    labels,
    () => Array.from(embedders.states(), ({ key, state }) => [[key], state === 'usable' ? 1 : 0]),
  );
  const counted = (of: keyof EndpointCounts) => (): [string[], number][] =>
    embed.endpoints().map(({ key, ...counts }) => [[key], counts[of]]);
  registry.counters(
    'sheaf_endpoint_calls_total',
    'Calls of the endpoint of an embedder or reranker; each retry counts.',
    labels,
    counted('calls'),
  );
  registry.counters(
    'sheaf_endpoint_tokens_total',
    'Tokens used, as the endpoint reports them, else estimated.',
    labels,
    counted('tokens'),
  );
  registry.counters(
    'sheaf_endpoint_refused_total',
    'Calls that were not made because the budgets of the endpoint did not allow them in time.',
    labels,
    counted('refused'),
  );
  registry.counters('sheaf_endpoint_rests_total', 'Times the endpoint asked for a pause.', labels, counted('rests'));
  registry.gauges(
    'sheaf_endpoint_waiting',
    'Calls that wait for a free slot or for the budgets.',
    labels,
    counted('waiting'),
  );
}

function registerJobs(registry: Registry, { jobs }: MetricsContext): void {
  registry.gauges('sheaf_jobs', 'Reindex jobs that have not ended.', ['status'], () => {
    const counts = new Map<string, number>(Array.from(LIVE, (status) => [status, 0]));
    for (const { status } of jobs.live()) counts.set(status, (counts.get(status) ?? 0) + 1);
    return Array.from(counts, ([status, count]) => [[status], count]);
  });
  registry.counters(
    'sheaf_jobs_ended_total',
    'Reindex jobs that have ended since the server started.',
    ['status'],
    () => Array.from(jobs.ended, ([status, count]) => [[status], count]),
  );
}

/** Commits with their sync, and the used part of each LMDB map, which workers count in shared memory. */
function registerStores(registry: Registry, { sharedMeters, shards, queryLog }: MetricsContext): void {
  const labels = ['store'];
  const read = (): [string, Commits][] => storesOf(sharedMeters, shards.size, queryLog.stores);
  registry.histograms('sheaf_store_commit_seconds', 'Time of commits, including the sync to disk.', labels, () =>
    read().map(([store, { counts, seconds }]) => ({ labels: [store], bounds: COMMIT_SECONDS, counts, sum: seconds })),
  );
  registry.counters(
    'sheaf_store_commit_failures_total',
    'Failed commits; none of their writes was acknowledged.',
    labels,
    () => read().map(([store, { failures }]) => [[store], failures]),
  );
  registry.gauges(
    'sheaf_store_used_bytes',
    'Used pages of the file of a store, in bytes; freed pages are reused.',
    labels,
    () => read().map(([store, { usedBytes }]) => [[store], usedBytes]),
  );
  registry.gauge('sheaf_store_map_bytes', 'Maximum size of the file of each store.', () => MAP_BYTES);
}

function storesOf(meters: SharedMeters, shards: number, logs: number): [string, Commits][] {
  const ofShards = Array.from({ length: shards }, (_, shard): [string, Commits] => [
    shardName(shard),
    meters.store(placeOfShard(shard)).read(),
  ]);
  const ofLogs = Array.from({ length: logs }, (_, store): [string, Commits] => [
    logName(store),
    meters.store(placeOfLog(store)).read(),
  ]);
  return [['catalog', meters.store(CATALOG).read()], ...ofLogs, ...ofShards];
}

/** Values as of the latest inventory. */
function registerShards(registry: Registry, { shardTotals }: MetricsContext): void {
  const gauge = (name: string, help: string, of: 'documents' | 'chunks' | 'memoryBytes'): void =>
    registry.gauges(name, help, ['shard'], () =>
      Array.from(shardTotals, ([shard, totals]) => [[String(shard)], totals[of]]),
    );
  gauge('sheaf_shard_documents', 'Documents of the shard.', 'documents');
  gauge('sheaf_shard_chunks', 'Chunks of the shard.', 'chunks');
  gauge('sheaf_shard_memory_used_bytes', 'Memory of the vectors, graphs and postings of the shard.', 'memoryBytes');
}

function registerMemory(registry: Registry, context: MetricsContext): void {
  const { memories, queryCache } = context;
  registry.gauges(
    'sheaf_memory_bytes',
    'Memory by component: allocated arenas of the shards, cached vectors of query texts, logged searches that are not on disk yet. The heap is nodejs_heap_size_used_bytes.',
    ['component'],
    () => [
      [['shard_arenas'], memories.flat().reduce((sum, { buffer }) => sum + buffer.byteLength, 0)],
      [['query_cache'], queryCache.bytes],
      [['query_log_waiting'], waitingBytes(context)],
    ],
  );
}

function registerPayloadCache(registry: Registry, { sharedMeters }: MetricsContext): void {
  registry.counter(
    'sheaf_hit_cache_hits_total',
    'Hits whose chunk payloads were cached by a search worker.',
    () => sharedMeters.hitCache.hits,
  );
  registry.counter(
    'sheaf_hit_cache_misses_total',
    'Hits whose records had to be read.',
    () => sharedMeters.hitCache.misses,
  );
}

export const metricsUseCases = (context: MetricsContext): UseCases<typeof METRICS_ROUTES> => ({
  metricsJson: async ({ query: { history: hasHistory = false } }) => ({
    ...(await metricsJson(context)),
    ...(hasHistory && { history: context.history.latest() }),
  }),
  /** Resets all counters of events to 0. */
  resetMetrics: async () => {
    // What the front threads have counted before this request goes as well.
    await context.fronts.collect();
    context.metrics.reset();
    return { reset_at: context.nowMs() / 1000 };
  },
});

/** Latency percentiles cover the latest 2,048 searches and ingests. */
async function metricsJson(context: MetricsContext): Promise<MetricsAnswer> {
  await context.fronts.collect();
  const { counts, searchLatency, ingestLatency, startedAtMs } = context.metrics;
  const { tenants, collections, documents, chunks } = await takeInventory(context);
  return {
    requests_total: counts.requests,
    search_total: counts.searches,
    matches_total: counts.matches,
    documents_indexed_total: counts.documentsIndexed,
    documents_deleted_total: counts.documentsDeleted,
    chunks_indexed_total: counts.chunksIndexed,
    collections_created_total: counts.collectionsCreated,
    collections_deleted_total: counts.collectionsDeleted,
    errors_total: counts.errors,
    uptime_seconds: roundTo((performance.now() - startedAtMs) / 1000, 3),
    ...percentiles('search', searchLatency),
    search_latency_count: searchLatency.count,
    ...percentiles('ingest', ingestLatency),
    ingest_latency_count: ingestLatency.count,
    tenant_count: tenants,
    collection_count: collections,
    doc_count: documents,
    chunk_count: chunks,
    version: SERVICE_VERSION,
    ...HARDWARE,
  };
}

const HARDWARE = {
  hw_cpu: cpus()[0]?.model.trim() ?? '',
  hw_cores: availableParallelism(),
  hw_os: `${type()} ${release()}`,
  hw_ram_gb: roundTo(totalmem() / 2 ** 30, 3),
};
