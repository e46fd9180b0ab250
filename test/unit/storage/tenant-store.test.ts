// Tenants and keys in real LMDB: a change of a tenant with its collections and keys is one transaction.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tenant } from '../../../src/api/ids.js';
import { TENANT_KEYS_MAX } from '../../../src/api/limits.js';
import type { KeyRecord, TenantRecord } from '../../../src/api/tenants.js';
import { CATALOG_TABLES, encodeCatalogRecord } from '../../../src/storage/catalog-records.js';
import { CatalogStore } from '../../../src/storage/catalog.js';
import { accessKeyKey, tenantKey } from '../../../src/storage/keys.js';
import { Environment } from '../../../src/storage/lmdb.js';
import { tempDirectory } from '../../kit/temp.js';
import { collectionOf } from '../../kit/records.js';

const INHERITED = {
  max_collections: null,
  max_chunks_per_collection: null,
  requests_per_second: null,
  burst: null,
  max_in_flight: null,
};
const tenantOf = (tenant: string): TenantRecord => ({
  tenant: tenant as Tenant,
  display_name: null,
  created_at: '2026-01-01T00:00:00.000Z',
  ...INHERITED,
});
const keyOf = (tenant: string, n: number): KeyRecord => ({
  tenant: tenant as Tenant,
  key_id: `k${String(n).padStart(5, '0')}`,
  label: 'l',
  digest: 'ab',
  created_at: '',
  expires: null,
  revoked_at: null,
  scopes: null,
  collections: null,
  filters: null,
});

/** Creates a tenant `t` with this many keys, in one transaction. */
function withKeys(directory: string, count: number): void {
  const env = Environment.open(directory, CATALOG_TABLES, false);
  env.write(({ tenants, keys }) => {
    tenants.put(tenantKey('t' as Tenant), encodeCatalogRecord(tenantOf('t')));
    for (let n = 0; n < count; n++) {
      const key = keyOf('t', n);
      keys.put(accessKeyKey(key.tenant, key.key_id), encodeCatalogRecord(key));
    }
  });
  env.close();
}

test('a tenant goes with its collections and keys, and leaves those whose names begin like it', () => {
  const store = CatalogStore.open(tempDirectory(), false);
  for (const tenant of ['a', 'a.b', 'ab']) {
    store.tenants.create(tenantOf(tenant), keyOf(tenant, 1));
    store.create(collectionOf(tenant, 'c'));
  }
  assert.throws(() => store.tenants.delete('a' as Tenant, false), { code: 'tenant_not_empty' });
  assert.deepEqual(
    store.tenants.delete('a' as Tenant, true).map(({ tenant, name }) => `${tenant}/${name}`),
    ['a/c'],
  );
  const { tenants, keys } = store.tenants.all();
  assert.deepEqual(
    [tenants.map(({ tenant }) => tenant), keys.map(({ tenant }) => tenant), store.all().map(({ tenant }) => tenant)],
    [
      ['a.b', 'ab'],
      ['a.b', 'ab'],
      ['a.b', 'ab'],
    ],
  );
  store.close();
});

test('a key for a tenant that only has collections makes its record', () => {
  const store = CatalogStore.open(tempDirectory(), false);
  assert.throws(() => store.tenants.createKey(tenantOf('t'), keyOf('t', 1)), { code: 'tenant_not_found' });
  store.create(collectionOf('t', 'c'));
  assert.equal(store.tenants.createKey(tenantOf('t'), keyOf('t', 1)), null);
  assert.deepEqual(store.tenants.all(), { tenants: [tenantOf('t')], keys: [keyOf('t', 1)] });
  store.close();
});

test('a tenant with all the keys it may have gives up the one revoked first, and no good one', () => {
  const directory = tempDirectory();
  withKeys(directory, TENANT_KEYS_MAX - 2);
  const store = CatalogStore.open(directory, false);
  for (let n = TENANT_KEYS_MAX - 2; n < TENANT_KEYS_MAX; n++)
    assert.equal(store.tenants.createKey(tenantOf('t'), keyOf('t', n)), null);
  assert.throws(() => store.tenants.createKey(tenantOf('t'), keyOf('t', 5000)), { code: 'key_limit_reached' });
  store.tenants.revokeKey('t' as Tenant, 'k00009', '2026-01-01');
  store.tenants.revokeKey('t' as Tenant, 'k00003', '2026-01-02');
  assert.equal(store.tenants.createKey(tenantOf('t'), keyOf('t', 5000))?.key_id, 'k00009');
  assert.equal(store.tenants.all().keys.length, TENANT_KEYS_MAX);
  store.close();
});

test('the limit of collections is looked at in the transaction that makes one', () => {
  const store = CatalogStore.open(tempDirectory(), false);
  store.create(collectionOf('t', 'a'), 1);
  assert.equal(store.create(collectionOf('t', 'a'), 1).name, 'a');
  assert.throws(() => store.create(collectionOf('t', 'b'), 1), { code: 'collection_limit_reached' });
  assert.equal(store.all().length, 1);
  store.close();
});
