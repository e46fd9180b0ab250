// Tenants and access keys created at run time. They are stored in the catalog's environment, so that a change of a
// tenant together with its collections or keys is one transaction. Used by the owner of shard 0 only; other threads
// work on copies in memory.
import type { CatalogEnvironment } from './catalog-environment.js';
import { AppError } from '../api/errors.js';
import type { Tenant } from '../api/ids.js';
import { TENANT_KEYS_MAX } from '../api/limits.js';
import type { StoredCollection } from './catalog-commands.js';
import type { KeyRecord, StoredTenants, TenantChange, TenantRecord } from '../api/tenants.js';
import {
  type CatalogTables,
  besides,
  decodeCollection,
  decodeKey,
  decodeTenant,
  encodeCatalogRecord,
  removeJudgements,
  removeShadow,
} from './catalog-records.js';
import { accessKeyKey, tenantKey, tenantPrefix } from './keys.js';
import { wholeValues } from './table.js';

/** The records of tenants and access keys. */
export class TenantStore {
  constructor(private readonly env: CatalogEnvironment) {}

  /** All tenants and keys whose records are not damaged. A damaged key gives no access; the others still do. */
  all(): StoredTenants {
    return this.env.read(({ tenants, keys }) => ({
      tenants: Array.from(wholeValues(tenants), decodeTenant),
      keys: Array.from(wholeValues(keys), decodeKey),
    }));
  }

  /** Creates a tenant, or gives a record to one that so far only has collections. Throws AppError `tenant_exists`. */
  create(tenant: TenantRecord, key: KeyRecord): void {
    this.env.write((tables) => {
      if (tables.tenants.has(tenantKey(tenant.tenant))) throw new AppError('tenant_exists');
      putTenant(tables, tenant);
      putKey(tables, key);
    });
  }

  /**
   * Changes a tenant and returns its record; `tenant` is the record to start from if there is none yet. Throws AppError
   * `tenant_not_found`.
   */
  update(tenant: TenantRecord, change: TenantChange): TenantRecord {
    return this.env.write((tables) => {
      assertThere(tables, tenant.tenant);
      const present = tables.tenants.get(tenantKey(tenant.tenant));
      const changed = { ...(present ? decodeTenant(present) : tenant), ...change };
      putTenant(tables, changed);
      return changed;
    });
  }

  /**
   * Deletes a tenant and returns the collections that were deleted with it. Throws AppError `tenant_not_found`, and
   * `tenant_not_empty` unless `force`.
   */
  delete(tenant: Tenant, force: boolean): StoredCollection[] {
    return this.env.write((tables) => {
      assertThere(tables, tenant);
      const found = [...tables.collections.entries(tenantPrefix(tenant))];
      if (found.length > 0 && !force)
        throw new AppError('tenant_not_empty', undefined, { details: { collections: found.length } });
      for (const { key } of found) tables.collections.delete(key);
      for (const key of [...tables.aliases.keys(tenantPrefix(tenant))]) tables.aliases.delete(key);
      for (const key of [...tables.keys.keys(tenantPrefix(tenant))]) tables.keys.delete(key);
      tables.tenants.delete(tenantKey(tenant));
      const collections = found.map(({ value }) => decodeCollection(value));
      for (const collection of collections) removeJudgements(tables, collection);
      for (const { id } of besides(tables.staged, new Set(collections.map((collection) => collection.id))))
        removeShadow(tables.staged, id);
      return collections;
    });
  }

  /**
   * Adds an access key, and the record `tenant` if the tenant has none yet. Returns the revoked key that was deleted to
   * stay within the limit. Throws AppError `tenant_not_found` or `key_limit_reached`.
   */
  createKey(tenant: TenantRecord, key: KeyRecord): KeyRecord | null {
    return this.env.write((tables) => {
      assertThere(tables, key.tenant);
      if (!tables.tenants.has(tenantKey(key.tenant))) putTenant(tables, tenant);
      const gone = makeRoom(tables, key.tenant);
      putKey(tables, key);
      return gone;
    });
  }

  /** Revokes a key. Throws AppError `key_not_found`. */
  revokeKey(tenant: Tenant, keyId: string, revokedAt: string): KeyRecord {
    return this.env.write((tables) => {
      const bytes = keyId.length <= 64 ? tables.keys.get(accessKeyKey(tenant, keyId)) : undefined;
      if (!bytes) throw new AppError('key_not_found');
      const key = decodeKey(bytes);
      const revoked = { ...key, revoked_at: key.revoked_at ?? revokedAt };
      putKey(tables, revoked);
      return revoked;
    });
  }
}

const putTenant = ({ tenants }: CatalogTables, record: TenantRecord): void =>
  tenants.put(tenantKey(record.tenant), encodeCatalogRecord(record));
const putKey = ({ keys }: CatalogTables, record: KeyRecord): void =>
  keys.put(accessKeyKey(record.tenant, record.key_id), encodeCatalogRecord(record));

/** Throws AppError `tenant_not_found` unless the tenant has a record or a collection. */
function assertThere({ tenants, collections }: CatalogTables, tenant: Tenant): void {
  if (tenants.has(tenantKey(tenant))) return;
  const [collection] = collections.keys(tenantPrefix(tenant));
  if (!collection) throw new AppError('tenant_not_found');
}

/**
 * If the tenant has its maximum of keys, deletes the one that was revoked first. Throws AppError `key_limit_reached` if
 * none is revoked.
 */
function makeRoom({ keys }: CatalogTables, tenant: Tenant): KeyRecord | null {
  const present = Array.from(keys.entries(tenantPrefix(tenant)), ({ value }) => decodeKey(value));
  if (present.length < TENANT_KEYS_MAX) return null;
  const revoked = present
    .filter(({ revoked_at }) => revoked_at !== null)
    .sort((a, b) => ((a.revoked_at ?? '') < (b.revoked_at ?? '') ? -1 : 1));
  const [oldest] = revoked;
  if (!oldest) throw new AppError('key_limit_reached');
  keys.delete(accessKeyKey(tenant, oldest.key_id));
  return oldest;
}
