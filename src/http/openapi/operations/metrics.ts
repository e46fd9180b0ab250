// Entries of the metrics operations.
// Read by ../operations.ts. Constants.
import { SERVICE_VERSION } from '../../../contract/version.js';
import { jsonAnswer, otherContent, type Operation } from '../operation.js';

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
