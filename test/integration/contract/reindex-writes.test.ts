// Reindex jobs beside other work: other tenants are not affected, and quotas hold. test/system runs random writes
// beside them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { download, upload } from '../../kit/archives.js';
import {
  BASE,
  found,
  ingest,
  jobUntil,
  start,
  startHeld,
  startPaused,
  startReindexServer,
  status,
  textOf,
} from '../../kit/reindex.js';
import { until } from '../../kit/until.js';

test('a job that is held up holds up nobody: searches, writes and jobs of others go on', async (t) => {
  const { server, gate } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 30);
  const job = await startHeld({ server, gate });
  const other = '/v1/collections/globex/docs';
  assert.equal((await call('POST', `${other}/documents`, { docid: 'a', text: 'of another tenant' })).status, 201);
  const { json: theirs } = await call('POST', `${other}/reindex`, { compact: true });
  await jobUntil(server, theirs.job_id, status('succeeded'));
  assert.equal((await call('POST', `${other}/search`, { q: 'another' })).json.matches[0].id, 'a::chunk_0');
  assert.equal((await found(server, textOf(4)))[0], 'd4::chunk_0');
  gate.open();
  await jobUntil(server, job.job_id, status('succeeded'));
});

test('in a batch while a job runs an item with a vector of its own is refused, and no other; a quota holds', async (t) => {
  const { server, gate, texts } = await startReindexServer(t);
  const { call } = server;
  await call('POST', '/v1/admin/tenants', { tenant: 'acme', max_chunks_per_collection: 12 });
  await ingest(server, 10);
  const job = await startHeld({ server, gate });
  const documents = [
    { docid: 'v', vector: new Array(512).fill(1) },
    { docid: 'd1', text: textOf(1, 2) },
    { docid: 'n1', text: 'one' },
    { docid: 'n2', text: 'two' },
    { docid: 'n3', text: 'three' },
  ];
  const batch = call('POST', `${BASE}/documents:batch`, { documents });
  await until(() => texts().includes('one'), 'the endpoint is not asked for the batch');
  gate.open();
  const { json } = await batch;
  const codes = json.documents.map(({ code = 'stored' }: { code?: string }) => code);
  // Which of the new documents exceeds the limit depends on their shards.
  assert.deepEqual(
    [codes[0], codes[1], codes.slice(2).sort()],
    ['reindex_conflict', 'stored', ['chunk_limit_reached', 'stored', 'stored']],
  );
  const done = await jobUntil(server, job.job_id, status('succeeded'));
  assert.equal(done.total_chunks, 12);
  assert.equal((await found(server, textOf(1, 2)))[0], 'd1::chunk_0');
});

test('a paused job ends when an archive takes the place of its collection, and blocks no other', async (t) => {
  const { server, gate } = await startReindexServer(t);
  await ingest(server, 1200);
  const { bytes } = await download(server, `${BASE}/archive`);
  const job = await startPaused({ server, gate });
  assert.equal((await upload(server, 'PUT', `${BASE}/archive`, bytes)).status, 200);
  await jobUntil(server, job.job_id, status('failed'));
  const { json: second } = await start(server);
  await jobUntil(server, second.job_id, status('succeeded'));
});

test('a paused job ends when its collection is deleted', async (t) => {
  const { server, gate } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 1200);
  const job = await startPaused({ server, gate });
  await call('DELETE', BASE);
  const gone = await jobUntil(server, job.job_id, status('failed'));
  assert.match(gone.error, /^collection_not_found/);
  assert.equal((await call('POST', `/v1/admin/reindex/${job.job_id}/resume`)).json.code, 'reindex_state_conflict');
});
