// Tenants and their keys at run time: records, bodies, and the routes, which are for the admin alone.
import typia, { type tags } from 'typia';
import type { Scope } from './choices.js';
import type { Tenant } from './ids.js';
import { DISPLAY_NAME, SLUG_TEXT } from './parameters.js';
import { jsonRoute, routes } from './route.js';

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

export interface DeleteTenantQuery {
  force?: boolean;
}

const PROFILE: TenantProfile = {
  tenant: 'acme',
  display_name: 'Acme Inc.',
  created_at: '2026-01-05T09:20:00.000Z',
  max_collections: 10,
  max_chunks_per_collection: null,
  requests_per_second: 50,
  burst: null,
  max_in_flight: null,
  limits: {
    max_collections: 10,
    max_chunks_per_collection: -1,
    requests_per_second: 50,
    burst: 100,
    max_in_flight: 42,
  },
  collection_count: 0,
};

const KEY: TenantKey = {
  key_id: '0198c2f1-7e44-7d10-a3f2-5b1c0e9d8a77',
  label: 'web',
  created_at: '2026-01-05T09:20:00.000Z',
  scopes: ['search'],
};

const TENANTS = '/v1/admin/tenants';
const TENANT = `${TENANTS}/{tenant}` as const;
const KEYS = `${TENANT}/keys` as const;

const common = { access: 'admin', keeps400: true, tag: 'Tenants and keys' } as const;

export const TENANT_ROUTES = routes({
  createTenant: jsonRoute({
    ...common,
    method: 'POST',
    path: TENANTS,
    summary: 'Make a tenant, with its first key',
    description:
      "The key is shown this once. A quota is 0 for none, -1 for unlimited, null for what the server's configuration says.",
    body: {
      check: typia.createValidateEquals<CreateTenantBody>(),
      schema: typia.json.schema<CreateTenantBody>(),
      required: true,
      refinements: { 'CreateTenantBody.tenant': SLUG_TEXT, 'CreateTenantBody.display_name': DISPLAY_NAME },
      examples: {
        tenant: { tenant: 'acme', display_name: 'Acme Inc.', max_collections: 10, requests_per_second: 50 },
      },
    },
    success: 201,
    answer: {
      schema: typia.json.schema<CreatedTenant>(),
      example: { ...PROFILE, key_id: KEY.key_id, label: 'primary', key: 'sk_3Qm0…' },
    },
    codes: ['invalid_tenant_name', 'invalid_display_name', 'tenant_exists', 'storage_full'],
  }),
  listTenants: jsonRoute({
    method: 'GET',
    path: TENANTS,
    access: 'admin',
    ignoresQuery: true,
    tag: 'Tenants and keys',
    summary: 'Every tenant of the server',
    answer: { schema: typia.json.schema<TenantList>(), example: { tenants: ['acme', 'globex'], count: 2 } },
  }),
  getTenant: jsonRoute({
    ...common,
    method: 'GET',
    path: TENANT,
    ignoresQuery: true,
    summary: 'Quotas of a tenant, and what holds of them',
    answer: { schema: typia.json.schema<TenantProfile>(), example: PROFILE },
    codes: ['tenant_not_found'],
  }),
  updateTenant: jsonRoute({
    ...common,
    method: 'PATCH',
    path: TENANT,
    summary: 'Change quotas or label of a tenant',
    description: 'What is absent stays as it is.',
    body: {
      check: typia.createValidateEquals<UpdateTenantBody>(),
      schema: typia.json.schema<UpdateTenantBody>(),
      required: true,
      refinements: { 'UpdateTenantBody.display_name': DISPLAY_NAME },
      examples: { quotas: { requests_per_second: 100, max_collections: null } },
    },
    answer: {
      schema: typia.json.schema<TenantProfile>(),
      example: {
        ...PROFILE,
        max_collections: null,
        requests_per_second: 100,
        limits: { ...PROFILE.limits, max_collections: -1, requests_per_second: 100, burst: 200 },
      },
    },
    codes: ['tenant_not_found', 'invalid_display_name', 'storage_full'],
  }),
  deleteTenant: jsonRoute({
    ...common,
    method: 'DELETE',
    path: TENANT,
    summary: 'Delete a tenant and its keys',
    description: 'One that still has collections is refused, but with `force`.',
    query: [
      {
        name: 'force',
        description: 'Whether its collections go with it.',
        schema: { type: 'boolean', default: false },
      },
    ],
    checkQuery: typia.createValidate<DeleteTenantQuery>(),
    answer: {
      schema: typia.json.schema<DeletedTenant>(),
      example: { tenant: 'acme', deleted: 'acme', collections_deleted: 0 },
    },
    codes: ['tenant_not_found', 'tenant_not_empty', 'storage_full'],
  }),
  listTenantKeys: jsonRoute({
    ...common,
    method: 'GET',
    path: KEYS,
    ignoresQuery: true,
    summary: 'The keys of a tenant',
    description:
      'Without the keys themselves, which nobody has but those they were made for. Revoked ones are listed too.',
    answer: { schema: typia.json.schema<KeyList>(), example: { tenant: 'acme', keys: [KEY], count: 1 } },
    codes: ['tenant_not_found'],
  }),
  createTenantKey: jsonRoute({
    ...common,
    method: 'POST',
    path: KEYS,
    summary: 'Make a key',
    description:
      'It is shown this once. `filters` are ANDed to every search with it, and it can do nothing but search then; `collections` are those it sees.',
    body: {
      check: typia.createValidateEquals<CreateKeyBody>(),
      schema: typia.json.schema<CreateKeyBody>(),
      required: false,
      refinements: {
        'CreateKeyBody.label': { ...DISPLAY_NAME, default: 'primary' },
        'CreateKeyBody.expires': { format: 'date-time' },
      },
      examples: {
        defaults: {},
        end_user: {
          label: 'web',
          scopes: ['search'],
          collections: ['docs'],
          filters: { owner: 'jane' },
          expires: '2099-01-01T00:00:00Z',
        },
      },
    },
    success: 201,
    answer: { schema: typia.json.schema<CreatedKey>(), example: { tenant: 'acme', ...KEY, key: 'sk_9aZt…' } },
    codes: ['tenant_not_found', 'key_limit_reached', 'storage_full'],
  }),
  revokeTenantKey: jsonRoute({
    ...common,
    method: 'DELETE',
    path: `${KEYS}/{key_id}`,
    ignoresQuery: true,
    summary: 'Revoke a key',
    description: 'It is refused from now on, and still listed.',
    answer: {
      schema: typia.json.schema<RevokedKey>(),
      example: { tenant: 'acme', ...KEY, revoked_at: '2026-02-01T12:00:00.000Z' },
    },
    codes: ['tenant_not_found', 'key_not_found', 'storage_full'],
  }),
});
