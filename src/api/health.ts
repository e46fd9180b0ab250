// Routes of health checks, which are public, and of metrics, which require the admin key.
import typia from 'typia';
import { SERVICE_VERSION } from './common.js';
import { jsonRoute, otherContent, ownRoute, routes } from './route.js';

export interface Health {
  status: 'ready' | 'degraded';
  version: string;
}

export interface Liveness {
  status: 'live';
  version: string;
}

export type Check = 'ok' | 'unavailable';

export interface Readiness {
  version: string;
  /** `log`: on a node of a cluster, whether it has caught up with the command log. */
  checks: { storage: Check; embeddings: Check; shards: Check; log?: Check };
}

/** Counters and latencies. Latencies cover the latest searches and ingests, and are absent if there were none. */
export interface MetricsAnswer {
  requests_total: number;
  search_total: number;
  matches_total: number;
  documents_indexed_total: number;
  documents_deleted_total: number;
  chunks_indexed_total: number;
  collections_created_total: number;
  collections_deleted_total: number;
  errors_total: number;
  uptime_seconds: number;
  search_latency_p50_ms?: number;
  search_latency_p95_ms?: number;
  search_latency_p99_ms?: number;
  search_latency_count: number;
  ingest_latency_p50_ms?: number;
  ingest_latency_p95_ms?: number;
  ingest_latency_p99_ms?: number;
  ingest_latency_count: number;
  tenant_count: number;
  collection_count: number;
  doc_count: number;
  chunk_count: number;
  version: string;
  hw_cpu: string;
  hw_cores: number;
  hw_os: string;
  hw_ram_gb: number;
  /** With `history=true`: every five seconds of the latest five minutes, oldest first, and now. */
  history?: MetricsSample[];
}

/** Counters and latencies as they were at a moment. */
export interface MetricsSample {
  /** Unix time in seconds. */
  at: number;
  requests_total: number;
  search_total: number;
  chunks_indexed_total: number;
  search_latency_p50_ms?: number;
  search_latency_p95_ms?: number;
  search_latency_p99_ms?: number;
}

export interface MetricsQuery {
  history?: boolean;
}

/** Result of resetting the metrics. */
export interface MetricsReset {
  /** Unix time in seconds. */
  reset_at: number;
}

export const HEALTH_ROUTES = routes({
  health: jsonRoute({
    method: 'GET',
    path: '/health',
    access: 'public',
    tag: 'Health',
    summary: 'Get the status of the server (ready or degraded) and its version',
    answer: { schema: typia.json.schema<Health>(), example: { status: 'ready', version: SERVICE_VERSION } },
  }),
  liveness: jsonRoute({
    method: 'GET',
    path: '/health/live',
    access: 'public',
    tag: 'Health',
    summary: 'Check that the process runs',
    answer: { schema: typia.json.schema<Liveness>(), example: { status: 'live', version: SERVICE_VERSION } },
  }),
  readiness: jsonRoute({
    method: 'GET',
    path: '/health/ready',
    access: 'public',
    tag: 'Health',
    summary: 'Check that storage, embedders and shards are ready',
    description: 'Answers 503 `not_ready` until they are, with the checks in `details.checks`.',
    answer: {
      schema: typia.json.schema<Readiness>(),
      example: { version: SERVICE_VERSION, checks: { storage: 'ok', embeddings: 'ok', shards: 'ok' } },
    },
    codes: ['not_ready'],
  }),
});

const PROMETHEUS_EXAMPLE = `# HELP sheaf_http_requests_total Requests answered.
# TYPE sheaf_http_requests_total counter
sheaf_http_requests_total{method="POST",route="/v1/collections/{tenant}/{name}/search",status="200"} 1042
`;

export const METRICS_ROUTES = routes({
  metricsJson: jsonRoute({
    method: 'GET',
    path: '/health/metrics',
    access: 'metrics',
    tag: 'Metrics',
    summary: 'Get counters, latencies, version and hardware',
    description: 'Latencies cover the latest searches and ingests, and are absent if there were none.',
    query: [
      {
        name: 'history',
        description: '`true` adds how some of the figures were in the latest five minutes.',
        schema: { type: 'boolean', default: false },
      },
    ],
    checkQuery: typia.createValidate<MetricsQuery>(),
    answer: {
      schema: typia.json.schema<MetricsAnswer>(),
      example: {
        requests_total: 1310,
        search_total: 1042,
        matches_total: 5210,
        documents_indexed_total: 120,
        documents_deleted_total: 3,
        chunks_indexed_total: 480,
        collections_created_total: 2,
        collections_deleted_total: 0,
        errors_total: 4,
        uptime_seconds: 3600.5,
        search_latency_p50_ms: 2.1,
        search_latency_p95_ms: 6.4,
        search_latency_p99_ms: 11.9,
        search_latency_count: 1042,
        ingest_latency_p50_ms: 8.7,
        ingest_latency_p95_ms: 21.3,
        ingest_latency_p99_ms: 40.2,
        ingest_latency_count: 120,
        tenant_count: 1,
        collection_count: 2,
        doc_count: 117,
        chunk_count: 468,
        version: SERVICE_VERSION,
        hw_cpu: 'AMD EPYC',
        hw_cores: 2,
        hw_os: 'linux',
        hw_ram_gb: 24,
      },
    },
  }),
  metrics: ownRoute({
    method: 'GET',
    path: '/metrics',
    access: 'metrics',
    tag: 'Metrics',
    summary: 'Get all metrics in the Prometheus text format',
    answer: otherContent('text/plain', PROMETHEUS_EXAMPLE),
  }),
  resetMetrics: jsonRoute({
    method: 'DELETE',
    path: '/v1/admin/metrics',
    access: 'admin',
    ignoresQuery: true,
    tag: 'Metrics',
    summary: 'Reset the request counters',
    answer: { schema: typia.json.schema<MetricsReset>(), example: { reset_at: 1782043200.125 } },
  }),
});
