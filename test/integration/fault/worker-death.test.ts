// A shard worker that dies is replaced, its shard comes back from LMDB with every acknowledged write, and until then
// requests for it are rejected with Retry-After: they never hang.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CollectionRef } from '../../../src/api/collections.js';
import { type DocId, asCollectionName, asTenant } from '../../../src/api/ids.js';
import { shardOf } from '../../../src/api/placement.js';
import { packDocument } from '../../../src/text/prepared-document.js';
import { ready, startTestServer, type Answer } from '../../kit/server.js';

const SHARDS = 3;
const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: String(SHARDS) });
const { call } = server;
const base = '/v1/collections/acme/docs';

/**
 * Kills the shard's worker and requests the paths at once. Repeated where the successor was ready before all of them
 * were answered.
 */
/** The shard of a document of the collection that the tests write to. */
const shardIn = (docid: string): number =>
  shardOf(docid, server.parts.catalog.get(asTenant('acme'), asCollectionName('docs')), SHARDS);

async function whileDead(shard: number, paths: string[]): Promise<Answer[]> {
  for (let tries = 1; ; tries++) {
    await ready(server);
    await server.parts.shards.kill(shard);
    const answers = await Promise.all(paths.map((path) => call('GET', path)));
    if (server.parts.shards.openCount < SHARDS || tries === 10) return answers;
  }
}

test('requests for a dead shard are refused at once, and answered again after a while', async () => {
  for (let i = 0; i < 30; i++)
    await call('POST', `${base}/documents`, { docid: `D${i}`, text: `document number ${i}` });
  const onShard1 = Array.from({ length: 30 }, (_, i) => `D${i}`).find((docid) => shardIn(docid) === 1) as string;
  // Front threads read documents themselves, also of a shard without an owner; they count none.
  const [refused, health, notReady] = await whileDead(1, [`${base}/detail`, '/health', '/health/ready']);
  assert.deepEqual(
    [refused?.status, refused?.json.code, refused?.headers.get('retry-after')],
    [503, 'shard_unavailable', '1'],
  );
  assert.equal(health?.json.status, 'degraded');
  assert.deepEqual([notReady?.status, notReady?.json.details.checks.shards], [503, 'unavailable']);
  await ready(server);
  assert.equal((await call('GET', `${base}/documents/${onShard1}`)).status, 200);
  assert.equal((await call('GET', `${base}/search?q=document+number&k=100`)).json.matches.length, 30);
  assert.equal((await call('GET', '/health')).json.status, 'ready');
});

test('a broken assertion ends the worker, not the process, and the shard comes back', async () => {
  const [collection] = server.parts.catalog.refs();
  const document = packDocument({
    docid: 'BROKEN' as DocId,
    ingestedAtMs: 0,
    metadataJson: '{}',
    priority: 0,
    chunks: [{ path: 'c0', metaJson: '{}' }],
  });
  const broken = server.parts.shards.request(1, 'put', {
    collection: collection as CollectionRef,
    document,
    vectors: new Float32Array(3),
  });
  await assert.rejects(broken, { code: 'shard_unavailable' });
  await ready(server);
  assert.equal((await call('GET', `${base}/search?q=document+number&k=100`)).json.matches.length, 30);
});

test('shards whose workers die in one tick come back as themselves', async () => {
  const paths = Array.from({ length: 30 }, (_, i) => `${base}/documents/D${i}`);
  await Promise.all([1, 2].map((shard) => server.parts.shards.kill(shard)));
  await ready(server);
  const answers = await Promise.all(paths.map((path) => call('GET', path)));
  assert.ok(answers.every(({ status }) => status === 200));
  const stored = await Promise.all(server.parts.shards.requestAll('totals', { without: [] }));
  const expected = [0, 0, 0];
  for (let i = 0; i < 30; i++) expected[shardIn(`D${i}`)] = (expected[shardIn(`D${i}`)] ?? 0) + 1;
  assert.deepEqual(
    stored.map(({ documents }) => documents),
    expected,
  );
});

test('shard 0, which has the catalog, may die too', async () => {
  await server.parts.shards.kill(0);
  const refused = await call('POST', '/v1/collections/acme/later');
  assert.ok([201, 503].includes(refused.status));
  await ready(server);
  assert.equal((await call('POST', '/v1/collections/acme/later')).status, 201);
  assert.equal((await call('GET', `${base}/detail`)).json.doc_count, 30);
});

test('a collection dropped while a shard is away is gone there too', async () => {
  await call('POST', '/v1/collections/acme/drop', {});
  for (let i = 0; i < 12; i++)
    await call('POST', '/v1/collections/acme/drop/documents', { docid: `D${i}`, text: 'to be dropped' });
  await server.parts.shards.kill(2);
  assert.equal((await call('DELETE', '/v1/collections/acme/drop')).status, 200);
  await ready(server);
  await call('POST', '/v1/collections/acme/drop', {});
  assert.deepEqual((await call('GET', '/v1/collections/acme/drop/search?q=dropped')).json.matches, []);
});

test('embed and batch workers that die are replaced', async () => {
  for (const pool of [server.parts.embed, server.parts.batch]) {
    await pool.kill();
    const answer = await call('POST', `${base}/documents`, { docid: 'AFTER', text: 'after the death' });
    assert.ok([201, 503].includes(answer.status), JSON.stringify(answer.json));
    let status = answer.status;
    for (let tries = 0; tries < 2000 && status !== 201; tries++) {
      await sleep(20);
      status = (await call('POST', `${base}/documents`, { docid: 'AFTER', text: 'after the death' })).status;
    }
    assert.equal(status, 201);
  }
});
