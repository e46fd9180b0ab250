// Entries of the operations on tenants and their keys.
// Read by ../operations.ts. Constants.
import type { TenantKey, TenantProfile } from '../../../contract/api/tenants.js';
import { jsonAnswer, jsonRequest, type Operation } from '../operation.js';

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
