// GET /health/metrics, GET /metrics, and the reset of what they count.
// Handlers on the front thread. The route table (routes.ts) names them.
import { SERVICE_VERSION } from '../../api/common.js';
import type { MetricsReset } from '../../api/health.js';
import { CONTENT_TYPE as PROMETHEUS_TYPE } from '../../observability/prometheus.js';
import { health, readiness } from '../../service/health/health.js';
import { createPrometheusReport, metricsJson, resetMetrics } from '../../service/health/metrics-report.js';
import type { Services } from '../../service/services.js';
import { type Operation, jsonAnswer, otherContent } from '../openapi/operation.js';
import { type Handler, type ListedRoute, admin, open, remove } from '../route.js';

const getMetricsJson =
  (context: Services['metrics']): Handler =>
  async () => ({ status: 200, json: await metricsJson(context) });

function getMetrics(context: Services['metrics']): Handler {
  const report = createPrometheusReport(context);
  return async () => ({
    status: 200,
    bytes: Buffer.from(await report()),
    contentType: PROMETHEUS_TYPE,
  });
}

const postReset =
  (context: Services['metrics']): Handler =>
  async () => {
    const json: MetricsReset = { reset_at: resetMetrics(context) / 1000 };
    return { status: 200, json };
  };

// Metrics: the admin key opens them, where there are keys.
// Called by routes.ts at start.

export function metricsRoutes(context: Services['metrics']): ListedRoute[] {
  return [
    { ...open('metricsJson', '/health/metrics', [200, 401, 403, 500], getMetricsJson(context)), access: 'metrics' },
    { ...open('metrics', '/metrics', [200, 401, 403, 500], getMetrics(context)), access: 'metrics' },
    admin(remove('resetMetrics', '/v1/admin/metrics', [200, 401, 403], postReset(context))),
  ];
}

// Entries of the metrics operations.
// Read by ../operations.ts. Constants.

const TEXT = `# HELP sheaf_http_requests_total Requests answered.
# TYPE sheaf_http_requests_total counter
sheaf_http_requests_total{method="POST",route="/v1/collections/{tenant}/{name}/search",status="200"} 1042
`;

export const METRICS_OPERATIONS = {
  metricsJson: {
    tag: 'Metrics',
    summary: 'Counters, latencies, version and hardware',
    description: 'Latencies cover the latest searches and ingests; they are absent while there was none.',
    answer: jsonAnswer('MetricsAnswer', {
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
    }),
  },
  metrics: {
    tag: 'Metrics',
    summary: 'The same in Prometheus exposition text',
    answer: otherContent('text/plain', TEXT),
  },
  resetMetrics: {
    tag: 'Metrics',
    summary: 'Set the request counters to zero',
    answer: jsonAnswer('MetricsReset', { reset_at: 1782043200.125 }),
  },
} satisfies Record<string, Operation>;

// GET /health, /health/live, /health/ready.
// Handlers on the front thread, open to everybody. The route table (routes.ts) names them.

const version = SERVICE_VERSION;

const getHealth =
  (context: Services['health']): Handler =>
  async () => ({ status: 200, json: { status: health(context), version } });

const getLive: Handler = async () => ({ status: 200, json: { status: 'live', version } });

const getReady =
  (context: Services['health']): Handler =>
  async () => ({ status: 200, json: { version, checks: readiness(context) } });

// The lines of the route table for health, which is open to everybody.
// Called by ../routes.ts.

export function healthRoutes(context: Services['health']): ListedRoute[] {
  return [
    open('health', '/health', [200], getHealth(context)),
    open('liveness', '/health/live', [200], getLive),
    open('readiness', '/health/ready', [200, 503], getReady(context)),
  ];
}

// Entries of the health operations.
// Read by ../operations.ts. Constants.

const versionDocs = SERVICE_VERSION;

export const HEALTH_OPERATIONS = {
  health: {
    tag: 'Health',
    summary: 'Whether the server is ready or degraded, and its version',
    answer: jsonAnswer('Health', { status: 'ready', version: versionDocs }),
  },
  liveness: {
    tag: 'Health',
    summary: 'That the process runs',
    answer: jsonAnswer('Liveness', { status: 'live', version: versionDocs }),
  },
  readiness: {
    tag: 'Health',
    summary: 'That storage, embeddings and shards are usable',
    description: 'Until they are: 503 `not_ready`, with the checks in `details.checks`.',
    answer: jsonAnswer('Readiness', {
      version: versionDocs,
      checks: { storage: 'ok', embeddings: 'ok', shards: 'ok' },
    }),
    codes: ['not_ready'],
  },
} satisfies Record<string, Operation>;
