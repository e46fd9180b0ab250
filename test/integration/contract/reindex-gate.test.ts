// The quality gate that a new vector space has to pass before searches use it, and the return to the previous space.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareRanks } from '../../../src/service/reindex/gate.js';
import {
  BASE,
  found,
  ingest,
  jobUntil,
  start,
  startReindexServer,
  status,
  textOf,
  TO_FAR,
  versions,
} from '../../kit/reindex.js';

test('overlap and rank shift of two rankings', () => {
  assert.deepEqual(compareRanks(['a', 'b', 'c'], ['b', 'a', 'd']), { overlap: 2 / 3, shifts: [1, 1] });
  assert.deepEqual(
    [compareRanks([], []).overlap, compareRanks(['a'], []).overlap, compareRanks(['a'], ['a', 'b']).overlap],
    [1, 0, 0.5],
  );
});

test('a space that finds too little of what is found today does not take over', async (t) => {
  const { server } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 60);
  for (const n of [1, 2, 3]) await found(server, textOf(n));
  const { json: job } = await start(server, { ...TO_FAR, gate: { min_overlap: 0.95, last_n: 10 } });
  const failed = await jobUntil(server, job.job_id, status('failed'));
  assert.match(failed.error, /^reindex_gate_failed/);
  assert.deepEqual([failed.gate_result.queries, failed.gate_result.passed], [3, false]);
  assert.ok(failed.gate_result.overlap < 0.95 && failed.gate_result.overlap >= 0.2, String(failed.gate_result.overlap));
  assert.ok(failed.gate_result.live_ms.mean > 0 && failed.gate_result.shadow_ms.max > 0);
  assert.deepEqual(failed.gate_result.staged_ms, failed.gate_result.shadow_ms);
  assert.match((await call('GET', `${BASE}/detail`)).json.vector_space_key, /^builtin/);
  const { json: second } = await start(server, { ...TO_FAR, gate: { min_overlap: 0.1, last_n: 10 } });
  const done = await jobUntil(server, second.job_id, status('succeeded'));
  assert.deepEqual([done.gate_result.queries, done.gate_result.passed], [3, true]);
  assert.equal((await call('GET', `${BASE}/queries`)).json.count, 3);
});

test('a kept space is gone back to in one call, with what was written since', async (t) => {
  const { server } = await startReindexServer(t);
  const { call } = server;
  const rollback = () => call('POST', `${BASE}/rollback`);
  assert.equal((await rollback()).json.code, 'collection_not_found');
  await ingest(server, 40);
  assert.deepEqual([(await rollback()).status, (await rollback()).json.code], [409, 'reindex_state_conflict']);
  const { json: job } = await start(server, { ...TO_FAR, keep_previous_seconds: 600 });
  await jobUntil(server, job.job_id, status('succeeded'));
  await call('POST', `${BASE}/documents`, { docid: 'd1', text: textOf(1, 2) });
  await call('POST', `${BASE}/documents`, { docid: 'new', text: 'a new one' });
  await call('DELETE', `${BASE}/documents/d2`);
  const answer = await rollback();
  assert.deepEqual([answer.status, answer.json.embedder_type, answer.json.collection], [200, 'builtin', 'docs']);
  const all = await versions(server);
  assert.deepEqual([all.d1, all.new, all.d2, Object.keys(all).length], [2, 1, undefined, 40]);
  assert.match((await call('GET', `${BASE}/detail`)).json.vector_space_key, /^builtin/);
  for (const [q, id] of [
    [textOf(1, 2), 'd1'],
    ['a new one', 'new'],
  ] as const)
    assert.equal((await found(server, q))[0], `${id}::chunk_0`);
  assert.equal((await rollback()).json.code, 'reindex_state_conflict');
});

test('a space that is not kept cannot be gone back to, nor one that lacks what cannot be embedded for it', async (t) => {
  const { server } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 10);
  const { json: job } = await start(server);
  await jobUntil(server, job.job_id, status('succeeded'));
  assert.equal((await call('POST', `${BASE}/rollback`)).json.code, 'reindex_state_conflict');
  const { json: back } = await start(server, { embedder_type: 'builtin', keep_previous_seconds: 600 });
  await jobUntil(server, back.job_id, status('succeeded'));
  await call('POST', `${BASE}/documents`, { docid: 'v', vector: Array.from({ length: 512 }, (_, i) => Math.cos(i)) });
  const stale = await call('POST', '/v1/admin/collections/acme/docs/rollback');
  assert.deepEqual(
    [stale.status, stale.json.code, stale.json.details?.reason],
    [409, 'reindex_state_conflict', 'stale'],
  );
});
