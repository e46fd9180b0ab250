// A tenant as it is when nothing has been said about it: every quota inherited. Pure but for the clock of the context.
// Used by the use cases on tenants and on keys, on the front thread.
import type { Tenant } from '../contract/ids.js';
import type { TenantQuotas, TenantRecord } from '../contract/tenants.js';
import type { Context } from './context.js';

export function newRecord({ nowMs }: Pick<Context, 'nowMs'>, tenant: Tenant): TenantRecord {
  const inherited = {
    max_collections: null,
    max_chunks_per_collection: null,
    requests_per_second: null,
    burst: null,
    max_in_flight: null,
  } satisfies TenantQuotas;
  return { tenant, display_name: null, created_at: new Date(nowMs()).toISOString(), ...inherited };
}
