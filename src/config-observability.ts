// The part of the configuration that says what is told of requests: lines of the log, labels of the metrics, spans and
// where they go. Called by config-shape.ts at start.

export interface TracingConfig {
  enabled: boolean;
  /** Full URL of the traces of a collector. */
  endpoint: string;
  serviceName: string;
  /** Of requests whose caller has not decided: 0 to 1. */
  sampleShare: number;
  /** Spans that wait to be sent; beyond that they are dropped. */
  queueMax: number;
  timeoutMs: number;
}

export interface ObservabilityConfig {
  /**
   * `requestShare`: of the requests that have a line each, 0 to 1. `slowMs`: what takes longer always has; 0 for never.
   */
  log: { level: string; requestShare: number; slowMs: number };
  /** Tenants that have labels of their own. */
  metrics: { tenantLabels: number };
  tracing: TracingConfig;
}

export function assembleObservability(
  text: (path: string) => string,
  number: (path: string) => number,
  flag: (path: string) => boolean,
): ObservabilityConfig {
  const tracing = {
    enabled: flag('tracing.enabled'),
    endpoint: text('tracing.endpoint'),
    serviceName: text('tracing.service_name'),
    sampleShare: number('tracing.sample_share'),
    queueMax: number('tracing.queue_max'),
    timeoutMs: number('tracing.timeout_seconds') * 1000,
  };
  return {
    log: { level: text('log.level'), requestShare: number('log.request_share'), slowMs: number('log.slow_ms') },
    metrics: { tenantLabels: number('metrics.tenant_labels') },
    tracing,
  };
}
