// Over how many shards a collection is spread: one unless told otherwise, other shards for other collections, and all of
// them for collections from before spreads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Collection } from '../../../src/api/collections.js';
import { asCollectionName, asTenant } from '../../../src/api/ids.js';
import { refused, startTestServer } from '../../kit/server.js';

const SHARDS = 4;
const DOCUMENTS = 40;
const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: String(SHARDS), SHEAF_COLLECTIONS__PARTITIONS: '1' });
const { call, parts } = server;

const collectionOf = (name: string): Collection => parts.catalog.get(asTenant('acme'), asCollectionName(name));

/** The number of documents of a collection in each shard, whether it belongs there or not. */
async function documentsIn(name: string): Promise<number[]> {
  const answers = await Promise.all(parts.shards.requestAll('counts', { collections: [collectionOf(name).id] }));
  return answers.map(([counts]) => counts?.documents ?? 0);
}

async function fill(name: string): Promise<void> {
  const documents = Array.from({ length: DOCUMENTS }, (_, i) => ({ docid: `D${i}`, text: `document number ${i}` }));
  const half = DOCUMENTS / 2;
  for (const document of documents.slice(0, half))
    assert.equal((await call('POST', `/v1/collections/acme/${name}/documents`, document)).status, 201);
  const batch = { documents: documents.slice(half) };
  const { json } = await call('POST', `/v1/collections/acme/${name}/documents:batch`, batch);
  assert.equal(json.succeeded, half, JSON.stringify(json));
}

/** Every way to the documents finds all of them. */
async function assertWhole(name: string): Promise<void> {
  const base = `/v1/collections/acme/${name}`;
  const { json: detail } = await call('GET', `${base}/detail`);
  assert.deepEqual([detail.doc_count, detail.chunk_count], [DOCUMENTS, DOCUMENTS]);
  for (const mode of ['vector', 'boost', 'hybrid']) {
    const { json } = await call('POST', `${base}/search`, { q: 'document number', k: 100, mode });
    assert.equal(json.matches.length, DOCUMENTS, mode);
  }
  const { json: listing } = await call('GET', `${base}/documents`);
  assert.equal(listing.documents.length, DOCUMENTS);
  for (const docid of ['D0', 'D7', `D${DOCUMENTS - 1}`]) {
    assert.equal((await call('GET', `${base}/documents/${docid}`)).status, 200);
    assert.equal((await call('GET', `${base}/documents/${docid}/chunks`)).json.chunks.length, 1);
    assert.equal(
      (await call('GET', `${base}/chunks/${docid}::chunk_0/content`)).text,
      `document number ${docid.slice(1)}`,
    );
  }
  const { json: recall } = await call('POST', `${base}/recall`, { sample: 20, source: 'stored' });
  assert.deepEqual([recall.queries, recall.recall], [20, 1]);
}

for (const partitions of [1, 2, 3, SHARDS]) {
  test(`a collection that is spread over ${partitions} of ${SHARDS} shards is whole`, async () => {
    const name = `of-${partitions}`;
    const { status, json } = await call('POST', `/v1/collections/acme/${name}`, partitions === 1 ? {} : { partitions });
    assert.deepEqual([status, json.partitions], [201, partitions]);
    assert.equal((await call('GET', `/v1/collections/acme/${name}/detail`)).json.partitions, partitions);
    await fill(name);
    assert.equal((await documentsIn(name)).filter(Boolean).length, partitions);
    await assertWhole(name);
    assert.equal((await call('DELETE', `/v1/collections/acme/${name}/documents/D3`)).json.chunks_deleted, 1);
    assert.equal((await call('GET', `/v1/collections/acme/${name}/documents/D3`)).status, 404);
  });
}

test('collections of one shard lie in different shards', async () => {
  const homes = new Set<number>();
  for (let i = 0; i < SHARDS; i++) {
    await call('POST', `/v1/collections/acme/home-${i}/documents`, { docid: 'a', text: 'x' });
    homes.add((await documentsIn(`home-${i}`)).indexOf(1));
  }
  assert.equal(homes.size, SHARDS);
});

test('a collection whose record has no spread is in all shards, each document where it always was', async () => {
  const { home: _home, spread: _spread, id: _id, ...before } = collectionOf('of-1');
  const collection = { ...before, name: asCollectionName('old') };
  const old = await parts.shards.request(0, 'createCollection', { collection });
  parts.state.apply({ op: 'createCollection', request: { collection }, answer: old });
  await fill('old');
  // The places of these documents have been fixed since the first release.
  assert.deepEqual(await documentsIn('old'), [10, 7, 13, 10]);
  await assertWhole('old');
  assert.equal((await call('GET', '/v1/collections/acme/old/detail')).json.partitions, SHARDS);
});

test('more partitions than shards are refused, and those of an existing collection stay', async () => {
  const { detail } = await refused(
    call('POST', '/v1/collections/acme/wide', { partitions: 5 }),
    422,
    'validation_error',
  );
  assert.match(JSON.stringify(detail), /`storage\.partitions` of this server is 4: choose at most 4/);
  for (const partitions of [0, 17, 1.5])
    await refused(call('POST', '/v1/collections/acme/wide', { partitions }), 422, 'validation_error');
  const again = await call('POST', '/v1/collections/acme/of-2', { partitions: 1 });
  assert.deepEqual([again.status, again.json.partitions], [201, 2]);
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
