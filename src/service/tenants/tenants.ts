// Use cases on tenants: list, make, look at, change, delete. A tenant is there when it was made, or has a collection.
// Called by the admin's tenant endpoints; front thread. A change is committed by shard 0's worker first and shown here
// after.
import { v7 as uuidv7 } from 'uuid';
import { AppError, invalidField } from '../../api/errors.js';
import { parseFilter } from '../../api/filter.js';
import { CONTROL_CHARACTERS, type Tenant, asCollectionName } from '../../api/ids.js';
import { DISPLAY_NAME_CHARACTERS_MAX, KEY_FILTERS_BYTES_MAX } from '../../api/limits.js';
import type {
  CreateKeyBody,
  EffectiveLimits,
  KeyRecord,
  QuotaBody,
  TenantChange,
  TenantProfile,
  TenantQuotas,
  TenantRecord,
} from '../../api/tenants.js';
import { digestOf } from '../../config/auth.js';
import { changeCatalog } from '../collections/catalog-changes.js';
import { forgetCollection } from '../collections/collections.js';
import { displayName } from '../collections/settings.js';
import type { Context } from '../context.js';
import { newKey } from './keys.js';
import { toldLimits } from './limits.js';

// A tenant as it is when nothing has been said about it: every quota inherited. Pure but for the clock of the context.
// Used by the use cases on tenants and on keys, on the front thread.

function newRecord({ nowMs }: Pick<Context, 'nowMs'>, tenant: Tenant): TenantRecord {
  const inherited = {
    max_collections: null,
    max_chunks_per_collection: null,
    requests_per_second: null,
    burst: null,
    max_in_flight: null,
  } satisfies TenantQuotas;
  return { tenant, display_name: null, created_at: new Date(nowMs()).toISOString(), ...inherited };
}

// Use cases on the keys of a tenant that are made at run time: make, list, revoke. Only digests are kept.
// Called by the admin's key endpoints; front thread. A change is committed by shard 0's worker first and shown here
// after.

const LABEL_DEFAULT = 'primary';

/** A key that has been made; the plaintext is in nobody else's hands. */
interface MadeKey {
  plaintext: string;
  key: KeyRecord;
}

/** Throws 404 `tenant_not_found`, 409 `key_limit_reached`, 400 `invalid_collection_name`, 422. */
export async function createKey(context: Context, tenant: Tenant, options: CreateKeyBody): Promise<MadeKey> {
  const made = keyRecord(context, tenant, options);
  const record = newRecord(context, tenant);
  const { tenants } = context;
  await changeCatalog(context, 'createKey', { tenant: record, key: made.key }, (gone) => {
    if (!tenants.find(tenant)) tenants.put(record);
    if (gone) tenants.removeKey(gone);
    tenants.putKey(made.key);
  });
  return made;
}

/** In the order of making, revoked ones included. Throws 404 `tenant_not_found`. */
export function listKeys({ catalog, tenants }: Context, tenant: Tenant): KeyRecord[] {
  if (!tenants.find(tenant) && catalog.ofTenant(tenant).length === 0) throw new AppError('tenant_not_found');
  return tenants.keysOf(tenant);
}

/** The key is no good from the answer on; revoking it again changes nothing. Throws 404 `key_not_found`. */
export function revokeKey(context: Context, tenant: Tenant, keyId: string): Promise<KeyRecord> {
  const revokedAt = new Date(context.nowMs()).toISOString();
  return changeCatalog(context, 'revokeKey', { tenant, keyId, revokedAt }, (revoked) => {
    context.tenants.putKey(revoked);
    return revoked;
  });
}

/** A new key; nothing is stored. */
function keyRecord({ nowMs }: Pick<Context, 'nowMs'>, tenant: Tenant, options: CreateKeyBody): MadeKey {
  const { label, expires, scopes, collections, filters } = options;
  const plaintext = newKey();
  const key: KeyRecord = {
    tenant,
    key_id: uuidv7(),
    label: checkedLabel(label ?? LABEL_DEFAULT),
    digest: digestOf(plaintext),
    created_at: new Date(nowMs()).toISOString(),
    expires: expires == null ? null : futureTime(expires, nowMs()),
    revoked_at: null,
    scopes: scopes ?? null,
    collections: collections?.map(asCollectionName) ?? null,
    filters: filters == null ? null : checkedFilters(filters),
  };
  return { plaintext, key };
}

function checkedLabel(raw: string): string {
  const label = raw.trim();
  if (label !== '' && [...label].length <= DISPLAY_NAME_CHARACTERS_MAX && !CONTROL_CHARACTERS.test(label)) return label;
  throw invalidField(
    ['body', 'label'],
    `Should have 1 to ${DISPLAY_NAME_CHARACTERS_MAX} characters and no control characters.`,
    'value_error',
  );
}

function futureTime(text: string, nowMs: number): string {
  const timeMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(timeMs))
    throw invalidField(['body', 'expires'], 'Should be an ISO 8601 time.', 'datetime_parsing', text.slice(0, 200));
  if (timeMs <= nowMs) throw invalidField(['body', 'expires'], 'Should be in the future.', 'datetime_future', text);
  return new Date(timeMs).toISOString();
}

/** Strings in them are literal, whatever `search.string_operators` says of those in a body. */
function checkedFilters(filters: Record<string, unknown>): Record<string, unknown> {
  parseFilter(filters, { stringOperators: false });
  if (Buffer.byteLength(JSON.stringify(filters)) <= KEY_FILTERS_BYTES_MAX) return filters;
  throw invalidField(['body', 'filters'], `Should be at most ${KEY_FILTERS_BYTES_MAX} bytes of JSON.`, 'too_long');
}

/** What can be given for a tenant; undefined stays as it is. */
interface TenantOptions extends QuotaBody {
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
