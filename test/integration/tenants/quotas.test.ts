// Quotas over a real socket: collections and chunks of a tenant, by configuration and by the tenant's own settings.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type Answer } from '../../kit/server.js';

const server = await startTestServer({
  SHEAF_LIMITS__TENANT__MAX_COLLECTIONS: '3',
  SHEAF_LIMITS__TENANT__MAX_CHUNKS_PER_COLLECTION: '10',
});
const { call } = server;
const make = (tenant: string, name: string): Promise<Answer> =>
  call('POST', `/v1/collections/${tenant}/${name}`, { chunking: { strategy: 'fixed', size: 20, overlap: 0 } });
const put = (tenant: string, docid: string, chunks: number, name = 'c'): Promise<Answer> =>
  call('POST', `/v1/collections/${tenant}/${name}/documents`, {
    docid,
    text: 'nineteen characters'.padEnd(20).repeat(chunks).trim(),
  });
const chunksOf = async (tenant: string, name = 'c'): Promise<number> =>
  (await call('GET', `/v1/collections/${tenant}/${name}/detail`)).json.chunk_count as number;

function assertRefused({ status, json }: Answer, code: string): void {
  assert.deepEqual([status, json.code, json.error_type], [429, code, 'unavailable'], JSON.stringify(json));
}

test('a tenant has no more collections than it may, however many ask at a time', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => make('many', `c${i}`)));
  assert.equal(answers.filter(({ status }) => status === 201).length, 3);
  for (const answer of answers.filter(({ status }) => status !== 201))
    assertRefused(answer, 'collection_limit_reached');
  const { collections } = (await call('GET', '/v1/collections/many')).json as { collections: { name: string }[] };
  assert.equal(collections.length, 3);
  assert.equal((await make('many', collections[0]?.name ?? '')).status, 201, 'one that is there is made again');
  assertRefused(await put('many', 'A', 1, 'new'), 'collection_limit_reached');
  assert.equal((await make('other', 'c')).status, 201, 'another tenant has its own');
  await call('DELETE', `/v1/collections/many/${collections[0]?.name}`);
  assert.equal((await make('many', 'new')).status, 201);
});

test('a quota of its own goes before the configured one: more, none, no limit', async () => {
  await call('POST', '/v1/admin/tenants', { tenant: 'own', max_collections: 0 });
  assertRefused(await make('own', 'c0'), 'collection_limit_reached');
  await call('PATCH', '/v1/admin/tenants/own', { max_collections: -1 });
  for (let i = 0; i < 5; i++) assert.equal((await make('own', `c${i}`)).status, 201);
  await call('PATCH', '/v1/admin/tenants/own', { max_collections: null });
  assertRefused(await make('own', 'c5'), 'collection_limit_reached');
});

test('a collection has no more chunks than it may; a replacement counts the difference; a delete makes room', async () => {
  await make('full', 'c');
  assert.equal((await put('full', 'A', 6)).status, 201);
  assertRefused(await put('full', 'B', 5), 'chunk_limit_reached');
  assert.equal((await call('GET', '/v1/collections/full/c/documents/B')).status, 404);
  assert.equal((await put('full', 'B', 4)).status, 201);
  assert.equal((await put('full', 'A', 6)).status, 201, 'the same size again');
  assertRefused(await put('full', 'A', 7), 'chunk_limit_reached');
  const { version, chunk_count: chunks } = (await call('GET', '/v1/collections/full/c/documents/A')).json;
  assert.deepEqual([version, chunks], [2, 6], 'a refused replacement leaves what was there');
  assert.equal((await put('full', 'A', 1)).status, 201);
  assert.equal((await put('full', 'C', 5)).status, 201);
  await call('DELETE', '/v1/collections/full/c/documents/C');
  assert.equal((await put('full', 'D', 5)).status, 201);
  assert.equal(await chunksOf('full'), 10);
});

test('over all shards, many at a time do not pass the limit and leave no room unused', async () => {
  await make('crowd', 'c');
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => put('crowd', `D${i}`, 1)));
  assert.equal(answers.filter(({ status }) => status === 201).length, 10);
  for (const answer of answers.filter(({ status }) => status !== 201)) assertRefused(answer, 'chunk_limit_reached');
  assert.equal(await chunksOf('crowd'), 10);
});

test('a limit below what is there lets documents shrink and go', async () => {
  await call('POST', '/v1/admin/tenants', { tenant: 'shrunk', max_chunks_per_collection: -1 });
  await make('shrunk', 'c');
  assert.equal((await put('shrunk', 'A', 15)).status, 201);
  await call('PATCH', '/v1/admin/tenants/shrunk', { max_chunks_per_collection: 0 });
  assertRefused(await put('shrunk', 'B', 1), 'chunk_limit_reached');
  assert.equal((await put('shrunk', 'A', 14)).status, 201);
  assert.equal((await call('DELETE', '/v1/collections/shrunk/c/documents/A')).json.chunks_deleted, 14);
});

test('the death of a shard leaves the quota as it was', async () => {
  await make('dying', 'c');
  await put('dying', 'A', 8);
  for (let shard = 0; shard < server.parts.shards.size; shard++) await server.parts.shards.kill(shard);
  let answer = await put('dying', 'B', 2);
  for (; answer.status === 503; answer = await put('dying', 'B', 2))
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(answer.status, 201);
  assertRefused(await put('dying', 'C', 1), 'chunk_limit_reached');
});
