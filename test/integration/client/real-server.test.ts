// The client against the real server: every method whose endpoint exists, with answers of the declared types.
import assert from 'node:assert/strict';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { SheafClient, SheafConflict, SheafNotFound } from '../../../src/client/client.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const client = new SheafClient({ url: server.url });

test('collections: made, seen, relabelled, renamed, deleted', async () => {
  const made = await client.createCollection('acme', 'shelf', {
    display_name: 'A shelf',
    chunking: { strategy: 'none' },
  });
  assert.equal(made.collection, 'shelf');
  assert.equal(made.ok, true);
  assert.match(made.request_id, /^[0-9a-f-]{36}$/);
  assert.equal((await client.updateCollection('acme', 'shelf', { display_name: 'Shelf' })).display_name, 'Shelf');
  assert.equal((await client.moveCollection('acme', 'shelf', 'board')).old_name, 'shelf');
  await client.createCollection('acme', 'other');
  await assert.rejects(client.moveCollection('acme', 'board', 'other'), SheafConflict);
  assert.equal((await client.admin.moveCollection('acme', 'board', 'rack')).new_name, 'rack');
  const names: string[] = [];
  for await (const { name } of client.eachCollection('acme')) names.push(name);
  assert.deepEqual(names, ['other', 'rack']);
  assert.deepEqual(
    (await client.listCollections('acme')).collections.map(({ display_name }) => display_name),
    ['other', 'Shelf'],
  );
  assert.equal((await client.collectionDetail('acme', 'rack')).chunking?.strategy, 'none');
  assert.deepEqual((await client.admin.listTenants()).tenants, ['acme']);
  assert.equal((await client.deleteCollection('acme', 'rack')).deleted, 'rack');
  await assert.rejects(client.collectionDetail('acme', 'rack'), SheafNotFound);
});

test('documents: ingested as text, vector and file, found, read, deleted', async () => {
  assert.equal(
    (
      await client.ingestText('acme', 'docs', {
        docid: 'a/b: ä',
        text: 'Captain Nemo commands the Nautilus.',
        metadata: { lang: 'en' },
      })
    ).chunks,
    1,
  );
  const file = await client.ingestFile('acme', 'docs', {
    name: 'my notes.md',
    content: new Blob(['# Whales\n\nThey sing.']),
  });
  assert.equal(file.docid, 'MY_NOTES_MD');
  await client.createCollection('acme', 'vectors', { embedder_type: 'identity', embedder_config: { dim: 2 } });
  await client.ingestVector('acme', 'vectors', { docid: 'v', vector: [1, 0] });
  assert.equal((await client.search('acme', 'vectors', { v: [2, 0], k: 1 })).matches[0]?.score, 1);
  const found = await client.search('acme', 'docs', { q: 'submarine captain', k: 1 });
  assert.equal(found.matches[0]?.id, 'a/b: ä::chunk_0');
  assert.equal(
    (await client.searchByQuery('acme', 'docs', { q: 'whales & song', k: 1 })).matches[0]?.meta.docid,
    'MY_NOTES_MD',
  );
  assert.equal((await client.getDocument('acme', 'docs', 'a/b: ä')).metadata.lang, 'en');
  assert.equal(await client.chunkContent('acme', 'docs', 'a/b: ä::chunk_0'), 'Captain Nemo commands the Nautilus.');
  assert.equal((await client.getChunk('acme', 'docs', 'a/b: ä::chunk_0')).chunk_path, 'chunk_0');
  assert.equal((await client.listChunks('acme', 'docs', 'a/b: ä')).count, 1);
  const rids: string[] = [];
  for await (const { rid } of client.eachChunk('acme', 'docs', 'MY_NOTES_MD')) rids.push(rid);
  assert.deepEqual(rids, ['MY_NOTES_MD::chunk_0']);
  const docids: string[] = [];
  for await (const { docid } of client.eachDocument('acme', 'docs')) docids.push(docid);
  assert.deepEqual(docids, ['MY_NOTES_MD', 'a/b: ä']);
  assert.equal((await client.listDocuments('acme', 'docs')).count, 2);
  assert.equal((await client.deleteDocument('acme', 'docs', 'a/b: ä')).chunks_deleted, 1);
});

test('health: liveness and readiness are read', async () => {
  assert.equal((await client.health()).status, 'ready');
  assert.equal((await client.live()).status, 'live');
  assert.equal((await client.ready()).checks.shards, 'ok');
});

test('batches: whole and as a stream, a result for each document', async () => {
  const { succeeded, failed, documents } = await client.ingestBatch('acme', 'many', [
    { docid: 'a', text: 'one' },
    { docid: 'b' },
    { docid: 'c', text: 'three' },
  ]);
  assert.deepEqual([succeeded, failed, documents.map(({ ok }) => ok)], [2, 1, [true, false, true]]);
  const numbers = function* (): Generator<{ docid: string; text: string }> {
    for (let i = 0; i < 700; i++) yield { docid: `n${i}`, text: `number ${i}` };
  };
  const places: number[] = [];
  for await (const { index, ok } of client.ingestStream('acme', 'many', numbers())) places.push(ok ? index : -1);
  assert.deepEqual(
    places,
    Array.from({ length: 700 }, (_, i) => i),
  );
  let count = 0;
  for await (const _ of client.eachDocument('acme', 'many', { limit: 300 })) count++;
  assert.equal(count, 702);
});

test('queries: logged, read in both forms, run again', async () => {
  const { query_id: id = '' } = await client.search('acme', 'many', { q: 'number seven', k: 2 });
  assert.equal((await client.queries.list('acme', 'many', { limit: 1 })).queries[0]?.query_id, id);
  assert.deepEqual((await client.queries.get('acme', 'many', id)).query, (await client.admin.getQuery(id)).query);
  const replayed = await client.queries.replay('acme', 'many', id);
  assert.deepEqual([replayed.original_query_id, replayed.matches.length], [id, 2]);
  assert.notEqual((await client.admin.replayQuery(id)).replay_query_id, id);
  const ids: string[] = [];
  for await (const { query_id } of client.queries.each('acme', 'many', { limit: 1 })) ids.push(query_id);
  assert.equal(ids.length, 3);
  assert.equal(ids.at(-1), id);
});

test('all hits of a search, page by page', async () => {
  const found = new Set<string>();
  for await (const { id } of client.eachHit('acme', 'many', { sort: { field: 'docid' }, k: 300, with_text: false }))
    found.add(id);
  assert.equal(found.size, 702);
});

test('tenants and keys, embedders, metrics, the shared scope', async () => {
  assert.equal((await client.admin.createTenant({ tenant: 'made', max_collections: 1 })).tenant, 'made');
  assert.equal((await client.admin.updateTenant('made', { max_collections: 2 })).tenant, 'made');
  const { key_id } = await client.admin.createKey('made', { label: 'web' });
  assert.ok((await client.admin.listKeys('made')).keys.some((each) => each.key_id === key_id));
  await client.admin.revokeKey('made', key_id);
  assert.equal((await client.admin.getTenant('made')).tenant, 'made');
  await client.admin.deleteTenant('made', { force: true });
  await assert.rejects(client.admin.getTenant('made'), SheafNotFound);
  assert.deepEqual((await client.listEmbedders('acme')).default, (await client.admin.listEmbedders()).default);
  assert.ok((await client.metrics()).search_total > 0);
  assert.match(await client.metricsText(), /^# HELP sheaf_/m);
  assert.ok((await client.admin.resetMetrics()).reset_at > 0);
  assert.equal((await client.metrics()).search_total, 0);
  assert.deepEqual((await client.searchShared({ q: 'sea' })).matches, []);
  assert.deepEqual((await client.searchSharedByQuery({ q: 'sea' })).matches, []);
});

test('reindex jobs: started, seen, listed, controlled', async () => {
  const { job_id } = await client.reindex.start('acme', 'many', { compact: true });
  while (!['succeeded', 'failed'].includes((await client.reindex.get('acme', 'many', job_id)).status))
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(
    (await client.reindex.list('acme', 'many')).jobs.map(({ job_id: id, status }) => [id, status]),
    [[job_id, 'succeeded']],
  );
  assert.ok((await client.reindex.listAll()).jobs.some(({ job_id: id }) => id === job_id));
  const changes = [
    client.reindex.pause(job_id),
    client.reindex.resume(job_id),
    client.reindex.cancel('acme', 'many', job_id),
    client.reindex.rollBack('acme', 'many'),
  ];
  // All at once; the order in which they are rejected does not matter.
  await Promise.all(changes.map((change) => assert.rejects(change, SheafConflict)));
});

for (const encoding of ['json', 'msgpack'] as const)
  test(`vectors as Float32Array, and batches of searches: ${encoding}`, async () => {
    const encoded = new SheafClient({ url: server.url, encoding });
    const tenant = `floats-${encoding}`;
    const vectorOf = (degrees: number): Float32Array => {
      const angle = (degrees * Math.PI) / 180;
      return Float32Array.of(0, Math.cos(angle), Math.sin(angle)).subarray(1);
    };
    await encoded.createCollection(tenant, 'v', { embedder_type: 'identity', embedder_config: { dim: 2 } });
    await encoded.ingestVector(tenant, 'v', { docid: 'A', vector: vectorOf(0), metadata: { n: 1, none: undefined } });
    const { succeeded, documents } = await encoded.ingestBatch(tenant, 'v', [
      { docid: 'B', vector: vectorOf(30) },
      { docid: 'C', vector: [0.5, 0.5] },
      { docid: 'D', vector: Float32Array.of(1) },
    ]);
    assert.deepEqual([succeeded, documents[2]?.code], [2, 'dim_mismatch']);
    const streamed = encoded.ingestStream(tenant, 'v', [{ docid: 'E', vector: vectorOf(90) }]);
    assert.equal((await streamed.next()).value.ok, true);
    const { results, request_id } = await encoded.searchBatch(tenant, 'v', [
      { v: vectorOf(89), k: 1 },
      { v: [1, 2, 3] },
      { v: vectorOf(1), k: 2, filters: { n: 1 } },
    ]);
    const told = results.map((result) => (result.ok ? result.matches.map(({ meta }) => meta.docid) : result.code));
    assert.deepEqual(told, [['E'], 'dim_mismatch', ['A']]);
    assert.equal(typeof request_id, 'string');
    assert.equal((await encoded.search(tenant, 'v', { v: vectorOf(29), k: 1 })).matches[0]?.meta.docid, 'B');
    await encoded.ingestText(tenant, 't', { docid: 'T', text: 'Captain Nemo' });
    assert.equal((await encoded.search(tenant, 't', { q: 'captain', mode: undefined })).matches[0]?.id, 'T::chunk_0');
    assert.deepEqual((await encoded.searchShared({ q: 'captain' })).matches, []);
    await assert.rejects(encoded.search(tenant, 'v', { v: Float32Array.of(1) }), {
      name: 'SheafError',
      code: 'dim_mismatch',
      status: 422,
    });
  });

test('a write whose answer is cut off is sent again with its key, and written once', async () => {
  // Passes requests on, and closes the connection in place of every first answer to a key.
  const seen = new Set<string>();
  const proxy = createServer((request, response) => {
    const key = request.headers['idempotency-key'] as string | undefined;
    const { method = '', url = '', headers } = request;
    const onward = forward(`${server.url}${url}`, { method, headers }, (answer) => {
      if (key !== undefined && !seen.has(key)) {
        seen.add(key);
        answer.resume();
        answer.on('end', () => request.socket.destroy());
      } else answer.pipe(response.writeHead(answer.statusCode ?? 0, answer.headers));
    });
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  after(() => proxy.close());
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const keyed = new SheafClient({ url, idempotent: true });
  const { docid, version } = await keyed.ingestText('acme', 'once', { text: 'written once' });
  assert.equal(version, 1);
  const file = { name: 'a.txt', content: new Blob(['a file']) };
  assert.equal((await keyed.ingestFile('acme', 'once', file)).version, 1);
  assert.equal((await keyed.patchDocument('acme', 'once', docid, { metadata: { a: 1 } })).version, 2);
  const named = new SheafClient({ url });
  const idempotencyKey = 'a "name" of my own';
  assert.equal((await named.deleteDocument('acme', 'once', docid, { idempotencyKey })).chunks_deleted, 1);
  assert.equal((await named.deleteDocument('acme', 'once', docid, { idempotencyKey })).chunks_deleted, 1);
  assert.equal(seen.size, 4);
  const { documents } = await client.listDocuments('acme', 'once');
  assert.deepEqual(
    documents.map((document) => [document.docid, document.version]),
    [['A_TXT', 1]],
  );
});
