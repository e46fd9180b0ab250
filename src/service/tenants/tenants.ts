// Use cases of tenants and their keys: list, create, read, update and delete tenants, create and revoke keys. A tenant
// exists if it was created or has a collection. Only the digest of a key is stored. The owner of shard 0 commits a
// change before it is applied in memory. Runs on the main thread.
import { v7 as uuidv7 } from 'uuid';
import { AppError, invalidField } from '../../api/errors.js';
import { SCOPES } from '../../api/choices.js';
import { parseFilter } from '../../api/filter.js';
import { CONTROL_CHARACTERS, type Tenant, asCollectionName, asTenant } from '../../api/ids.js';
import { DISPLAY_NAME_CHARACTERS_MAX, KEY_FILTERS_BYTES_MAX } from '../../api/limits.js';
import type {
  CreateKeyBody,
  CreatedKey,
  CreatedTenant,
  DeletedTenant,
  EffectiveLimits,
  KeyList,
  KeyRecord,
  RevokedKey,
  TENANT_ROUTES,
  TenantChange,
  TenantKey,
  TenantProfile,
  TenantQuotas,
  TenantRecord,
  UpdateTenantBody,
  WhoAmI,
} from '../../api/tenants.js';
import { digestOf } from '../../config/auth.js';
import { type CatalogContext, changeCatalog, forgetCollection, nowIso } from '../collections/catalog-changes.js';
import { displayName } from '../collections/settings.js';
import type { UseCases } from '../use-case.js';
import type { Actor } from './actor.js';
import { newKey } from './keys.js';
import { limitsAnswer, told } from './limits.js';
import type { TenantRegistry } from './registry.js';

export interface TenantsContext {
  readonly tenants: TenantRegistry;
  readonly store: CatalogContext;
}

export const tenantUseCases = (context: TenantsContext): UseCases<typeof TENANT_ROUTES> => ({
  whoami: (_, { actor }) => whoAmI(context, actor),
  createTenant: ({ body: { tenant, ...options } }) => createTenant(context, asTenant(tenant), options),
  listTenants: () => {
    const tenants = tenantNames(context);
    return { tenants, count: tenants.length };
  },
  getTenant: ({ tenant }) => tenantProfile(context, tenant),
  updateTenant: ({ tenant, body }) => updateTenant(context, tenant, body),
  deleteTenant: ({ tenant, query: { force = false } }) => deleteTenant(context, tenant, force),
  listTenantKeys: ({ tenant }) => listKeys(context, tenant),
  createTenantKey: ({ tenant, body }) => createKey(context, tenant, body),
  revokeTenantKey: ({ tenant, key_id: keyId }) => revokeKey(context, tenant, keyId),
});

/** Optional properties of a tenant; undefined leaves one unchanged. */
type TenantOptions = UpdateTenantBody;

function whoAmI({ tenants }: TenantsContext, actor: Actor): WhoAmI {
  const [only, ...others] = actor.tenants ?? [];
  const tenant = others.length === 0 ? (only ?? null) : null;
  const { limits } = actor;
  return {
    name: actor.name,
    admin: actor.admin,
    tenant,
    tenants: actor.tenants ? [...actor.tenants] : null,
    scopes: [...(actor.scopes ?? SCOPES)],
    collections: actor.collections ? [...actor.collections] : null,
    filtered: actor.filters !== undefined,
    limits: tenant === null || actor.unlimited ? null : limitsAnswer(tenants.limitsOf(tenant)),
    key_limits: limits
      ? {
          requests_per_second: told(limits.requestsPerSecond),
          burst: told(limits.burst),
          max_in_flight: told(limits.inFlightMax),
        }
      : null,
  };
}

/** All tenants, sorted by slug. */
function tenantNames({ store: { catalog }, tenants }: TenantsContext): Tenant[] {
  return [...new Set([...catalog.tenantNames(), ...tenants.names()])].sort((a, b) => (a < b ? -1 : 1));
}

/**
 * Creates a tenant with a first key, whose plaintext is only returned here. Throws 409 `tenant_exists`, 400
 * `invalid_display_name`, 422.
 */
async function createTenant(context: TenantsContext, tenant: Tenant, options: TenantOptions): Promise<CreatedTenant> {
  const record = { ...newRecord(context, tenant), ...changeOf(options) };
  const { plaintext, key } = keyRecord(context, tenant, {});
  await changeCatalog(context.store, 'createTenant', { tenant: record, key }, () => undefined);
  return { ...tenantProfile(context, tenant), key_id: key.key_id, label: key.label, key: plaintext };
}

/** Throws 404 `tenant_not_found`. */
function tenantProfile(context: TenantsContext, tenant: Tenant): TenantProfile {
  const {
    store: { catalog },
    tenants,
  } = context;
  const collections = catalog.ofTenant(tenant).length;
  const record = tenants.find(tenant);
  if (!record && collections === 0) throw new AppError('tenant_not_found');
  const limits: EffectiveLimits = limitsAnswer(tenants.limitsOf(tenant));
  return { ...(record ?? { ...newRecord(context, tenant), created_at: null }), limits, collection_count: collections };
}

/** Throws 404 `tenant_not_found`, 400 `invalid_display_name`, 422. */
async function updateTenant(context: TenantsContext, tenant: Tenant, options: TenantOptions): Promise<TenantProfile> {
  const request = { tenant: newRecord(context, tenant), change: changeOf(options) };
  await changeCatalog(context.store, 'updateTenant', request, () => undefined);
  return tenantProfile(context, tenant);
}

/**
 * Deletes the tenant and its collections, and invalidates its keys. Throws 404 `tenant_not_found`, and 409
 * `tenant_not_empty` if it has collections and `force` is false.
 */
async function deleteTenant(context: TenantsContext, tenant: Tenant, force: boolean): Promise<DeletedTenant> {
  const forgetting = await changeCatalog(context.store, 'deleteTenant', { tenant, force }, (collections, applied) =>
    collections.map((collection) => forgetCollection(context.store, collection, applied)),
  );
  await Promise.all(forgetting);
  return { tenant, deleted: tenant, collections_deleted: forgetting.length };
}

/** The default record of a tenant, which inherits every quota. */
function newRecord({ store }: TenantsContext, tenant: Tenant): TenantRecord {
  const inherited = {
    max_collections: null,
    max_chunks_per_collection: null,
    requests_per_second: null,
    burst: null,
    max_in_flight: null,
  } satisfies TenantQuotas;
  return { tenant, display_name: null, created_at: nowIso(store), ...inherited };
}

/** Throws 422, also if a quota is given under both of its names with different values. */
function changeOf({ max_concurrent: alias, ...options }: TenantOptions): TenantChange {
  if (alias !== undefined && options.max_in_flight !== undefined && options.max_in_flight !== alias)
    throw invalidField(
      ['body', 'max_concurrent'],
      'The value differs from that of `max_in_flight`, of which this is an alias.',
      'value_error',
      alias,
    );
  const { display_name: label, requests_per_second: rate } = options;
  if (rate != null && rate < 0 && rate !== -1)
    throw invalidField(
      ['body', 'requests_per_second'],
      'Should be 0 or more, or -1 for no limit.',
      'out_of_range',
      rate,
    );
  const inFlight = options.max_in_flight === undefined ? alias : options.max_in_flight;
  const given = Object.entries({ ...options, max_in_flight: inFlight }).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), ...(label != null && { display_name: displayName(label) }) };
}

const LABEL_DEFAULT = 'primary';

/** A new key with its plaintext, which is not stored. */
interface MadeKey {
  plaintext: string;
  key: KeyRecord;
}

/** Throws 404 `tenant_not_found`, 409 `key_limit_reached`, 400 `invalid_collection_name`, 422. */
async function createKey(context: TenantsContext, tenant: Tenant, options: CreateKeyBody): Promise<CreatedKey> {
  const { key, plaintext } = keyRecord(context, tenant, options);
  const record = newRecord(context, tenant);
  await changeCatalog(context.store, 'createKey', { tenant: record, key }, () => undefined);
  return { tenant, ...publicKey(key), key: plaintext };
}

/** The keys in the order of their creation, including revoked ones. Throws 404 `tenant_not_found`. */
function listKeys({ store: { catalog }, tenants }: TenantsContext, tenant: Tenant): KeyList {
  if (!tenants.find(tenant) && catalog.ofTenant(tenant).length === 0) throw new AppError('tenant_not_found');
  const keys = tenants.keysOf(tenant).map(publicKey);
  return { tenant, keys, count: keys.length };
}

/**
 * Revokes a key; it is invalid when the promise resolves. Revoking it again changes nothing. Throws 404
 * `key_not_found`.
 */
async function revokeKey(context: TenantsContext, tenant: Tenant, keyId: string): Promise<RevokedKey> {
  const revokedAt = nowIso(context.store);
  const key = await changeCatalog(context.store, 'revokeKey', { tenant, keyId, revokedAt }, (revoked) => revoked);
  return { tenant, ...publicKey(key) };
}

/** The public form of a key: without its digest and without null fields. */
function publicKey({ tenant: _tenant, digest: _digest, key_id, label, created_at, ...optional }: KeyRecord): TenantKey {
  return {
    key_id,
    label,
    created_at,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
  };
}

/** A new key record; stores nothing. */
function keyRecord({ store }: TenantsContext, tenant: Tenant, options: CreateKeyBody): MadeKey {
  const { label, expires, scopes, collections, filters, requests_per_second: rate, burst } = options;
  if (burst != null && rate == null)
    throw invalidField(
      ['body', 'burst'],
      'Give `requests_per_second` too, which the burst belongs to.',
      'value_error',
      burst,
    );
  const plaintext = newKey();
  const key: KeyRecord = {
    tenant,
    key_id: uuidv7(),
    label: checkedLabel(label ?? LABEL_DEFAULT),
    digest: digestOf(plaintext),
    created_at: nowIso(store),
    expires: expires == null ? null : futureTime(expires, store.nowMs()),
    revoked_at: null,
    scopes: scopes ?? null,
    collections: collections?.map(asCollectionName) ?? null,
    filters: filters == null ? null : checkedFilters(filters),
    requests_per_second: rate ?? null,
    burst: burst ?? null,
    max_in_flight: options.max_in_flight ?? null,
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

/** Strings in the filters are literal, whatever `search.string_operators` is. */
function checkedFilters(filters: Record<string, unknown>): Record<string, unknown> {
  parseFilter(filters, { stringOperators: false });
  if (Buffer.byteLength(JSON.stringify(filters)) <= KEY_FILTERS_BYTES_MAX) return filters;
  throw invalidField(['body', 'filters'], `Should be at most ${KEY_FILTERS_BYTES_MAX} bytes of JSON.`, 'too_long');
}
