// Tenants and their keys, managed at run time: records, bodies and admin routes.
import typia, { type tags } from 'typia';
import type { Scope } from './choices.js';
import type { Tenant } from './ids.js';
import { DISPLAY_NAME, SLUG_TEXT } from './parameters.js';
import { jsonRoute, routes } from './route.js';

/** Quotas of a tenant. 0 permits nothing, -1 is unlimited, null uses the server's configuration. */
export interface TenantQuotas {
  max_collections: number | null;
  max_chunks_per_collection: number | null;
  requests_per_second: number | null;
  /** Requests that may come at once. Null uses the configuration, or twice the rate if that has none. */
  burst: number | null;
  max_in_flight: number | null;
}

export interface TenantRecord extends TenantQuotas {
  tenant: Tenant;
  display_name: string | null;
  /** ISO 8601 time. */
  created_at: string;
}

/** The changeable fields of a tenant. */
export type TenantChange = Partial<Omit<TenantRecord, 'tenant' | 'created_at'>>;

/** A stored key. The server keeps only a digest of the plaintext. */
export interface KeyRecord {
  tenant: Tenant;
  key_id: string;
  label: string;
  /** SHA-256 of the plaintext in hexadecimal. */
  digest: string;
  /** ISO 8601, like the other times. */
  created_at: string;
  /** Null: never. */
  expires: string | null;
  /** Null: the key is not revoked. */
  revoked_at: string | null;
  /** Null: all scopes. */
  scopes: Scope[] | null;
  /** Collections that the key can access; null: all. */
  collections: string[] | null;
  /** Metadata filters combined by AND with every search of the key; null: none. */
  filters: Record<string, unknown> | null;
  /** Limits of the key itself; null, and absent in records of older versions: none. */
  requests_per_second?: number | null;
  burst?: number | null;
  max_in_flight?: number | null;
}

/** All tenants and keys in the catalog. */
export interface StoredTenants {
  tenants: TenantRecord[];
  keys: KeyRecord[];
}

export interface TenantList {
  tenants: string[];
  count: number;
}

/** A whole number: 0 permits nothing, -1 is unlimited, null uses the server's configuration. */
type CountQuota = (number & tags.Type<'int64'> & tags.Minimum<-1> & tags.Maximum<1_000_000_000_000>) | null;

/** Quotas of a tenant. An absent quota keeps its value; in a new tenant it is null. */
export interface QuotaBody {
  max_collections?: CountQuota;
  max_chunks_per_collection?: CountQuota;
  /** Rate limit; may be fractional. -1 is unlimited. */
  requests_per_second?: (number & tags.Minimum<-1> & tags.Maximum<1_000_000>) | null;
  /** Requests that may come at once. Null uses the configuration, or twice the tenant's own rate. */
  burst?: CountQuota;
  /** Requests in progress at a time. */
  max_in_flight?: CountQuota;
  /** Alias of `max_in_flight`, as PaveDB names it. */
  max_concurrent?: CountQuota;
}

/** Changes of a tenant. Absent fields keep their values. */
export interface UpdateTenantBody extends QuotaBody {
  /** 1 to 120 characters; null removes it. */
  display_name?: string | null;
}

/** A new tenant. */
export interface CreateTenantBody extends UpdateTenantBody {
  /** Slug of the tenant. */
  tenant: string;
}

/** Limits in effect; -1 means no limit. */
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
  /** ISO 8601 time; null for a tenant that was never created and only has collections. */
  created_at: string | null;
  max_collections: number | null;
  max_chunks_per_collection: number | null;
  requests_per_second: number | null;
  burst: number | null;
  max_in_flight: number | null;
  /** Limits in effect: the quotas, or the configuration where a quota is null. */
  limits: EffectiveLimits;
  collection_count: number;
}

/** A new tenant with its first key. */
export interface CreatedTenant extends TenantProfile {
  key_id: string;
  label: string;
  /** The plaintext of the key, returned only this once. */
  key: string;
}

export interface DeletedTenant {
  tenant: string;
  /** Slug of the deleted tenant. */
  deleted: string;
  /** Number of collections deleted with the tenant. */
  collections_deleted: number;
}

/** Settings of a new key. All fields are optional, and so is the body. */
export interface CreateKeyBody {
  /** A label for people and for the query log; 1 to 120 characters. Default: `primary`. */
  label?: string | null;
  /** An ISO 8601 time in the future. Default: the key never expires. */
  expires?: string | null;
  /** Scopes of the key. Default: all. */
  scopes?: (Scope[] & tags.MinItems<1>) | null;
  /** Collections that the key can access. Default: all. */
  collections?: (string[] & tags.MinItems<1> & tags.MaxItems<1000>) | null;
  /** Metadata filters combined by AND with every search. A key with filters can only search. */
  filters?: Record<string, unknown> | null;
  /** Requests per second of this key, beside the limits of the tenant; may be fractional. Default: no limit. */
  requests_per_second?: (number & tags.Minimum<0> & tags.Maximum<1_000_000>) | null;
  /** Requests of this key that may come at once; requires `requests_per_second`. Default: twice the rate. */
  burst?: (number & tags.Type<'int64'> & tags.Minimum<1> & tags.Maximum<1_000_000_000>) | null;
  /** Requests of this key in progress at a time. Default: no limit. */
  max_in_flight?: (number & tags.Type<'int64'> & tags.Minimum<1> & tags.Maximum<1_000_000>) | null;
}

/** A key without its plaintext. */
export interface TenantKey {
  key_id: string;
  label: string;
  created_at: string;
  expires?: string;
  /** When the key was revoked. */
  revoked_at?: string;
  scopes?: Scope[];
  collections?: string[];
  filters?: Record<string, unknown>;
  requests_per_second?: number;
  burst?: number;
  max_in_flight?: number;
}

/** What the key or token of a request is and may do. */
export interface WhoAmI {
  /** The label of the key, the subject of the token, `admin`, or `anonymous`. */
  name: string;
  admin: boolean;
  /** The only tenant that the key opens; null if it opens several or all. */
  tenant: string | null;
  /** The tenants that the key opens; null for all. */
  tenants: string[] | null;
  scopes: Scope[];
  /** The collections that the key can access; null for all. */
  collections: string[] | null;
  /** Whether filters that the key carries are added to each of its searches. */
  filtered: boolean;
  /** The limits of the tenant; null if the key opens several, or if none apply to it. */
  limits: EffectiveLimits | null;
  /** The limits of the key itself, in addition; null for none. -1 means no limit. */
  key_limits: { requests_per_second: number; burst: number; max_in_flight: number } | null;
}

export interface CreatedKey extends TenantKey {
  tenant: string;
  /** The plaintext of the key, returned only this once. */
  key: string;
}

export interface KeyList {
  tenant: string;
  /** In order of creation, including revoked keys. */
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
  whoami: jsonRoute({
    method: 'GET',
    path: '/v1/whoami',
    access: 'any',
    tag: 'Tenants and keys',
    ignoresQuery: true,
    summary: 'Get what the own key is and may do',
    description: 'Tenants, scopes, collections and limits of the key or token of the request.',
    answer: {
      schema: typia.json.schema<WhoAmI>(),
      example: {
        name: 'web',
        admin: false,
        tenant: 'acme',
        tenants: ['acme'],
        scopes: ['search'],
        collections: null,
        filtered: false,
        limits: PROFILE.limits,
        key_limits: { requests_per_second: 5, burst: 10, max_in_flight: -1 },
      },
    },
  }),
  createTenant: jsonRoute({
    ...common,
    method: 'POST',
    path: TENANTS,
    summary: 'Create a tenant with its first key',
    description:
      "The key is returned only this once. A quota of 0 permits nothing, -1 is unlimited, and null uses the server's configuration.",
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
    summary: 'List all tenants of the server',
    answer: { schema: typia.json.schema<TenantList>(), example: { tenants: ['acme', 'globex'], count: 2 } },
  }),
  getTenant: jsonRoute({
    ...common,
    method: 'GET',
    path: TENANT,
    ignoresQuery: true,
    summary: 'Get the quotas of a tenant and the limits in effect',
    answer: { schema: typia.json.schema<TenantProfile>(), example: PROFILE },
    codes: ['tenant_not_found'],
  }),
  updateTenant: jsonRoute({
    ...common,
    method: 'PATCH',
    path: TENANT,
    summary: 'Change the quotas or the display name of a tenant',
    description: 'Absent fields keep their values.',
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
    description: 'Fails for a tenant that still has collections, unless `force` is true.',
    query: [
      {
        name: 'force',
        description: "Whether to delete the tenant's collections too.",
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
    summary: 'List the keys of a tenant',
    description: 'Without the plaintexts, which the server does not keep. The list includes revoked keys.',
    answer: { schema: typia.json.schema<KeyList>(), example: { tenant: 'acme', keys: [KEY], count: 1 } },
    codes: ['tenant_not_found'],
  }),
  createTenantKey: jsonRoute({
    ...common,
    method: 'POST',
    path: KEYS,
    summary: 'Create a key',
    description:
      'The key is returned only this once. `filters` are combined by AND with every search of the key; such a key can only search. `collections` are the collections that it can access. `requests_per_second`, `burst` and `max_in_flight` limit this key alone; the limits of the tenant hold as well.',
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
          requests_per_second: 5,
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
    description: 'The key is rejected from now on, and still listed.',
    answer: {
      schema: typia.json.schema<RevokedKey>(),
      example: { tenant: 'acme', ...KEY, revoked_at: '2026-02-01T12:00:00.000Z' },
    },
    codes: ['tenant_not_found', 'key_not_found', 'storage_full'],
  }),
});
