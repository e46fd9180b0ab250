// GET /health/metrics, GET /metrics, and the reset of what they count.
// Handlers on the front thread. The route table (routes.ts) names them.
import type { MetricsReset } from '../../contract/api/health.js';
import type { Context } from '../../service/context.js';
import { createPrometheusReport, metricsJson } from '../../service/metrics-report.js';
import type { Handler } from '../route.js';

export const getMetricsJson =
  (context: Context): Handler =>
  async () => ({ status: 200, json: await metricsJson(context) });

export function getMetrics(context: Context): Handler {
  const report = createPrometheusReport(context);
  return async () => ({
    status: 200,
    bytes: Buffer.from(await report()),
    contentType: context.metrics.registry.contentType,
  });
}

export const resetMetrics =
  ({ metrics, nowMs }: Context): Handler =>
  async () => {
    metrics.reset();
    const json: MetricsReset = { reset_at: nowMs() / 1000 };
    return { status: 200, json };
  };
