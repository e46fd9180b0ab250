// A collection that is spread over more shards while the server is killed again and again: nothing acknowledged is lost,
// nothing deleted comes back, each document is in one shard, and the job continues by itself.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng } from '../../../src/base/prng.js';
import { AcknowledgedTexts, BASE, startProcess } from '../../kit/acknowledged-texts.js';
import { tempDirectory } from '../../kit/temp.js';

const DOCUMENTS = 1500;
const BATCH = 500;
const KILLS = 6;
const SEED = 11;
const PADDING = 'and so on '.repeat(40);

for (const fronts of ['0', '2']) {
  test(`killed again and again, with ${fronts} front threads`, async () => {
    const data = tempDirectory();
    const env = {
      SHEAF_DATA_DIR: data,
      SHEAF_STORAGE__PARTITIONS: '4',
      SHEAF_COLLECTIONS__PARTITIONS: '1',
      SHEAF_SERVER__THREADS: fronts,
      SHEAF_THREADS: '2',
    };
    const prng = createPrng(SEED);
    const model = new AcknowledgedTexts(SEED);
    let server = await startProcess(env);
    const documents = Array.from({ length: DOCUMENTS }, (_, n) => ({ docid: `d${n}`, text: `text ${n} ${PADDING}` }));
    for (let n = 0; n < DOCUMENTS; n += BATCH) {
      const { json } = await server.call('POST', `${BASE}/documents:batch`, {
        documents: documents.slice(n, n + BATCH),
      });
      assert.equal(json.succeeded, BATCH);
    }
    for (const { docid, text } of documents) model.texts.set(docid, text);
    for (const [kill, partitions] of [2, 4, 3, 1, 4, 2].slice(0, KILLS).entries()) {
      const { status, json } = await server.call('POST', `${BASE}/reindex`, { partitions });
      // The job of the kill before may still be under way, or have done the same.
      assert.ok([200, 400, 409].includes(status), JSON.stringify(json));
      const writing = (async () => {
        for (let n = 0; n < 200; n++)
          await model.write(server, `d${prng.int(DOCUMENTS)}`, prng.int(3) === 0 ? null : `changed ${kill} ${n}`);
      })().catch((error: unknown) => assert.ok(!(error instanceof assert.AssertionError), String(error)));
      await sleep(50 + prng.int(1200));
      server.serve.child.kill('SIGKILL');
      await Promise.all([writing, server.serve.ended]);
      server = await startProcess(env);
    }
    let live: { status: string }[] = [];
    for (let tries = 0; tries < 3000; tries++, await sleep(20)) {
      const { jobs } = (await server.call('GET', `${BASE}/reindex`)).json;
      assert.ok(
        jobs.every(({ status }: { status: string }) => status !== 'failed'),
        JSON.stringify(jobs),
      );
      live = jobs.filter(({ status }: { status: string }) => status !== 'succeeded');
      if (live.length === 0) break;
    }
    assert.deepEqual(live, []);
    await model.check(server);
    const { json: detail } = await server.call('GET', `${BASE}/detail`);
    const { json: listing } = await server.call('GET', `${BASE}/documents`);
    assert.equal(detail.doc_count, listing.documents.length);
    server.serve.child.kill('SIGTERM');
    assert.equal(await server.serve.ended, 0, server.serve.output());
    const main = new URL('../../../src/main.js', import.meta.url).pathname;
    execFileSync(process.execPath, [main, 'check', data], { stdio: 'pipe' });
  });
}
