// A shadow collection on a real server: nobody sees it before the switch, nobody sees a mixture, the query log and the
// versions continue; and one without a job after a restart is removed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DocId, asCollectionName, asTenant } from '../../../src/api/ids.js';
import { shardOf } from '../../../src/api/placement.js';
import { packDocument } from '../../../src/text/prepared-document.js';
import { refOf } from '../../../src/storage/catalog-commands.js';
import { deleteCollection, renameCollection } from '../../../src/service/collections/collections.js';
import {
  type CatalogContext,
  createShadow,
  giveUpShadow,
  switchCollection,
} from '../../../src/service/collections/catalog-changes.js';
import type { Shadow } from '../../../src/service/collections/shadow-collections.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const BASE = '/v1/collections/acme/docs';
const SPACE = {
  embedder_type: 'identity',
  embed_model: '',
  embedder_config: { dim: 2 },
  vector_space_key: 'identity::dim=2',
  dim: 2,
};

async function startWithDocuments(): Promise<TestServer> {
  const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '3' });
  await server.call('POST', BASE, { embedder_type: 'identity', embedder_config: { dim: 2 } });
  for (const [docid, vector] of [
    ['a', [1, 0]],
    ['b', [0, 1]],
  ] as const)
    await server.call('POST', `${BASE}/documents`, { docid, vector });
  return server;
}

const live = ({ catalog }: CatalogContext) => catalog.get(asTenant('acme'), asCollectionName('docs'));

/** A shadow collection with one document. */
async function stageOne(store: CatalogContext, purpose: 'reindex' | 'restore'): Promise<Shadow> {
  const { id, log_id: _, ...settings } = live(store);
  const shadow = await createShadow(store, {
    purpose,
    replaces: id,
    collection: { ...settings, ...SPACE, home: id },
  });
  const document = packDocument({
    docid: 'n' as DocId,
    ingestedAtMs: 5,
    metadataJson: '{}',
    priority: 0,
    chunks: [{ path: '0', metaJson: '{}' }],
  });
  const put = {
    collection: refOf(shadow.collection),
    versions: [4],
    documents: document,
    ends: [document.length],
    chunks: [1],
    vectors: Float32Array.of(1, 0),
  };
  assert.deepEqual(await store.shards.request(shardOf('n', shadow.collection, store.shards.size), 'putShadow', put), [
    { value: { chunks: 1 } },
  ]);
  return shadow;
}

async function found({ call }: TestServer): Promise<string[]> {
  const { json } = await call('POST', `${BASE}/search`, { v: [1, 0] });
  return json.matches.map(({ id }: { id: string }) => id);
}

test('a switch changes what is found at once, keeps the log, and what had the name is there for the way back', async () => {
  const server = await startWithDocuments();
  const { call } = server;
  const { store } = server.services.collections;
  assert.deepEqual(await found(server), ['a::0', 'b::0']);
  const before = live(store);
  const shadow = await stageOne(store, 'reindex');
  assert.deepEqual(await found(server), ['a::0', 'b::0']);
  assert.deepEqual((await call('GET', '/health/metrics')).json.doc_count, 2);
  await switchCollection(store, shadow.id, { expect: before.id, keptUntilMs: Date.now() + 60_000 });
  assert.deepEqual(await found(server), ['n::0']);
  assert.equal((await call('GET', `${BASE}/documents/n`)).json.version, 4);
  assert.equal((await call('GET', `${BASE}/queries`)).json.count, 3);
  await server.stop();
  const again = await startTestServer({ SHEAF_DATA_DIR: server.dataDir });
  assert.deepEqual(await found(again), ['n::0']);
  assert.equal((await again.call('GET', `${BASE}/queries`)).json.count, 4);
  await switchCollection(again.services.collections.store, before.id, { expect: shadow.id });
  assert.deepEqual(await found(again), ['a::0', 'b::0']);
  assert.deepEqual(again.faults, []);
});

test('documents that are put and deleted while there is a shadow collection are so in it: one, a batch, and back', async () => {
  const server = await startWithDocuments();
  const { call } = server;
  const { store } = server.services.collections;
  const before = live(store);
  const shadow = await stageOne(store, 'reindex');
  assert.equal((await call('POST', `${BASE}/documents`, { docid: 'c', vector: [0.6, 0.8] })).status, 201);
  const batch = ['d', 'e'].map((docid) => ({ docid, vector: [0.8, 0.6] }));
  assert.equal((await call('POST', `${BASE}/documents:batch`, { documents: batch })).status, 201);
  assert.equal((await call('DELETE', `${BASE}/documents/e`)).status, 200);
  await switchCollection(store, shadow.id, { expect: before.id, keptUntilMs: Date.now() + 60_000 });
  assert.deepEqual((await found(server)).toSorted(), ['c::0', 'd::0', 'n::0']);
  assert.equal((await call('POST', `${BASE}/documents`, { docid: 'f', vector: [1, 0] })).status, 201);
  await switchCollection(store, before.id, { expect: shadow.id });
  assert.deepEqual((await found(server)).toSorted(), ['a::0', 'b::0', 'c::0', 'd::0', 'f::0']);
  assert.deepEqual(server.faults, []);
});

test('a rename and a delete that meet a switch happen behind it: the collection is there all the time', async () => {
  const server = await startWithDocuments();
  const { call } = server;
  const { store } = server.services.collections;
  const meeting = async (ask: () => Promise<void>): Promise<void> => {
    const { id } = live(store);
    const shadow = await stageOne(store, 'reindex');
    await Promise.all([switchCollection(store, shadow.id, { expect: id }), ask()]);
  };
  await meeting(() =>
    renameCollection({ store }, asTenant('acme'), asCollectionName('docs'), asCollectionName('moved')),
  );
  assert.deepEqual(
    (await call('POST', '/v1/collections/acme/moved/search', { v: [1, 0] })).json.matches.map(
      ({ id }: { id: string }) => id,
    ),
    ['n::0'],
  );
  await renameCollection({ store }, asTenant('acme'), asCollectionName('moved'), asCollectionName('docs'));
  await meeting(() => deleteCollection({ store }, asTenant('acme'), asCollectionName('docs')));
  assert.deepEqual([(await call('GET', '/v1/collections/acme')).json.collections, server.faults], [[], []]);
});

test('what is given up is gone from the shards, and what a restore left behind from the next start on', async () => {
  const server = await startWithDocuments();
  const { store } = server.services.collections;
  const [given, left] = [await stageOne(store, 'reindex'), await stageOne(store, 'restore')];
  await giveUpShadow(store, given.id);
  assert.deepEqual(await counts(store, given), [0, 0, 0]);
  await server.stop();
  const again = await startTestServer({ SHEAF_DATA_DIR: server.dataDir });
  assert.deepEqual(await found(again), ['a::0', 'b::0']);
  await until(
    async () => (await counts(again.services.collections.store, left)).every((chunks) => chunks === 0),
    'what a restore left behind stays',
  );
  assert.deepEqual(await again.parts.shards.request(0, 'loadShadows', {}), []);
});

async function counts({ shards }: CatalogContext, { id }: Shadow): Promise<number[]> {
  return (await Promise.all(shards.requestAll('counts', { collections: [id] }))).map(([shard]) => shard?.chunks ?? -1);
}
