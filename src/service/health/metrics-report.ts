// The metrics as they are read: Prometheus text, and the JSON object with the names that clients of this interface
// know. Called by the metrics endpoints; front thread.
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, Gauge, Registry } from 'prom-client';
import { SERVICE_VERSION } from '../../api/common.js';
import type { MetricsAnswer } from '../../api/health.js';
import type { LatencyWindow } from '../../base/histogram.js';
import {
  CATALOG,
  COMMIT_SECONDS,
  type Commits,
  QUERY_LOG,
  type SharedMeters,
  placeOfShard,
} from '../../base/meters.js';
import { lookUpProcess, lookUpQueues } from '../../observability/gauges.js';
import { lookedUp, lookedUpHistogram } from '../../observability/prometheus.js';
import type { EmbedPool } from '../../pool/embed-pool.js';
import { shardName } from '../../storage/data-directory.js';
import { MAP_BYTES } from '../../storage/lmdb.js';
import { type Inventory, type ShardTotals, takeInventory } from '../collections/usage.js';
import type { Context } from '../context.js';
import type { Embedders } from '../embedding/embedders.js';
import type { QueryCache } from '../embedding/query-cache.js';
import { LIVE, type ReindexJobs } from '../reindex/jobs.js';

/** Whether each instance answers, looked up when it is scraped. */
function lookUpInstances(registry: Registry, embedders: Pick<Embedders, 'states'>): void {
  const help =
    'Whether the instance answers: 0 while its breaker is open, and before it has answered for the first time.';
  new Gauge({
    name: 'sheaf_embedder_usable',
    help,
    labelNames: ['embedder'],
    registers: [registry],
    collect() {
      for (const { key, state } of embedders.states()) this.set({ embedder: key }, state === 'usable' ? 1 : 0);
    },
  });
}

/** What the endpoints of instances were called for, as the thread that calls them counts it. */
function lookUpEndpoints(registry: Registry, pool: Pick<EmbedPool, 'endpoints'>): void {
  const labelNames = ['embedder'] as const;
  const told = [
    [
      Counter,
      'sheaf_endpoint_calls_total',
      'Calls of the endpoint of an embedder or reranker, each try by itself.',
      'calls',
    ],
    [
      Counter,
      'sheaf_endpoint_tokens_total',
      'Tokens spent there, as it counts them, else as they are estimated.',
      'tokens',
    ],
    [
      Counter,
      'sheaf_endpoint_refused_total',
      'Calls that were given up, because its budgets left no room for them in time.',
      'refused',
    ],
    [Counter, 'sheaf_endpoint_rests_total', 'Times it asked to be left alone for a while.', 'rests'],
    [Gauge, 'sheaf_endpoint_waiting', 'Calls that wait for a place or for the budgets.', 'waiting'],
  ] as const;
  for (const [Kind, name, help, cell] of told) {
    new Kind({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const { key, ...counts } of pool.endpoints()) this.inc({ embedder: key }, counts[cell]);
      },
    });
  }
}

/** The reindex jobs by their state, and how those ended that have. */
function lookUpJobs(registry: Registry, jobs: ReindexJobs): void {
  const common = { labelNames: ['status'] as const, registers: [registry] };
  new Gauge({
    ...common,
    name: 'sheaf_jobs',
    help: 'Reindex jobs that have not ended.',
    collect() {
      this.reset();
      for (const status of LIVE) this.set({ status }, 0);
      for (const { status } of jobs.live()) this.inc({ status });
    },
  });
  new Counter({
    ...common,
    name: 'sheaf_jobs_ended_total',
    help: 'Reindex jobs that have ended since the server started.',
    collect() {
      this.reset();
      for (const [status, count] of jobs.ended) this.inc({ status }, count);
    },
  });
}

// The stores on disk and the memory of the shards: commits with their sync, how much of each LMDB map is used, what
// each shard holds, and what the caches of the search workers had. Workers count in shared memory
// (contract/shared-meters.ts); what the shards hold they are asked for with the inventory. Part of the metrics
// (metrics-report.ts); front thread.

function lookUpStores(
  registry: Registry,
  { sharedMeters, shards, shardTotals, queryCache, queryLog, memories }: Context,
): void {
  const read = (): [string, Commits][] => storesOf(sharedMeters, shards.size);
  const common = { labelNames: ['store'] as const, registers: [registry] };
  lookedUpHistogram(
    registry,
    {
      name: 'sheaf_store_commit_seconds',
      help: 'Time of commits, with the sync to the disk that ends each.',
      labelNames: common.labelNames,
    },
    () =>
      read().map(([store, { counts, seconds }]) => ({
        labels: { store },
        bounds: COMMIT_SECONDS,
        counts,
        sum: seconds,
      })),
  );
  new Counter({
    ...common,
    name: 'sheaf_store_commit_failures_total',
    help: 'Commits that failed: nothing of them was acknowledged.',
    collect() {
      this.reset();
      for (const [store, { failures }] of read()) this.inc({ store }, failures);
    },
  });
  new Gauge({
    ...common,
    name: 'sheaf_store_used_bytes',
    help: 'Pages of the map of a store that have been used; freed ones are used again.',
    collect() {
      for (const [store, { usedBytes }] of read()) this.set({ store }, usedBytes);
    },
  });
  lookedUp(registry, Gauge, 'sheaf_store_map_bytes', 'Where the map of each store ends.', () => MAP_BYTES);
  lookUpShards(registry, shardTotals);
  lookUpMemory(registry, {
    shard_arenas: () => bytesOf(memories),
    query_cache: () => queryCache.bytes,
    query_log_waiting: () => queryLog.waitingBytes,
  });
  lookedUp(
    registry,
    Counter,
    'sheaf_hit_cache_hits_total',
    'Hits whose chunks the search workers had in memory.',
    () => sharedMeters.hitCache.hits,
  );
  lookedUp(
    registry,
    Counter,
    'sheaf_hit_cache_misses_total',
    'Hits whose records were read.',
    () => sharedMeters.hitCache.misses,
  );
}

function storesOf(meters: SharedMeters, shards: number): [string, Commits][] {
  const ofShards = Array.from({ length: shards }, (_, shard): [string, Commits] => [
    shardName(shard),
    meters.store(placeOfShard(shard)).read(),
  ]);
  return [['catalog', meters.store(CATALOG).read()], ['query-log', meters.store(QUERY_LOG).read()], ...ofShards];
}

/** As of when the shards were last asked. */
function lookUpShards(registry: Registry, totals: ShardTotals): void {
  const told = [
    ['sheaf_shard_documents', 'Documents of the shard.', 'documents'],
    ['sheaf_shard_chunks', 'Chunks of the shard.', 'chunks'],
    ['sheaf_shard_memory_used_bytes', 'Memory of the shard that vectors, graphs and postings take.', 'memoryBytes'],
  ] as const;
  for (const [name, help, field] of told) {
    new Gauge({
      name,
      help,
      labelNames: ['shard'],
      registers: [registry],
      collect() {
        for (const [shard, had] of totals) this.set({ shard: String(shard) }, had[field]);
      },
    });
  }
}

function lookUpMemory(registry: Registry, components: Readonly<Record<string, () => number>>): void {
  const help =
    'Memory by what it is for: arenas of the shards as far as they have grown, vectors of query texts, logged searches on their way to the disk. The heap is nodejs_heap_size_used_bytes.';
  new Gauge({
    name: 'sheaf_memory_bytes',
    help,
    labelNames: ['component'],
    registers: [registry],
    collect() {
      for (const component in components) this.set({ component }, components[component]?.() ?? 0);
    },
  });
}

const bytesOf = (memories: readonly (readonly WebAssembly.Memory[])[]): number =>
  memories.flat().reduce((sum, { buffer }) => sum + buffer.byteLength, 0);

/** How long a scrape may hold the thread at a time, but for what one family takes. */
const TURN_MS_MAX = 0.5;

/**
 * What is counted, and what is looked up when it is scraped: gauges, the query log's counters, and the process itself.
 */
export function createPrometheusReport(context: Context): () => Promise<string> {
  const { embed, embedders, metrics, queryCache, reindexJobs } = context;
  const registry = new Registry();
  let inventory: Inventory = { tenants: 0, collections: 0, documents: 0, chunks: 0 };
  lookUpInventory(registry, () => inventory);
  lookUpState(registry, context);
  lookUpCache(registry, queryCache);
  lookUpInstances(registry, embedders);
  lookUpEndpoints(registry, embed);
  lookUpJobs(registry, reindexJobs);
  lookUpQueues(registry, context.poolMetrics);
  lookUpStores(registry, context);
  const build = new Gauge({
    name: 'sheaf_build_info',
    help: 'Version of the server and of Node; always 1.',
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  build.set({ version: SERVICE_VERSION, node: process.version }, 1);
  lookUpProcess(registry);
  return async () => {
    inventory = await takeInventory(context);
    return textOf([metrics.registry, registry]);
  };
}

/** One family after the other: what waits for the thread has its turn in between. */
async function textOf(registries: readonly Registry[]): Promise<string> {
  const families: string[] = [];
  let sinceMs = performance.now();
  for (const registry of registries) {
    for (const { name } of registry.getMetricsAsArray()) {
      families.push(await registry.getSingleMetricAsString(name));
      if (performance.now() - sinceMs < TURN_MS_MAX) continue;
      await nextTurn();
      sinceMs = performance.now();
    }
  }
  return `${families.join('\n\n')}\n`;
}

function lookUpInventory(registry: Registry, inventory: () => Inventory): void {
  lookedUp(registry, Gauge, 'sheaf_tenants', 'Tenants that have collections.', () => inventory().tenants);
  lookedUp(registry, Gauge, 'sheaf_collections', 'Collections.', () => inventory().collections);
  lookedUp(registry, Gauge, 'sheaf_documents', 'Documents.', () => inventory().documents);
  lookedUp(registry, Gauge, 'sheaf_chunks', 'Chunks.', () => inventory().chunks);
}

function lookUpState(registry: Registry, { quarantine, queryLog, searchesUnderWay, shards }: Context): void {
  lookedUp(
    registry,
    Gauge,
    'sheaf_collections_damaged',
    'Collections of which damaged records were met, and which are not served.',
    () => quarantine.size,
  );
  lookedUp(registry, Gauge, 'sheaf_shards', 'Shards.', () => shards.size);
  lookedUp(registry, Gauge, 'sheaf_shards_open', 'Shards that answer.', () => shards.openCount);
  lookedUp(
    registry,
    Gauge,
    'sheaf_searches_under_way',
    'Searches that wait for their hits.',
    () => searchesUnderWay.count,
  );
  lookedUp(
    registry,
    Gauge,
    'sheaf_query_log_waiting_bytes',
    'Logged searches on their way to the disk.',
    () => queryLog.waitingBytes,
  );
  lookedUp(
    registry,
    Counter,
    'sheaf_query_log_appended_total',
    'Searches written to the query log.',
    () => queryLog.counts.appended,
  );
  lookedUp(
    registry,
    Counter,
    'sheaf_query_log_dropped_total',
    'Searches that went unlogged: the log was behind, or could not be written.',
    () => queryLog.counts.dropped,
  );
}

function lookUpCache(registry: Registry, cache: QueryCache): void {
  lookedUp(
    registry,
    Counter,
    'sheaf_query_cache_hits_total',
    'Texts searched for whose vector was there already, or under way.',
    () => cache.counts.hits,
  );
  lookedUp(
    registry,
    Counter,
    'sheaf_query_cache_misses_total',
    'Texts searched for that had to be embedded, of those that may be kept.',
    () => cache.counts.misses,
  );
  lookedUp(
    registry,
    Counter,
    'sheaf_query_cache_evictions_total',
    'Vectors that went for newer ones.',
    () => cache.counts.evictions,
  );
  lookedUp(registry, Gauge, 'sheaf_query_cache_entries', 'Vectors of texts that are kept.', () => cache.entries);
  lookedUp(registry, Gauge, 'sheaf_query_cache_bytes', 'Memory they take.', () => cache.bytes);
}

/** Latency percentiles are those of the latest 2,048 searches and ingests. */
export async function metricsJson(context: Context): Promise<MetricsAnswer> {
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
    uptime_seconds: rounded((performance.now() - startedAtMs) / 1000),
    ...latencies('search', searchLatency),
    ...latencies('ingest', ingestLatency),
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
  hw_ram_gb: rounded(totalmem() / 2 ** 30),
};

type Latencies<What extends string> = { [Name in `${What}_latency_${'p50' | 'p95' | 'p99'}_ms`]?: number } & {
  [Name in `${What}_latency_count`]: number;
};

function latencies<What extends 'search' | 'ingest'>(what: What, window: LatencyWindow): Latencies<What> {
  const [p50, p95, p99] = window.quantiles(0.5, 0.95, 0.99) ?? [];
  const named = {
    [`${what}_latency_p50_ms`]: told(p50),
    [`${what}_latency_p95_ms`]: told(p95),
    [`${what}_latency_p99_ms`]: told(p99),
  };
  // Undefined fields are left out of the JSON.
  return { ...named, [`${what}_latency_count`]: window.count } as Latencies<What>;
}

const told = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : rounded(ms));

function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
