// Metrics: the admin key opens them, where there are keys.
// Called by routes.ts at start.
import type { Context } from '../../service/context.js';
import { getMetrics, getMetricsJson, resetMetrics } from '../endpoints/metrics.js';
import type { Route } from '../route.js';
import { admin, open, remove } from './kit.js';

export function metricsRoutes(context: Context): Route[] {
  return [
    { ...open('metricsJson', '/health/metrics', [200, 401, 403, 500], getMetricsJson(context)), access: 'metrics' },
    { ...open('metrics', '/metrics', [200, 401, 403, 500], getMetrics(context)), access: 'metrics' },
    admin(remove('resetMetrics', '/v1/admin/metrics', [200, 401, 403], resetMetrics(context))),
  ];
}
