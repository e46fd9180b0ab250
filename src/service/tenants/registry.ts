// The tenants and keys that were created at run time, in memory. The owner of shard 0 has the original; a change is
// committed there first and then applied here, by CatalogState alone. The registry adds the keys to the key ring and
// knows the limits of each tenant. One thread each.
import type { Tenant } from '../../api/ids.js';
import type { KeyRecord, StoredTenants, TenantRecord } from '../../api/tenants.js';
import type { TenantLimits } from '../../config/config.js';
import { actorOf } from './actor.js';
import type { KeyRing } from './keys.js';
import { limitsUnder } from './limits.js';

interface Entry {
  record: TenantRecord;
  limits: TenantLimits;
  /** Keys by id, in the order of their creation. */
  readonly keys: Map<string, KeyRecord>;
}

export class MutableTenants {
  private readonly entries = new Map<string, Entry>();
  private isLoaded = false;

  constructor(
    readonly ring: KeyRing,
    /** Limits of tenants without quotas. */
    private readonly configured: TenantLimits,
  ) {}

  /** Whether the tenants have been loaded from the store. */
  get loaded(): boolean {
    return this.isLoaded;
  }

  /**
   * Replaces the content by that of the store. Called whenever shard 0 opens, so again after each crash of its worker.
   */
  load({ tenants, keys }: StoredTenants): void {
    for (const name of [...this.entries.keys()]) this.remove(name as Tenant);
    for (const record of tenants) this.put(record);
    for (const key of keys) this.putKey(key);
    this.isLoaded = true;
  }

  find(tenant: Tenant): TenantRecord | undefined {
    return this.entries.get(tenant)?.record;
  }

  names(): Tenant[] {
    return [...this.entries.keys()] as Tenant[];
  }

  /** The keys in the order of their creation, including revoked ones. */
  keysOf(tenant: Tenant): KeyRecord[] {
    return [...(this.entries.get(tenant)?.keys.values() ?? [])];
  }

  limitsOf(tenant: string): TenantLimits {
    return this.entries.get(tenant)?.limits ?? this.configured;
  }

  put(record: TenantRecord): void {
    const keys = this.entries.get(record.tenant)?.keys ?? new Map<string, KeyRecord>();
    this.entries.set(record.tenant, { record, limits: limitsUnder(record, this.configured), keys });
  }

  /** Removes the tenant and invalidates its keys. */
  remove(tenant: Tenant): void {
    for (const { digest } of this.keysOf(tenant)) this.ring.remove(digest);
    this.entries.delete(tenant);
  }

  /** Adds a new key or updates a revoked one. Ignored if the tenant has been deleted. */
  putKey(key: KeyRecord): void {
    const entry = this.entries.get(key.tenant);
    if (!entry) return;
    entry.keys.set(key.key_id, key);
    const { digest, expires } = key;
    if (key.revoked_at !== null) return this.ring.remove(digest);
    const actor = actorOf({ ...key, name: key.label }, digest);
    this.ring.add(digest, actor, expires === null ? Infinity : Date.parse(expires));
  }

  removeKey({ tenant, key_id: keyId, digest }: KeyRecord): void {
    this.ring.remove(digest);
    this.entries.get(tenant)?.keys.delete(keyId);
  }
}

/** The tenants as all but CatalogState see them. */
export type TenantRegistry = Omit<MutableTenants, 'ring' | 'load' | 'put' | 'remove' | 'putKey' | 'removeKey'> & {
  readonly ring: Pick<KeyRing, 'find'>;
};
