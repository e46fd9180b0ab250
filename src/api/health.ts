// Bodies of the health and metrics endpoints. Types only.
// Read by the handlers, the OpenAPI document and the client.

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
  checks: { storage: Check; embeddings: Check; shards: Check };
}

/** GET /health/metrics. Latencies cover the latest searches and ingests; absent while there was none. */
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
}

/** DELETE /v1/admin/metrics. */
export interface MetricsReset {
  /** Unix seconds. */
  reset_at: number;
}
