// A reindex job that is cancelled at the moment in which its run pauses, and one whose cancellation could not be
// written: both end, and leave only the record. Over a real socket; the test delays or rejects what shard 0 is asked to
// save about the job.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import { BASE, ingest, jobUntil, startHeld, startPaused, startReindexServer, status } from '../../kit/reindex.js';
import type { TestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

/** Runs `before` each time before the job is saved in this status. */
function beforeSaved({ parts: { shards } }: TestServer, wanted: string, before: () => Promise<void>): void {
  const ask = shards.request.bind(shards) as (...all: unknown[]) => Promise<unknown>;
  const asked = async (
    shard: number,
    op: string,
    request: { job?: { status: string } },
    ...more: unknown[]
  ): Promise<unknown> => {
    if (op === 'saveJob' && request.job?.status === wanted) await before();
    return ask(shard, op, request, ...more);
  };
  Object.assign(shards, { request: asked });
}

async function assertGone({ call, parts }: TestServer, id: string): Promise<void> {
  assert.deepEqual([[...parts.shadows.all()], await parts.shards.request(0, 'loadShadows', {})], [[], []]);
  assert.deepEqual(
    (await parts.shards.request(0, 'loadJobs', {})).map(({ job_id, status }) => [job_id, status]),
    [[id, 'cancelled']],
  );
  assert.match((await call('GET', `${BASE}/detail`)).json.vector_space_key, /^builtin/);
}

test('cancelled while its run writes that it has paused', async (t) => {
  const { server, gate } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 60);
  const job = await startHeld({ server, gate });
  let cancelling: ReturnType<typeof call> | undefined;
  beforeSaved(server, 'paused', async () => {
    cancelling ??= call('DELETE', `${BASE}/reindex/${job.job_id}`);
    await jobUntil(server, job.job_id, status('cancelling'));
  });
  await call('POST', `/v1/admin/reindex/${job.job_id}/pause`);
  gate.open();
  await jobUntil(server, job.job_id, status('cancelled'));
  assert.deepEqual([(await cancelling)?.status, (await cancelling)?.json.status], [200, 'cancelled']);
  await assertGone(server, job.job_id);
});

test('cancelled again, where "cancelling" could not be written while its run wrote that it has paused', async (t) => {
  const { server, gate } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 60);
  const job = await startHeld({ server, gate });
  const cancel = (): ReturnType<typeof call> => call('DELETE', `${BASE}/reindex/${job.job_id}`);
  let tries = 0;
  let again: ReturnType<typeof call> | undefined;
  beforeSaved(server, 'cancelling', async () => {
    if (tries++ === 0) throw new AppError('storage_full');
  });
  beforeSaved(server, 'paused', async () => {
    if (again) return;
    assert.equal((await cancel()).json.code, 'storage_full');
    again = cancel();
    await Promise.race([again, until(() => tries > 1, 'the second cancel does not begin')]);
  });
  await call('POST', `/v1/admin/reindex/${job.job_id}/pause`);
  gate.open();
  await until(() => again !== undefined, 'the run does not pause');
  assert.equal((await again)?.json.status, 'cancelled');
  await assertGone(server, job.job_id);
});

for (const refused of ['cancelling', 'cancelled']) {
  test(`cancelled again, where "${refused}" could not be written`, async (t) => {
    const { server, gate } = await startReindexServer(t);
    const { call } = server;
    await ingest(server, 60);
    const job = await startPaused({ server, gate });
    let isFull = true;
    beforeSaved(server, refused, async () => {
      if (isFull) throw new AppError('storage_full');
    });
    const cancel = () => call('DELETE', `${BASE}/reindex/${job.job_id}`);
    assert.equal((await cancel()).json.code, 'storage_full');
    isFull = false;
    assert.deepEqual([(await cancel()).json.status, (await cancel()).json.status], ['cancelled', 'cancelled']);
    await assertGone(server, job.job_id);
  });
}
