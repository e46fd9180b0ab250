// The metrics as they are read: Prometheus text, and the JSON object with the names that clients of this interface
// know. Called by the metrics endpoints; front thread.
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, Gauge, Registry } from 'prom-client';
import type { MetricsAnswer } from '../contract/api/health.js';
import { SERVICE_VERSION } from '../contract/version.js';
import type { LatencyWindow } from '../base/latency-window.js';
import type { QueryCache } from '../embedding/query-cache.js';
import type { Context } from './context.js';
import { takeInventory, type Inventory } from './inventory.js';
import { lookUpEndpoints, lookUpInstances } from './metrics-embedders.js';
import { lookUpJobs } from './metrics-jobs.js';
import { lookedUp } from './metrics-looked-up.js';
import { lookUpProcess } from './metrics-process.js';
import { lookUpQueues } from './metrics-queues.js';
import { lookUpStores } from './metrics-stores.js';

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
  lookUpQueues(registry, context.poolMeters);
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
