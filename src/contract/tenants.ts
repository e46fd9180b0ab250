// The records of tenants and keys that are made at run time, as the catalog stores them and the front thread keeps
// them. No state; shared by the store, shard 0's worker, the front thread and the command line.
import type { Tenant } from './ids.js';

/**
 * What a key or token may be used for. `search`: search, and read documents; `ingest`: write and delete documents;
 * `manage`: make, change, archive and delete collections, and read and replay the searches of everybody.
 */
export const SCOPES = ['search', 'ingest', 'manage'] as const;

export type Scope = (typeof SCOPES)[number];

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
