// Shard workers that are killed repeatedly under writes and searches.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrng } from '../../../src/base/prng.js';
import { ready, startTestServer } from '../../kit/server.js';

const SHARDS = 3;
const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: String(SHARDS) });
const { call } = server;

test('killed again and again under writes and searches: nothing acknowledged is lost, nothing hangs, no half document', async () => {
  const seed = 11;
  const prng = createPrng(seed);
  const acknowledged = new Map<string, number>();
  let acknowledgments = 0;
  let running = true;
  const writer = async (number: number): Promise<void> => {
    for (let version = 1; running; version++) {
      const docid = `W${number}-${version % 7}`;
      const answer = await call('POST', '/v1/collections/acme/kill/documents', {
        docid,
        text: `${version} `.repeat(700),
        metadata: { version },
      });
      if (answer.status === 201) {
        acknowledged.set(docid, version);
        acknowledgments++;
      } else assert.equal(answer.status, 503, JSON.stringify(answer.json));
    }
  };
  const searcher = async (): Promise<void> => {
    while (running) {
      const { status, json } = await call('GET', '/v1/collections/acme/kill/search?q=1+2+3&k=200');
      assert.ok(status === 200 || status === 503, String(status));
      const chunks = new Map<string, number>();
      for (const { meta } of json.matches ?? [])
        chunks.set(`${meta.docid}@${meta.version}`, (chunks.get(`${meta.docid}@${meta.version}`) ?? 0) + 1);
      const ids = [...chunks.keys()].map((key) => key.split('@')[0]);
      assert.equal(new Set(ids).size, ids.length, `two versions of a document in one answer, seed ${seed}`);
    }
  };
  const work = [writer(0), writer(1), writer(2), searcher()];
  for (let kill = 0; kill < 12; kill++) {
    // There are writes between two deaths, however slow the machine is.
    const before = acknowledgments;
    await sleep(100 + prng.int(150));
    while (acknowledgments < before + 3) await sleep(5);
    await server.parts.shards.kill(prng.int(SHARDS));
  }
  running = false;
  await Promise.all(work);
  await ready(server);
  for (const [docid, version] of acknowledged) {
    const { json } = await call('GET', `/v1/collections/acme/kill/documents/${docid}`);
    assert.ok(
      json.metadata?.version >= version,
      `${docid}: acknowledged ${version}, found ${json.metadata?.version}, seed ${seed}`,
    );
    const { json: listed } = await call('GET', `/v1/collections/acme/kill/documents/${docid}/chunks`);
    assert.equal(listed.count, json.chunk_count);
  }
});
