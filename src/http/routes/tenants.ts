// Tenants and keys at run time, for the admin.
// Handlers on the front thread: body in, use case, reply out. The route table (routes/tenants.ts) names them.
import typia from 'typia';
import { invalidField } from '../../api/errors.js';
import { asTenant } from '../../api/ids.js';
import type {
  CreateKeyBody,
  CreateTenantBody,
  CreatedKey,
  CreatedTenant,
  DeletedTenant,
  KeyList,
  KeyRecord,
  RevokedKey,
  TenantKey,
  TenantProfile,
  UpdateTenantBody,
} from '../../api/tenants.js';
import {
  createKey,
  createTenant,
  deleteTenant,
  listKeys,
  revokeKey,
  tenantProfile,
  updateTenant,
} from '../../service/tenants/tenants.js';
import type { Services } from '../../service/services.js';
import { fitting, parseJson } from '../json-body.js';
import { type Operation, jsonAnswer, jsonRequest } from '../openapi/operation.js';
import { type Handler, type ListedRoute, admin, flag, get, param, post, remove, tenantOf } from '../route.js';

const validateCreate = typia.createValidateEquals<CreateTenantBody>();
const validateUpdate = typia.createValidateEquals<UpdateTenantBody>();
const validateKey = typia.createValidateEquals<CreateKeyBody>();

const postTenant =
  (context: Services['tenants']): Handler =>
  async (request) => {
    const { tenant, ...options } = fitting(validateCreate(parseJson(await request.body.bytes())), 'body');
    const { profile, key, plaintext } = await createTenant(context, asTenant(tenant), optionsOf(options));
    return {
      status: 201,
      json: { ...profile, key_id: key.key_id, label: key.label, key: plaintext } satisfies CreatedTenant,
    };
  };

const getTenant =
  (context: Services['tenants']): Handler =>
  async (request) => ({ status: 200, json: tenantProfile(context, tenantOf(request)) });

const patchTenant =
  (context: Services['tenants']): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const change = fitting(validateUpdate(parseJson(await request.body.bytes())), 'body');
    return { status: 200, json: await updateTenant(context, tenant, optionsOf(change)) };
  };

const removeTenant =
  (context: Services['tenants']): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const collections = await deleteTenant(context, tenant, flag(request, 'force'));
    return { status: 200, json: { tenant, deleted: tenant, collections_deleted: collections } satisfies DeletedTenant };
  };

const getKeys =
  (context: Services['tenants']): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const keys = listKeys(context, tenant).map(publicKey);
    return { status: 200, json: { tenant, keys, count: keys.length } satisfies KeyList };
  };

const postKey =
  (context: Services['tenants']): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    const body = fitting(validateKey(parseJson(await request.body.bytes(), true)), 'body');
    const { key, plaintext } = await createKey(context, tenant, body);
    return { status: 201, json: { tenant, ...publicKey(key), key: plaintext } satisfies CreatedKey };
  };

const removeKey =
  (context: Services['tenants']): Handler =>
  async (request) => {
    const tenant = tenantOf(request);
    return {
      status: 200,
      json: { tenant, ...publicKey(await revokeKey(context, tenant, param(request, 'key_id'))) } satisfies RevokedKey,
    };
  };

/** Throws 422 where one quota is given by both of its names, and differs. */
function optionsOf({ max_concurrent: alias, ...options }: UpdateTenantBody): Omit<UpdateTenantBody, 'max_concurrent'> {
  if (alias === undefined) return options;
  if (options.max_in_flight !== undefined && options.max_in_flight !== alias)
    throw invalidField(
      ['body', 'max_concurrent'],
      'is another name of max_in_flight, which differs',
      'value_error',
      alias,
    );
  return { ...options, max_in_flight: alias };
}

/** A key as it is shown: never its digest; without what it does not have. */
function publicKey({ tenant: _tenant, digest: _digest, key_id, label, created_at, ...optional }: KeyRecord): TenantKey {
  return {
    key_id,
    label,
    created_at,
    ...Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)),
  };
}

// Tenants and keys at run time: for the admin alone.
// One list of routes, joined to the table by routes.ts.

const TENANTS = '/v1/admin/tenants';
const TENANT = `${TENANTS}/{tenant}`;
const KEYS = `${TENANT}/keys`;

export function tenantRoutes(context: Services['tenants']): ListedRoute[] {
  return [
    admin(post('createTenant', TENANTS, [201, 400, 401, 403, 409, 422, 500, 503], postTenant(context))),
    admin(get('getTenant', TENANT, [200, 400, 401, 403, 404, 500], getTenant(context))),
    admin({
      ...post('updateTenant', TENANT, [200, 400, 401, 403, 404, 422, 500, 503], patchTenant(context)),
      method: 'PATCH',
    }),
    admin(remove('deleteTenant', TENANT, [200, 400, 401, 403, 404, 409, 422, 500, 503], removeTenant(context))),
    admin(get('listTenantKeys', KEYS, [200, 400, 401, 403, 404, 500], getKeys(context))),
    admin(post('createTenantKey', KEYS, [201, 400, 401, 403, 404, 409, 422, 500, 503], postKey(context))),
    admin(remove('revokeTenantKey', `${KEYS}/{key_id}`, [200, 400, 401, 403, 404, 500, 503], removeKey(context))),
  ];
}

// Entries of the operations on tenants and their keys.
// Read by ../operations.ts. Constants.

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

const NOT_FOUND = ['tenant_not_found'] as const;
const tag = 'Tenants and keys' as const;

export const TENANT_OPERATIONS = {
  listTenants: {
    tag,
    summary: 'Every tenant of the server',
    answer: jsonAnswer('TenantList', { tenants: ['acme', 'globex'], count: 2 }),
  },
  createTenant: {
    tag,
    summary: 'Make a tenant, with its first key',
    description:
      "The key is shown this once. A quota is 0 for none, -1 for unlimited, null for what the server's configuration says.",
    request: {
      required: true,
      content: jsonRequest('CreateTenantBody', {
        tenant: { tenant: 'acme', display_name: 'Acme Inc.', max_collections: 10, requests_per_second: 50 },
      }),
    },
    answer: jsonAnswer('CreatedTenant', { ...PROFILE, key_id: KEY.key_id, label: 'primary', key: 'sk_3Qm0…' }),
    codes: ['invalid_tenant_name', 'invalid_display_name', 'tenant_exists', 'storage_full'],
  },
  getTenant: {
    tag,
    summary: 'Quotas of a tenant, and what holds of them',
    answer: jsonAnswer('TenantProfile', PROFILE),
    codes: NOT_FOUND,
  },
  updateTenant: {
    tag,
    summary: 'Change quotas or label of a tenant',
    description: 'What is absent stays as it is.',
    request: {
      required: true,
      content: jsonRequest('UpdateTenantBody', { quotas: { requests_per_second: 100, max_collections: null } }),
    },
    answer: jsonAnswer('TenantProfile', {
      ...PROFILE,
      max_collections: null,
      requests_per_second: 100,
      limits: { ...PROFILE.limits, max_collections: -1, requests_per_second: 100, burst: 200 },
    }),
    codes: [...NOT_FOUND, 'invalid_display_name', 'storage_full'],
  },
  deleteTenant: {
    tag,
    summary: 'Delete a tenant and its keys',
    description: 'One that still has collections is refused, but with `force`.',
    query: [
      {
        name: 'force',
        description: 'Whether its collections go with it.',
        schema: { type: 'boolean', default: false },
      },
    ],
    answer: jsonAnswer('DeletedTenant', { tenant: 'acme', deleted: 'acme', collections_deleted: 0 }),
    codes: [...NOT_FOUND, 'tenant_not_empty', 'storage_full'],
  },
  listTenantKeys: {
    tag,
    summary: 'The keys of a tenant',
    description:
      'Without the keys themselves, which nobody has but those they were made for. Revoked ones are listed too.',
    answer: jsonAnswer('KeyList', { tenant: 'acme', keys: [KEY], count: 1 }),
    codes: NOT_FOUND,
  },
  createTenantKey: {
    tag,
    summary: 'Make a key',
    description:
      'It is shown this once. `filters` are ANDed to every search with it, and it can do nothing but search then; `collections` are those it sees.',
    request: {
      required: false,
      content: jsonRequest('CreateKeyBody', {
        defaults: {},
        end_user: {
          label: 'web',
          scopes: ['search'],
          collections: ['docs'],
          filters: { owner: 'jane' },
          expires: '2099-01-01T00:00:00Z',
        },
      }),
    },
    answer: jsonAnswer('CreatedKey', { tenant: 'acme', ...KEY, key: 'sk_9aZt…' }),
    codes: [...NOT_FOUND, 'key_limit_reached', 'storage_full'],
  },
  revokeTenantKey: {
    tag,
    summary: 'Revoke a key',
    description: 'It is refused from now on, and still listed.',
    answer: jsonAnswer('RevokedKey', { tenant: 'acme', ...KEY, revoked_at: '2026-02-01T12:00:00.000Z' }),
    codes: [...NOT_FOUND, 'key_not_found', 'storage_full'],
  },
} satisfies Record<string, Operation>;
