// Changes of the catalog that are committed together are shown in the order of their commits, however long whoever
// asked for them waits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asCollectionName, asTenant } from '../../../src/api/ids.js';
import { deleteCollection, relabelCollection, renameCollection } from '../../../src/service/collections/collections.js';
import { stageCollection, switchCollection } from '../../../src/service/collections/catalog-changes.js';
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
  const { context, call, stop } = await startWithCollection();
  const { id: before, log_id: _, ...settings } = context.catalog.get(TENANT, DOCS);
  const staged = await stageCollection(context, {
    purpose: 'reindex',
    replaces: before,
    created_at: '2026-01-01T00:00:00.000Z',
    collection: settings,
  });
  await Promise.all([
    renameCollection(context, TENANT, DOCS, OTHER),
    switchCollection(context, staged.id, { expect: before }),
  ]);
  assert.equal(context.catalog.get(TENANT, OTHER).id, staged.id);
  assert.equal(context.catalog.find(TENANT, DOCS), undefined);
  assert.equal((await call('GET', '/v1/collections/acme')).json.collections.length, 1);
  await stop();
});

test('a new label that is committed with a delete behind it does not bring the collection back', async () => {
  const { context, call, stop } = await startWithCollection();
  await Promise.all([relabelCollection(context, TENANT, DOCS, 'Documents'), deleteCollection(context, TENANT, DOCS)]);
  assert.equal(context.catalog.find(TENANT, DOCS), undefined);
  assert.deepEqual((await call('GET', '/v1/collections/acme')).json.collections, []);
  await stop();
});
