// Reindex jobs under `kill -9`: the server runs in a separate process, which is killed repeatedly while a job runs and
// documents are written. Nothing acknowledged is lost, no document is in only one vector space, and the job continues
// by itself.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng } from '../../../src/base/prng.js';
import { AcknowledgedTexts, BASE, startProcess } from '../../kit/acknowledged-texts.js';
import { FAR_DIM, held, startFar, type Far } from '../../kit/reindex.js';
import { tempDirectory } from '../../kit/temp.js';

const DOCUMENTS = 1500;
const BATCH = 500;
const KILLS = 4;
/**
 * How many embedder calls are answered before a kill. The job alone needs more calls than all killed processes together
 * get.
 */
const ANSWERED = 2;
const SEED = 7;
/** Makes the documents fill several pages. */
const PADDING = 'and so on '.repeat(80);

test('a job that is killed again and again ends, and every acknowledged write is in the new space', async (t) => {
  // The server is killed while a further call waits.
  let budget = ANSWERED;
  const far: Far = await startFar(t, { fail: async () => void (budget-- > 0 || (await far.gate.pass())) });
  const { gate } = far;
  const env = { ...far.env, SHEAF_DATA_DIR: tempDirectory() };
  const prng = createPrng(SEED);
  const model = new AcknowledgedTexts(SEED);
  gate.close();
  let server = await startProcess(env);
  const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({ docid: `d${n}`, text: `text ${n} ${PADDING}` }));
  for (let n = 0; n < DOCUMENTS; n += BATCH) {
    const { json } = await server.call('POST', `${BASE}/documents:batch`, { documents: documents.slice(n, n + BATCH) });
    assert.equal(json.succeeded, BATCH);
  }
  for (const { docid, text } of documents) model.texts.set(docid, text);
  let startedMs = 0;
  const { json: job } = await server.call('POST', `${BASE}/reindex`, { embedder_type: 'openai', embed_model: 'm' });
  for (let kill = 0; kill < KILLS; kill++) {
    const writing = (async () => {
      for (let n = 0; n < 40; n++)
        await model.write(server, `d${prng.int(DOCUMENTS)}`, prng.int(4) === 0 ? null : `changed ${kill} ${n}`);
    })().catch((error: unknown) => assert.ok(!(error instanceof assert.AssertionError), String(error)));
    await held(gate);
    server.serve.child.kill('SIGKILL');
    await Promise.all([writing, server.serve.ended]);
    gate.close();
    budget = kill + 1 < KILLS ? ANSWERED : Infinity;
    startedMs = Date.now();
    server = await startProcess(env);
  }
  let record: Record<string, any> = {};
  for (let tries = 0; tries < 3000 && record.status !== 'succeeded'; tries++, await sleep(20)) {
    record = (await server.call('GET', `/v1/admin/reindex/${job.job_id}`)).json;
    assert.notEqual(record.status, 'failed', record.error);
  }
  assert.equal(record.status, 'succeeded');
  assert.ok(Date.parse(record.finished_at) >= startedMs, 'the job ended before it was killed for the last time');
  const { json: detail } = await server.call('GET', `${BASE}/detail`);
  assert.deepEqual([detail.vector_space_key, detail.chunk_count], [`openai:m:dim=${FAR_DIM}`, record.total_chunks]);
  await model.check(server);
});
