// Use cases on tenants: list, make, look at, change, delete. A tenant is there when it was made, or has a collection.
// Called by the admin's tenant endpoints; front thread. A change is committed by shard 0's worker first and shown here
// after.
import type { EffectiveLimits, QuotaBody, TenantProfile } from '../contract/api/tenants.js';
import { AppError, invalidField } from '../contract/errors.js';
import type { Tenant } from '../contract/ids.js';
import type { TenantChange } from '../contract/tenants.js';
import { toldLimits } from '../tenants/limits.js';
import { displayName } from './collection-settings.js';
import { changeCatalog } from './change-catalog.js';
import type { Context } from './context.js';
import { forgetCollection } from './delete-collection.js';
import { newRecord } from './new-tenant.js';
import { keyRecord, type MadeKey } from './tenant-keys.js';

/** What can be given for a tenant; undefined stays as it is. */
export interface TenantOptions extends QuotaBody {
  display_name?: string | null;
}

/** By slug. */
export function tenantNames({ catalog, tenants }: Context): Tenant[] {
  return [...new Set([...catalog.tenantNames(), ...tenants.names()])].sort((a, b) => (a < b ? -1 : 1));
}

/**
 * Makes a tenant with a first key, whose plaintext nobody can learn again. Throws 409 `tenant_exists`, 400
 * `invalid_display_name`, 422.
 */
export async function createTenant(
  context: Context,
  tenant: Tenant,
  options: TenantOptions,
): Promise<MadeKey & { profile: TenantProfile }> {
  const record = { ...newRecord(context, tenant), ...changeOf(options) };
  const { plaintext, key } = keyRecord(context, tenant, {});
  await changeCatalog(context, 'createTenant', { tenant: record, key }, () => {
    context.tenants.put(record);
    context.tenants.putKey(key);
  });
  return { plaintext, key, profile: tenantProfile(context, tenant) };
}

/** Throws 404 `tenant_not_found`. */
export function tenantProfile(context: Context, tenant: Tenant): TenantProfile {
  const { catalog, tenants } = context;
  const collections = catalog.ofTenant(tenant).length;
  const record = tenants.find(tenant);
  if (!record && collections === 0) throw new AppError('tenant_not_found');
  const limits: EffectiveLimits = toldLimits(tenants.limitsOf(tenant));
  return { ...(record ?? { ...newRecord(context, tenant), created_at: null }), limits, collection_count: collections };
}

/** Throws 404 `tenant_not_found`, 400 `invalid_display_name`, 422. */
export async function updateTenant(context: Context, tenant: Tenant, options: TenantOptions): Promise<TenantProfile> {
  await changeCatalog(
    context,
    'updateTenant',
    { tenant: newRecord(context, tenant), change: changeOf(options) },
    (record) => context.tenants.put(record),
  );
  return tenantProfile(context, tenant);
}

/**
 * The number of collections that went with it. Its keys are no good any more. Throws 404 `tenant_not_found`, 409
 * `tenant_not_empty` where not `force`.
 */
export async function deleteTenant(context: Context, tenant: Tenant, force: boolean): Promise<number> {
  const forgetting = await changeCatalog(context, 'deleteTenant', { tenant, force }, (collections) => {
    context.tenants.remove(tenant);
    return collections.map((collection) => forgetCollection(context, collection));
  });
  await Promise.all(forgetting);
  return forgetting.length;
}

function changeOf(options: TenantOptions): TenantChange {
  const { display_name: label, requests_per_second: rate } = options;
  if (rate != null && rate < 0 && rate !== -1)
    throw invalidField(
      ['body', 'requests_per_second'],
      'Should be 0 or more, or -1 for no limit.',
      'out_of_range',
      rate,
    );
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), ...(label != null && { display_name: displayName(label) }) };
}
