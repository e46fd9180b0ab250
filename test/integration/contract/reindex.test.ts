// Reindex jobs on a real server with a second embedder: a new vector space is built beside the one that is searched,
// and replaces it at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BASE,
  found,
  held,
  ingest,
  jobUntil,
  start,
  startHeld,
  startReindexServer,
  status,
  textOf,
  TO_FAR,
  versions,
} from '../../kit/reindex.js';
import { startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

test('a job builds another space; searches see the old one until the switch, and versions, times and the log stay', async (t) => {
  const { server, gate } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 40);
  await ingest(server, 20, 2);
  await found(server, textOf(3, 2));
  const before = (await call('GET', `${BASE}/documents/d3`)).json;
  gate.close();
  const { status: code, json: job } = await start(server);
  assert.equal(code, 200);
  assert.deepEqual(
    [job.tenant, job.collection, job.total_chunks, job.completed_chunks, job.finished_at],
    ['acme', 'docs', 40, 0, null],
  );
  assert.deepEqual(job.target, { embed_model: 'm', embedder_type: 'openai', embedder_config: { dim: 8 } });
  await held(gate);
  assert.equal((await found(server, textOf(3, 2)))[0], 'd3::chunk_0');
  assert.match((await call('GET', `${BASE}/detail`)).json.vector_space_key, /^builtin/);
  gate.open();
  const done = await jobUntil(server, job.job_id, status('succeeded'));
  assert.deepEqual(
    [done.total_chunks, done.completed_chunks, typeof done.started_at, typeof done.finished_at],
    [40, 40, 'string', 'string'],
  );
  const { json: detail } = await call('GET', `${BASE}/detail`);
  assert.deepEqual([detail.vector_space_key, detail.doc_count, detail.embedder_type], ['openai:m:dim=8', 40, 'openai']);
  const { latency_ms: _, request_id: _id, ...after } = (await call('GET', `${BASE}/documents/d3`)).json;
  assert.deepEqual({ ...before, ...after }, before);
  assert.equal((await found(server, textOf(3, 2)))[0], 'd3::chunk_0');
  assert.equal((await call('GET', `${BASE}/queries`)).json.count, 3);
  assert.deepEqual(
    (await call('GET', `${BASE}/reindex`)).json.jobs.map(({ job_id: id }: { job_id: string }) => id),
    [job.job_id],
  );
  assert.deepEqual(server.faults, []);
});

test('what is written, replaced and deleted while a job runs is in the new space too', async (t) => {
  const { server, gate, texts } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 60);
  const job = await startHeld({ server, gate });
  const writes = [
    call('POST', `${BASE}/documents`, { docid: 'd1', text: textOf(1, 2) }),
    call('POST', `${BASE}/documents`, { docid: 'new', text: 'a new one' }),
    call('POST', `${BASE}/documents:batch`, {
      documents: [
        { docid: 'd2', text: textOf(2, 2) },
        { docid: 'n2', text: 'another' },
      ],
    }),
    ...['d5', 'd59'].map((docid) => call('DELETE', `${BASE}/documents/${docid}`)),
  ];
  await until(
    () => [textOf(1, 2), 'a new one', textOf(2, 2), 'another'].every((text) => texts().includes(text)),
    'the endpoint is not asked for what is written',
  );
  gate.open();
  assert.deepEqual(
    (await Promise.all(writes)).map((answer) => answer.status),
    [201, 201, 201, 200, 200],
  );
  await jobUntil(server, job.job_id, status('succeeded'));
  const all = await versions(server);
  assert.deepEqual(
    [all.d1, all.d2, all.new, all.n2, all.d5, all.d59, all.d0, Object.keys(all).length],
    [2, 2, 1, 1, undefined, undefined, 1, 60],
  );
  for (const [q, id] of [
    [textOf(1, 2), 'd1'],
    ['a new one', 'new'],
    [textOf(30), 'd30'],
  ] as const)
    assert.equal((await found(server, q))[0], `${id}::chunk_0`);
  assert.equal((await call('GET', `${BASE}/detail`)).json.chunk_count, 60);
});

test('a paused job holds nothing up, and goes on where it was: no text is embedded twice', async (t) => {
  const { server, gate, texts } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 1500);
  const job = await startHeld({ server, gate });
  const pause = () => call('POST', `/v1/admin/reindex/${job.job_id}/pause`);
  assert.equal((await pause()).json.status, 'pausing');
  gate.open();
  const paused = await jobUntil(server, job.job_id, status('paused'));
  assert.ok(paused.completed_chunks > 0 && paused.completed_chunks < 1500, String(paused.completed_chunks));
  assert.equal((await pause()).json.status, 'paused');
  const embedded = texts().length;
  await call('POST', `${BASE}/documents`, { docid: 'd7', text: textOf(7, 2) });
  await call('DELETE', `${BASE}/documents/d8`);
  assert.equal(texts().length, embedded);
  const resumed = await call('POST', `/v1/admin/reindex/${job.job_id}/resume`);
  assert.ok(['queued', 'running'].includes(resumed.json.status), resumed.json.status);
  const done = await jobUntil(server, job.job_id, status('succeeded'));
  assert.deepEqual([done.completed_chunks, done.total_chunks], [1499, 1499]);
  const counts = new Map<string, number>();
  for (const text of texts()) counts.set(text, (counts.get(text) ?? 0) + 1);
  assert.deepEqual(
    [...counts].filter(([, count]) => count > 1),
    [],
  );
  assert.equal((await found(server, textOf(7, 2)))[0], 'd7::chunk_0');
});

test('a cancelled job leaves the collection as it was, and nothing else but its record', async (t) => {
  const { server, gate } = await startReindexServer(t);
  const { call, parts } = server;
  await ingest(server, 60);
  const job = await startHeld({ server, gate });
  const cancelled = await call('DELETE', `${BASE}/reindex/${job.job_id}`);
  assert.deepEqual(
    [cancelled.status, cancelled.json.status, typeof cancelled.json.finished_at],
    [200, 'cancelled', 'string'],
  );
  gate.open();
  assert.deepEqual([[...parts.shadows.all()], await parts.shards.request(0, 'loadShadows', {})], [[], []]);
  assert.match((await call('GET', `${BASE}/detail`)).json.vector_space_key, /^builtin/);
  assert.equal((await call('DELETE', `/v1/admin/reindex/${job.job_id}`)).json.status, 'cancelled');
  assert.equal((await call('POST', `/v1/admin/reindex/${job.job_id}/pause`)).json.code, 'reindex_state_conflict');
  const { json: second } = await start(server);
  await jobUntil(server, second.job_id, status('succeeded'));
});

test('a failed job blocks no other, and goes on where it failed', async (t) => {
  let refuses = true;
  const { server } = await startReindexServer(t, { refuses: (text) => refuses && text === textOf(9) });
  const { call } = server;
  await ingest(server, 30);
  const { json: first } = await start(server);
  const failed = await jobUntil(server, first.job_id, status('failed'));
  assert.match(failed.error, /^text_not_embeddable: /);
  const { json: second } = await start(server);
  await jobUntil(server, second.job_id, status('failed'));
  assert.equal((await call('POST', `/v1/admin/reindex/${first.job_id}/resume`)).json.code, 'reindex_state_conflict');
  refuses = false;
  assert.equal((await call('POST', `/v1/admin/reindex/${second.job_id}/resume`)).status, 200);
  const done = await jobUntil(server, second.job_id, status('succeeded'));
  assert.equal(done.error, undefined);
});

test('what cannot be reindexed is refused, and a second request does not hang', async (t) => {
  const { server, gate } = await startReindexServer(t);
  const { call } = server;
  const code = async (path: string, body: object): Promise<unknown[]> => {
    const answer = await call('POST', path, body);
    return [answer.status, answer.json.code];
  };
  assert.deepEqual(await code(`${BASE}/reindex`, TO_FAR), [404, 'collection_not_found']);
  await ingest(server, 5);
  assert.deepEqual(await code(`${BASE}/reindex`, {}), [422, 'validation_error']);
  assert.deepEqual(await code(`${BASE}/reindex`, { gate: { min_overlap: 2, last_n: 5 }, ...TO_FAR }), [
    422,
    'validation_error',
  ]);
  for (const body of [
    { embedder_type: 'builtin' },
    { embed_model: 'unknown' },
    { compact: true, ...TO_FAR },
    { embedder_type: 'identity', embedder_config: { dim: 3 } },
  ])
    assert.deepEqual(await code(`${BASE}/reindex`, body), [400, 'reindex_invalid']);
  await call('POST', '/v1/collections/acme/own', { embedder_type: 'identity', embedder_config: { dim: 2 } });
  assert.deepEqual(await code('/v1/collections/acme/own/reindex', TO_FAR), [400, 'reindex_invalid']);
  gate.close();
  const { json: job } = await start(server);
  assert.deepEqual(await code(`/v1/admin/collections/acme/docs/reindex`, TO_FAR), [409, 'reindex_conflict']);
  assert.deepEqual(await code(`${BASE}/documents`, { docid: 'v', vector: new Array(512).fill(1) }), [
    409,
    'reindex_conflict',
  ]);
  for (const path of [
    `${BASE}/reindex/nothing`,
    `/v1/collections/acme/own/reindex/${job.job_id}`,
    '/v1/admin/reindex/0198c2f5-3b1c-7c44-b0a1-5e2f7d9c8a10',
  ])
    assert.deepEqual((await call('GET', path)).json.code, 'reindex_job_not_found');
  gate.open();
  await jobUntil(server, job.job_id, status('succeeded'));
  await call('POST', '/v1/collections/acme/mixed/documents', { docid: 'v', vector: new Array(512).fill(1) });
  assert.deepEqual(await code('/v1/collections/acme/mixed/reindex', TO_FAR), [400, 'reindex_invalid']);
});

test("a compaction keeps the embedder and everything that is found, vectors of one's own too", async (t) => {
  const { server, texts } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 50);
  await call('POST', `${BASE}/documents`, { docid: 'v', vector: Array.from({ length: 512 }, (_, i) => Math.sin(i)) });
  const before = await found(server, textOf(11), 20);
  const { json: job } = await start(server, { compact: true });
  const done = await jobUntil(server, job.job_id, status('succeeded'));
  assert.deepEqual([done.compact, done.completed_chunks], [true, 51]);
  assert.deepEqual(await found(server, textOf(11), 20), before);
  assert.deepEqual(texts(), []);
});

test('a job goes on by itself after a restart', async (t) => {
  const { server, gate, env } = await startReindexServer(t);
  await ingest(server, 300);
  const job = await startHeld({ server, gate });
  const stopped = server.stop();
  gate.open();
  await stopped;
  const again = await startTestServer({ ...env, SHEAF_DATA_DIR: server.dataDir });
  const done = await jobUntil(again, job.job_id, status('succeeded'));
  assert.deepEqual([done.completed_chunks, Object.keys(await versions(again)).length], [300, 300]);
  assert.equal((await found(again, textOf(200)))[0], 'd200::chunk_0');
  assert.deepEqual(again.faults, []);
});

test('a server that has a failed job starts again, and the job can go on', async (t) => {
  let refuses = true;
  const { server, env } = await startReindexServer(t, { refuses: (text) => refuses && text === textOf(9) });
  await ingest(server, 30);
  const { json: job } = await start(server);
  await jobUntil(server, job.job_id, status('failed'));
  await server.stop();
  refuses = false;
  const again = await startTestServer({ ...env, SHEAF_DATA_DIR: server.dataDir });
  assert.equal((await again.call('GET', `/v1/admin/reindex/${job.job_id}`)).json.status, 'failed');
  await again.call('POST', `/v1/admin/reindex/${job.job_id}/resume`);
  await jobUntil(again, job.job_id, status('succeeded'));
  assert.deepEqual(again.faults, []);
});

test('a collection that is renamed meanwhile keeps its job, and one that is deleted ends it', async (t) => {
  const { server, gate } = await startReindexServer(t);
  const { call, parts } = server;
  await ingest(server, 30);
  const job = await startHeld({ server, gate });
  await call('POST', `${BASE}/move`, { new_name: 'moved' });
  gate.open();
  const done = await jobUntil(server, job.job_id, status('succeeded'));
  assert.deepEqual(
    [done.collection, (await call('GET', '/v1/collections/acme/moved/detail')).json.vector_space_key],
    ['moved', 'openai:m:dim=8'],
  );
  const { json: second } = await call('POST', '/v1/collections/acme/moved/reindex', { embedder_type: 'builtin' });
  await call('DELETE', '/v1/collections/acme/moved');
  const gone = await jobUntil(server, second.job_id, status('failed', 'succeeded'));
  if (gone.status === 'failed') assert.match(gone.error, /^collection_(not_found|changed)/);
  assert.deepEqual(await parts.shards.request(0, 'loadShadows', {}), []);
});

test('a job that is pausing while its collection is deleted ends', async (t) => {
  const { server, gate } = await startReindexServer(t);
  const { call } = server;
  for (let delayMs = 0; delayMs < 24; delayMs += 2) {
    await ingest(server, 30);
    const job = await startHeld({ server, gate });
    await call('POST', `/v1/admin/reindex/${job.job_id}/pause`);
    gate.open();
    await sleep(delayMs);
    await call('DELETE', BASE);
    const ended = await jobUntil(server, job.job_id, status('failed'));
    assert.match(ended.error, /^collection_not_found/);
  }
});
