// The rerankers on the main thread: a real pool and a local endpoint, with a clock that the test sets forward.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RerankerSpec } from '../../../src/embedding/embedder-spec.js';
import { Rerankers } from '../../../src/service/embedding/rerankers.js';
import { EmbedPool } from '../../../src/pool/embed-pool.js';
import { startOpenAiServer, scoreOf } from '../../kit/openai-server.js';
import { SILENT } from '../../kit/log.js';

const threads = { queries: 1, documents: 1, queryModel: 1, documentModel: 1 };

test('after five failures in a row a reranker is left alone for five seconds, then tried by one search', async (t) => {
  let isDown = true;
  const { url, reranks } = await startOpenAiServer(t, {
    dim: 8,
    fail: () => (isDown ? { status: 500, json: {} } : undefined),
  });
  const endpoint = {
    url,
    model: 'm',
    apiKey: '',
    timeoutMs: 10_000,
    retriesMax: 0,
    requestsPerMinute: 0,
    tokensPerMinute: 0,
    callsMax: 8,
  };
  const spec: RerankerSpec = { key: 'remote', type: 'endpoint', endpoint };
  const pool = new EmbedPool({ threads, embedders: [], rerankers: [spec], log: SILENT });
  t.after(() => pool.close());
  const rerankers = new Rerankers([{ key: 'remote', spec }], pool);
  const ask = (): Promise<Float32Array> =>
    rerankers.score('remote', { text: 'a whale' }, ['the whale', 'bread'], 'acme');
  t.mock.timers.enable({ apis: ['Date'] });
  for (let i = 0; i < 5; i++) await assert.rejects(ask(), { code: 'reranker_unavailable' });
  const calls = reranks.length;
  isDown = false;
  await assert.rejects(ask(), { code: 'reranker_unavailable', options: { retryAfterS: 5 } });
  t.mock.timers.tick(4_900);
  await assert.rejects(ask(), { code: 'reranker_unavailable' });
  assert.equal(reranks.length, calls);
  t.mock.timers.tick(200);
  assert.deepEqual(await ask(), Float32Array.of(scoreOf('a whale', 'the whale'), 0));
  assert.deepEqual(await ask(), Float32Array.of(scoreOf('a whale', 'the whale'), 0));
});

test('what nobody waits for any more, and no texts at all, reach no reranker and count for nothing', async (t) => {
  const { url, reranks } = await startOpenAiServer(t, { dim: 8 });
  const endpoint = {
    url,
    model: 'm',
    apiKey: '',
    timeoutMs: 10_000,
    retriesMax: 0,
    requestsPerMinute: 0,
    tokensPerMinute: 0,
    callsMax: 8,
  };
  const spec: RerankerSpec = { key: 'remote', type: 'endpoint', endpoint };
  const pool = new EmbedPool({ threads, embedders: [], rerankers: [spec], log: SILENT });
  t.after(() => pool.close());
  const rerankers = new Rerankers([{ key: 'remote', spec }], pool);
  for (let i = 0; i < 6; i++)
    await assert.rejects(rerankers.score('remote', { text: 'a' }, ['b'], 'acme', AbortSignal.abort()));
  assert.equal((await rerankers.score('remote', { text: 'a' }, [], 'acme')).length, 0);
  assert.equal(reranks.length, 0);
  assert.equal((await rerankers.score('remote', { text: 'whale' }, ['whale'], 'acme'))[0], 1);
});
