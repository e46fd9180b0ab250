// A server that writes checkpoints is stopped and killed at random moments during writes. After each start every
// acknowledged write is found, no other is, and exact searches agree with brute force.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cosine } from '../../../load/kit/cosine.js';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { spawnServe, untilReady, type ServeProcess } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const DIM = 16;
/** Enough documents for both shards to have a graph. */
const DOCUMENTS = 10_000;
const ROUNDS = 6;
const BATCH = 100;
const COLLECTION = '/v1/collections/t/c';

class Life {
  readonly acknowledged = new Map<string, number[]>();
  /** Writes that were not answered: they may or may not have been applied. */
  doubtful = new Map<string, number[] | undefined>();
  url = '';

  constructor(private readonly prng: Prng) {}

  async call(method: string, path: string, body?: unknown): Promise<{ status: number; json: any }> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      body: body === undefined ? undefined : JSON.stringify(body),
      headers: body === undefined ? {} : { 'content-type': 'application/json' },
    } as RequestInit);
    const text = await response.text();
    return { status: response.status, json: text ? JSON.parse(text) : {} };
  }

  async put(from: number): Promise<void> {
    const documents = Array.from({ length: BATCH }, (_, i) => ({
      docid: `D${from + i}`,
      vector: Array.from({ length: DIM }, () => this.prng.normal()),
    }));
    this.doubtful = new Map(documents.map(({ docid, vector }) => [docid, vector]));
    assert.equal((await this.call('POST', `${COLLECTION}/documents:batch`, { documents })).status, 201);
    for (const { docid, vector } of documents) this.acknowledged.set(docid, vector);
    this.doubtful.clear();
  }

  async remove(docid: string): Promise<void> {
    this.doubtful = new Map([[docid, undefined]]);
    const { status } = await this.call('DELETE', `${COLLECTION}/documents/${docid}`);
    assert.ok(status < 300 || status === 404, `${status}`);
    this.acknowledged.delete(docid);
    this.doubtful.clear();
  }

  /** Writes until the server is gone. */
  async churn(): Promise<void> {
    for (;;) {
      if (this.prng.int(3) === 0) await this.remove(`D${this.prng.int(DOCUMENTS)}`);
      else await this.put(this.prng.int(DOCUMENTS - BATCH));
    }
  }

  /**
   * Resolves the doubtful writes by removing their documents, and asserts that everything else is as it was
   * acknowledged.
   */
  async check(label: string): Promise<void> {
    for (const docid of [...this.doubtful.keys()]) await this.remove(docid);
    const { json } = await this.call('GET', `${COLLECTION}/detail`);
    assert.equal(json.doc_count, this.acknowledged.size, `${label}: ${JSON.stringify(json)}`);
    for (let i = 0; i < 10; i++) {
      const query = Array.from({ length: DIM }, () => this.prng.normal());
      const { status, json: found } = await this.call('POST', `${COLLECTION}/search`, { v: query, k: 10, exact: true });
      assert.equal(status, 200, label);
      const scores = [...this.acknowledged.values()].map((vector) => cosine(query, vector)).sort((a, b) => b - a);
      found.matches.forEach(({ score }: { score: number }, n: number) =>
        assert.ok(
          Math.abs(score - (scores[n] as number)) < 1e-3,
          `${label}: hit ${n} scores ${score}, not ${scores[n]}`,
        ),
      );
      assert.equal(found.matches.length, 10);
    }
  }
}

function start(dataDir: string): ServeProcess {
  return spawnServe({
    SHEAF_DATA_DIR: dataDir,
    SHEAF_STORAGE__PARTITIONS: '2',
    SHEAF_COLLECTIONS__PARTITIONS: '2',
    SHEAF_CHECKPOINTS__INTERVAL_SECONDS: '1',
    SHEAF_LOG__LEVEL: 'info',
  });
}

/** Ends the server during writes. */
async function end({ child }: ServeProcess, life: Life, signal: NodeJS.Signals, afterMs: number): Promise<void> {
  const gone = life.churn().catch(() => {});
  await sleep(afterMs);
  child.kill(signal);
  await Promise.all([gone, child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined]);
}

test('every acknowledged write is there after kill -9 and after SIGTERM, whatever checkpoint there is', async () => {
  const [dataDir, prng] = [tempDirectory(), createPrng(11)];
  const life = new Life(prng);
  let server = start(dataDir);
  life.url = await untilReady(server);
  assert.equal(
    (await life.call('POST', COLLECTION, { embedder_type: 'identity', embedder_config: { dim: DIM } })).status,
    201,
  );
  for (let from = 0; from < DOCUMENTS; from += BATCH) await life.put(from);
  for (let round = 0; round < ROUNDS; round++) {
    await end(server, life, prng.int(3) === 0 ? 'SIGTERM' : 'SIGKILL', 300 + prng.int(2500));
    server = start(dataDir);
    life.url = await untilReady(server);
    await life.check(`round ${round}`);
    assert.ok(!/"level":50/.test(server.output()), server.output());
  }
  // On a slow machine no run may have been long enough for a checkpoint; after one more change the server writes it.
  await life.put(0);
  await until(() => existsSync(join(dataDir, 'checkpoints', 'shard-0', 'manifest.json')), server.output);
  server.child.kill('SIGTERM');
  assert.equal(await server.ended, 0);
  server = start(dataDir);
  life.url = await untilReady(server);
  await life.check('after a clean stop');
  assert.ok(!/the checkpoint is unusable/.test(server.output()), server.output());
});
