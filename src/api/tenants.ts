// Bodies of the tenant, key and embedder endpoints. Types only.
// Read by the handlers, the OpenAPI document and the client.
import type { tags } from 'typia';
import type { Scope } from './choices.js';
import type { Tenant } from './ids.js';

// The records of tenants and keys that are made at run time, as the catalog stores them and the front thread keeps
// them. No state; shared by the store, shard 0's worker, the front thread and the command line.

/** What a tenant may use: 0 is none, -1 unlimited, null what the configuration says. */
export interface TenantQuotas {
  max_collections: number | null;
  max_chunks_per_collection: number | null;
  requests_per_second: number | null;
  /** Requests that may come at once; null, where the configuration has none either: twice the rate. */
  burst: number | null;
  max_in_flight: number | null;
}

export interface TenantRecord extends TenantQuotas {
  tenant: Tenant;
  display_name: string | null;
  /** ISO 8601. */
  created_at: string;
}

/** What can be changed of a tenant. */
export type TenantChange = Partial<Omit<TenantRecord, 'tenant' | 'created_at'>>;

/** A key without its plaintext, which nobody has but the one it was made for. */
export interface KeyRecord {
  tenant: Tenant;
  key_id: string;
  label: string;
  /** SHA-256 of the plaintext, in hexadecimal. */
  digest: string;
  /** ISO 8601, like the other times. */
  created_at: string;
  /** null: never. */
  expires: string | null;
  /** null: it is good. */
  revoked_at: string | null;
  /** null: all. */
  scopes: Scope[] | null;
  /** The collections the key sees; null: all. */
  collections: string[] | null;
  /** Metadata filters that are ANDed to every search with the key; null: none. */
  filters: Record<string, unknown> | null;
}

/** Everything of the kind that the catalog holds. */
export interface StoredTenants {
  tenants: TenantRecord[];
  keys: KeyRecord[];
}

export interface TenantList {
  tenants: string[];
  count: number;
}

/** A whole number: 0 is none, -1 unlimited; null takes what the configuration says. */
type CountQuota = (number & tags.Type<'int64'> & tags.Minimum<-1> & tags.Maximum<1_000_000_000_000>) | null;

/** Absent ones stay as they are; in a new tenant they are null. */
export interface QuotaBody {
  max_collections?: CountQuota;
  max_chunks_per_collection?: CountQuota;
  /** Fractions are fine; -1 is unlimited. */
  requests_per_second?: (number & tags.Minimum<-1> & tags.Maximum<1_000_000>) | null;
  /** Requests that may come at once; null: as configured, or twice a rate of the tenant's own. */
  burst?: CountQuota;
  /** Requests worked on at a time. */
  max_in_flight?: CountQuota;
  /** The same under the name that it has in PaveDB. */
  max_concurrent?: CountQuota;
}

/** PATCH /v1/admin/tenants/{tenant}. */
export interface UpdateTenantBody extends QuotaBody {
  /** 1 to 120 characters; null takes it away. */
  display_name?: string | null;
}

/** POST /v1/admin/tenants. */
export interface CreateTenantBody extends UpdateTenantBody {
  /** The slug. */
  tenant: string;
}

/** What a tenant may use, -1 for no limit. */
export interface EffectiveLimits {
  max_collections: number;
  max_chunks_per_collection: number;
  requests_per_second: number;
  burst: number;
  max_in_flight: number;
}

export interface TenantProfile {
  tenant: string;
  display_name: string | null;
  /** ISO 8601; null for a tenant that was never made and only has collections. */
  created_at: string | null;
  max_collections: number | null;
  max_chunks_per_collection: number | null;
  requests_per_second: number | null;
  burst: number | null;
  max_in_flight: number | null;
  /** What holds: the quotas, and the configuration where they are null. */
  limits: EffectiveLimits;
  collection_count: number;
}

/** Answer to POST /v1/admin/tenants: the tenant with its first key. */
export interface CreatedTenant extends TenantProfile {
  key_id: string;
  label: string;
  /** The plaintext; shown this once. */
  key: string;
}

export interface DeletedTenant {
  tenant: string;
  /** The slug. */
  deleted: string;
  /** Collections that went with it. */
  collections_deleted: number;
}

/** POST /v1/admin/tenants/{tenant}/keys; the body may be absent. */
export interface CreateKeyBody {
  /** For people and the search log; 1 to 120 characters, `primary` when absent. */
  label?: string | null;
  /** ISO 8601, in the future; absent: never. */
  expires?: string | null;
  /** Absent: all. */
  scopes?: (Scope[] & tags.MinItems<1>) | null;
  /** Collections the key sees; absent: all. */
  collections?: (string[] & tags.MinItems<1> & tags.MaxItems<1000>) | null;
  /** Metadata filters that are ANDed to every search; such a key may do nothing but search. */
  filters?: Record<string, unknown> | null;
}

/** A key without its plaintext. */
export interface TenantKey {
  key_id: string;
  label: string;
  created_at: string;
  expires?: string;
  /** When it stopped being good. */
  revoked_at?: string;
  scopes?: Scope[];
  collections?: string[];
  filters?: Record<string, unknown>;
}

export interface CreatedKey extends TenantKey {
  tenant: string;
  /** The plaintext; shown this once. */
  key: string;
}

export interface KeyList {
  tenant: string;
  /** In the order of making, revoked ones included. */
  keys: TenantKey[];
  count: number;
}

export interface RevokedKey extends TenantKey {
  tenant: string;
}

/** One embedder instance; credentials are never told. */
interface EmbedderInstance {
  key: string;
  vector_key: string;
  embedder_type: string;
  embed_model: string;
}

/** What a collection gets that names no embedder. */
interface EmbedderDefault {
  vector_key: string;
  instance_keys: string[];
  /** The configured default selector. */
  selector?: string;
}

/** GET /v1/admin/embedders. */
export interface EmbedderInventory {
  embedders: EmbedderInstance[];
  default: EmbedderDefault;
  count: number;
}

/** GET /v1/embedders/{tenant}. */
export interface TenantEmbedderInventory extends EmbedderInventory {
  tenant: string;
}
