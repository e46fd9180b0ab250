// What single tenants ask for, where the operator wants labels that name them: those that come first have one each, all
// others share one, so that no number of tenants makes the metrics grow beyond bounds. Part of the metrics
// (metrics.ts); front thread.
import type { Registry } from 'prom-client';
import { CounterFamily } from './metrics-families.js';

/** No tenant is called so: it is no slug. */
const OTHERS = '(others)';

export class TenantMetrics {
  private readonly named = new Set<string>();
  private readonly requests: CounterFamily | undefined;

  /** `namedMax`: 0 for no metric at all. */
  constructor(
    registry: Registry,
    private readonly namedMax: number,
  ) {
    if (namedMax === 0) return;
    this.requests = new CounterFamily(registry, {
      name: 'sheaf_tenant_requests_total',
      help: 'Requests by the tenant of their path and by status; tenants beyond `metrics.tenant_labels` count together.',
      labelNames: ['tenant', 'status'],
    });
  }

  /** `tenant`: '' where the request has none. */
  finished({ tenant, status }: { readonly tenant: string; readonly status: number }): void {
    if (!this.requests || tenant === '') return;
    if (this.named.size < this.namedMax) this.named.add(tenant);
    this.requests.inc(this.named.has(tenant) ? tenant : OTHERS, String(status));
  }

  reset(): void {
    this.requests?.reset();
  }
}
