// The tenants and keys that were made at run time, in the memory of the front thread; the owner of shard 0 has the
// original, where a change is committed before it is shown here. The registry puts the keys on the key ring, and knows
// what a tenant may use. Front thread.
import type { Tenant } from '../../api/ids.js';
import type { KeyRecord, StoredTenants, TenantRecord } from '../../api/tenants.js';
import type { TenantLimits } from '../../config/config.js';
import { actorOf } from './actor.js';
import type { KeyRing } from './keys.js';
import { limitsUnder } from './limits.js';

interface Entry {
  record: TenantRecord;
  limits: TenantLimits;
  /** By key id, which is in the order of making. */
  readonly keys: Map<string, KeyRecord>;
}

export class TenantRegistry {
  private readonly entries = new Map<string, Entry>();
  private isLoaded = false;

  constructor(
    readonly ring: KeyRing,
    /** What tenants without quotas of their own may use. */
    private readonly configured: TenantLimits,
  ) {}

  /** Whether the tenants have come from the store since the start. */
  get loaded(): boolean {
    return this.isLoaded;
  }

  /** Takes over what the store holds. Called when shard 0 opens, again after each death of its worker. */
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

  /** In the order of making, revoked ones included. */
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

  /** Its keys are no good from here on. */
  remove(tenant: Tenant): void {
    for (const { digest } of this.keysOf(tenant)) this.ring.remove(digest);
    this.entries.delete(tenant);
  }

  /** A new key, or one that has been revoked. A key goes with its tenant: where that is gone, so is this. */
  putKey(key: KeyRecord): void {
    const entry = this.entries.get(key.tenant);
    if (!entry) return;
    entry.keys.set(key.key_id, key);
    const { tenant, label: name, digest, expires, scopes, collections, filters } = key;
    if (key.revoked_at !== null) return this.ring.remove(digest);
    const actor = actorOf({ name, tenant, scopes, collections, filters });
    this.ring.add(digest, actor, expires === null ? Infinity : Date.parse(expires));
  }

  removeKey({ tenant, key_id: keyId, digest }: KeyRecord): void {
    this.ring.remove(digest);
    this.entries.get(tenant)?.keys.delete(keyId);
  }
}
