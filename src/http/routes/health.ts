// GET /metrics: metrics in the Prometheus text format. Runs on the main thread.
import type { METRICS_ROUTES } from '../../api/health.js';
import { CONTENT_TYPE } from '../../observability/prometheus.js';
import { createPrometheusReport } from '../../service/health/metrics-report.js';
import type { Services } from '../../service/services.js';
import type { OwnHandlers } from '../route.js';

export function metricsHandlers(context: Services['metrics']): OwnHandlers<typeof METRICS_ROUTES> {
  const report = createPrometheusReport(context);
  return {
    metrics: async () => ({
      status: 200,
      bytes: Buffer.from(await report()),
      contentType: CONTENT_TYPE,
    }),
  };
}
