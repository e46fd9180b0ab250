// Continuous writes during reindex jobs: whatever is written in whatever order, the collection ends with the
// acknowledged documents in both vector spaces.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { BASE, ingest, jobUntil, start, startReindexServer, status, textOf, versions } from '../../kit/reindex.js';
import type { TestServer } from '../../kit/server.js';

test('documents that are put without a pause while spaces are switched: every one that was acknowledged is there, in its version', async (t) => {
  const { server } = await startReindexServer(t);
  const { call } = server;
  await ingest(server, 40);
  const acknowledged: Record<string, number> = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`d${n}`, 1]));
  let isOver = false;
  const write = async (writer: number): Promise<void> => {
    for (let n = writer; !isOver; n = (n + 4) % 40) {
      const version = (acknowledged[`d${n}`] as number) + 1;
      const answer = await call('POST', `${BASE}/documents`, { docid: `d${n}`, text: textOf(n, version) });
      if (answer.status === 201) acknowledged[`d${n}`] = version;
      else assert.deepEqual([answer.status, answer.json.code], [503, 'collection_changed'], answer.text);
    }
  };
  const writing = [0, 1, 2, 3].map(write);
  // A slow machine makes few writes during a job, so there are more rounds until enough were made.
  for (let round = 0; round < 4 || !Object.values(acknowledged).some((version) => version > 3); round++) {
    const { json: job } = await start(server, round % 2 === 0 ? undefined : { embedder_type: 'builtin' });
    await jobUntil(server, job.job_id, status('succeeded'));
  }
  isOver = true;
  await Promise.all(writing);
  assert.deepEqual(await versions(server), acknowledged);
  for (const [docid, version] of Object.entries(acknowledged)) {
    const { json } = await call('POST', `${BASE}/search`, { q: textOf(0), k: 5, filters: { docid } });
    assert.equal(json.matches[0]?.text, textOf(Number(docid.slice(1)), version));
  }
  assert.deepEqual(server.faults, []);
});

/** Writes until `isOver`. The model holds the acknowledged version of each document that exists. */
async function writeAtRandom(
  { call }: TestServer,
  prng: Prng,
  model: Map<string, string>,
  isOver: () => boolean,
): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const docid = `d${prng.int(200)}`;
    const text = `${docid} changed ${n} ${prng.int(1000)}`;
    if (prng.int(4) === 0) {
      assert.equal((await call('DELETE', `${BASE}/documents/${docid}`)).status, 200);
      model.delete(docid);
    } else if (prng.int(3) === 0) {
      const { json } = await call('POST', `${BASE}/documents:batch`, {
        documents: [
          { docid, text: 'first' },
          { docid, text },
        ],
      });
      assert.equal(json.succeeded, 2, JSON.stringify(json));
      model.set(docid, text);
    } else {
      const answer = await call('POST', `${BASE}/documents`, { docid, text });
      assert.equal(answer.status, 201, answer.text);
      model.set(docid, text);
    }
  }
}

for (const seed of [1, 2]) {
  test(`to and fro with writes all the time, pauses and a way back: nothing is lost or comes back, seed ${seed}`, async (t) => {
    const { server } = await startReindexServer(t);
    const { call } = server;
    const prng = createPrng(seed);
    await ingest(server, 200);
    const model = new Map(Array.from({ length: 200 }, (_, n) => [`d${n}`, textOf(n)]));
    let isOver = false;
    const writing = writeAtRandom(server, prng, model, () => isOver);
    for (const target of [
      { embedder: 'far', keep_previous_seconds: 600 },
      { compact: true },
      { embedder: 'builtin' },
      { embedder: 'far', keep_previous_seconds: 600 },
    ]) {
      const { json: job } = await start(server, target);
      if (prng.int(2) === 0) await call('POST', `/v1/admin/reindex/${job.job_id}/pause`);
      const { status: state } = await jobUntil(server, job.job_id, status('paused', 'succeeded'));
      if (state === 'paused') await call('POST', `/v1/admin/reindex/${job.job_id}/resume`);
      await jobUntil(server, job.job_id, status('succeeded'));
    }
    assert.equal((await call('POST', `${BASE}/rollback`)).status, 200);
    isOver = true;
    await writing;
    assert.deepEqual(Object.keys(await versions(server)).sort(), [...model.keys()].sort());
    for (const [docid, text] of model) {
      const { json } = await call('POST', `${BASE}/search`, { q: text, k: 1, filters: { docid } });
      assert.equal(json.matches[0]?.text, text, `${docid}, seed ${seed}`);
    }
    assert.deepEqual(server.faults, []);
  });
}
