// Collections that nobody uses are not in memory: a server that starts has loaded none, lists all of them, answers the
// first search of each as if it were loaded, and evicts it after a while. The test looks at the memory of the shards;
// `load server idle` measures it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CollectionName, Tenant } from '../../../src/api/ids.js';
import type { SharedShards } from '../../../src/engine/write/commands.js';
import { Kernel } from '../../../src/engine/memory/arena.js';
import { ready, startTestServer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const COLLECTIONS = 12;
const DOCUMENTS = 9;
const dataDir = tempDirectory();
const at = (i: number): string => `/v1/collections/tenant${i % 3}/c${i}`;
const start = (idleSeconds: number): Promise<TestServer> =>
  startTestServer({ SHEAF_DATA_DIR: dataDir, SHEAF_COLLECTIONS__IDLE_SECONDS: String(idleSeconds) });

/** In how many shards a collection is in memory. */
function partsOf({ parts }: TestServer, i: number): number {
  const { shared } = (parts.shards as unknown as { options: { shared: SharedShards } }).options;
  const { id } = parts.catalog.get(`tenant${i % 3}` as Tenant, `c${i}` as CollectionName);
  return shared.memories
    .flat()
    .filter((memory) => (new Kernel(shared.kernel, memory).directory.get(id)?.vectors ?? 0) !== 0).length;
}

const allParts = (server: TestServer): number =>
  Array.from({ length: COLLECTIONS }, (_, i) => partsOf(server, i)).reduce((a, b) => a + b);

const SEARCHES = [
  { q: 'number 3 of the collection', k: 4 },
  { q: 'number 5', k: 4, mode: 'boost' },
  { q: 'number 7 collection', k: 20, mode: 'hybrid' },
  { q: 'document', k: 20, filters: { n: { $gt: 4 } } },
  { q: 'document', k: 20, content_filter: { op: 'phrase', value: 'number 2' } },
];

/** The answers of each search of each collection: ids and scores. */
async function answers({ call }: TestServer, i: number): Promise<unknown[]> {
  const asked = SEARCHES.map(async (body) => {
    const { status, json } = await call('POST', `${at(i)}/search`, body);
    assert.equal(status, 200, JSON.stringify(json));
    return json.matches.map(({ id, score, text }: Record<string, unknown>) => [id, score, text]);
  });
  return Promise.all(asked);
}

async function counts({ call }: TestServer, i: number): Promise<unknown> {
  const { json } = await call('GET', `${at(i)}/detail`);
  return [json.doc_count, json.chunk_count];
}

async function untilIdle(server: TestServer): Promise<void> {
  await until(
    () => allParts(server) === 0,
    () => `${allParts(server)} parts do not leave`,
  );
}

const first = await start(0);
for (let i = 0; i < COLLECTIONS; i++) {
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({
    docid: `D${n}`,
    text: `document number ${n} of the collection ${i}`,
    metadata: { n, ...(n === 4 && { prio_boost: 0.3 }) },
  }));
  assert.equal((await first.call('POST', `${at(i)}/documents:batch`, { documents })).status, 201);
}
const expected = await Promise.all(Array.from({ length: COLLECTIONS }, (_, i) => answers(first, i)));
assert.ok(allParts(first) > COLLECTIONS);
await first.stop();
const server = await start(1);

test('a server that has just started tells what there is, and holds nothing of it', async () => {
  for (let i = 0; i < COLLECTIONS; i++) assert.deepEqual(await counts(server, i), [DOCUMENTS, DOCUMENTS]);
  assert.equal((await server.call('GET', `${at(1)}/documents`)).json.documents.length, DOCUMENTS);
  assert.equal((await server.call('GET', `${at(2)}/documents/D3`)).json.metadata.n, 3);
  const { text } = await server.call('GET', '/metrics');
  assert.match(text, new RegExp(`sheaf_documents ${COLLECTIONS * DOCUMENTS}\\b`));
  assert.equal(allParts(server), 0);
});

test('the first search of each answers as before the restart; all are let go when they are idle, and come back', async () => {
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < COLLECTIONS; i++)
      assert.deepEqual(await answers(server, i), expected[i], `collection ${i}, round ${round}`);
    await untilIdle(server);
  }
});

test('documents are written to and deleted from a collection that is evicted', async () => {
  await untilIdle(server);
  assert.equal((await server.call('DELETE', `${at(0)}/documents/D0`)).status, 200);
  assert.equal((await server.call('POST', `${at(1)}/documents`, { docid: 'D1', text: 'another text' })).status, 201);
  assert.equal((await server.call('POST', `${at(1)}/documents`, { docid: 'NEW', text: 'one more' })).status, 201);
  assert.deepEqual(
    [await counts(server, 0), await counts(server, 1)],
    [
      [DOCUMENTS - 1, DOCUMENTS - 1],
      [DOCUMENTS + 1, DOCUMENTS + 1],
    ],
  );
  await untilIdle(server);
  const { json } = await server.call('POST', `${at(1)}/search`, { q: 'another text', k: 1 });
  assert.deepEqual([json.matches[0].id, json.matches[0].text], ['D1::chunk_0', 'another text']);
  assert.equal(
    (await server.call('POST', `${at(0)}/search`, { q: 'document', k: 100 })).json.matches.length,
    DOCUMENTS - 1,
  );
});

test('a collection that is evicted is dropped, and its name begins anew', async () => {
  await untilIdle(server);
  assert.equal((await server.call('DELETE', at(2))).status, 200);
  assert.equal((await server.call('POST', at(2), {})).status, 201);
  assert.deepEqual(await counts(server, 2), [0, 0]);
  assert.deepEqual((await server.call('POST', `${at(2)}/search`, { q: 'document', k: 9 })).json.matches, []);
});

test('after the death of a worker everything is there, and in memory when it is asked for', async () => {
  for (let shard = 0; shard < server.parts.shards.size; shard++) await server.parts.shards.kill(shard);
  await ready(server);
  for (const i of [4, 5]) assert.deepEqual(await answers(server, i), expected[i]);
  assert.deepEqual(await counts(server, 6), [DOCUMENTS, DOCUMENTS]);
  assert.equal(partsOf(server, 6), 0);
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
