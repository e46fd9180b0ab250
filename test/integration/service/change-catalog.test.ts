// Changes of the catalog that are committed together become visible in the order of their commits, however long their
// callers wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asCollectionName, asTenant } from '../../../src/api/ids.js';
import { deleteCollection, renameCollection, updateCollection } from '../../../src/service/collections/collections.js';
import { createShadow, switchCollection } from '../../../src/service/collections/catalog-changes.js';
import { startTestServer, type TestServer } from '../../kit/server.js';

const TENANT = asTenant('acme');
const DOCS = asCollectionName('docs');
const OTHER = asCollectionName('other');

async function startWithCollection(): Promise<TestServer> {
  const server = await startTestServer();
  await server.call('POST', '/v1/collections/acme/docs', { embedder_type: 'identity', embedder_config: { dim: 2 } });
  return server;
}

test('a rename that is committed with a switch behind it leaves the collection in the new space', async () => {
  const { services, call, stop } = await startWithCollection();
  const { store } = services.collections;
  const { id: before, log_id: _, ...settings } = store.catalog.get(TENANT, DOCS);
  const staged = await createShadow(store, {
    purpose: 'reindex',
    replaces: before,
    collection: settings,
  });
  await Promise.all([
    renameCollection({ store }, TENANT, DOCS, OTHER),
    switchCollection(store, staged.id, { expect: before }),
  ]);
  assert.equal(store.catalog.get(TENANT, OTHER).id, staged.id);
  assert.equal(store.catalog.find(TENANT, DOCS), undefined);
  assert.equal((await call('GET', '/v1/collections/acme')).json.collections.length, 1);
  await stop();
});

test('a new label that is committed with a delete behind it does not bring the collection back', async () => {
  const { services, call, stop } = await startWithCollection();
  const { store } = services.collections;
  await Promise.all([
    updateCollection({ store }, TENANT, DOCS, { display_name: 'Documents' }),
    deleteCollection({ store }, TENANT, DOCS),
  ]);
  assert.equal(store.catalog.find(TENANT, DOCS), undefined);
  assert.deepEqual((await call('GET', '/v1/collections/acme')).json.collections, []);
  await stop();
});
