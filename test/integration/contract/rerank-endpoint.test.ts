// `rerank` by an endpoint, over real sockets on both sides: hits get its scores, nobody sees its key, and searches
// report when it does not answer.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { startOpenAiServer, scoreOf, type OpenAiServer, type OpenAiServerOptions } from '../../kit/openai-server.js';
import { startTestServer, type TestServer } from '../../kit/server.js';

const KEY = 'secret-of-the-reranker';
const SHIPS = '/v1/collections/acme/ships';
const Q = 'captain of the submarine';
const TEXTS = [
  'Captain Nemo commands the Nautilus.',
  'The captain of the submarine.',
  'Knead the dough.',
  'A submarine.',
  'Captain, submarine.',
];

async function start(
  t: TestContext,
  options: Partial<OpenAiServerOptions>,
  more: object = {},
): Promise<[TestServer, OpenAiServer]> {
  const endpoint = await startOpenAiServer(t, { dim: 8, apiKey: KEY, ...options });
  const instance = {
    key: 'remote',
    type: 'endpoint',
    url: endpoint.url,
    model: 'rerank-v3',
    api_key_env: 'RERANK_KEY',
    retries: 0,
    ...more,
  };
  const server = await startTestServer({ RERANK_KEY: KEY, SHEAF_RERANK__INSTANCES: JSON.stringify([instance]) });
  for (const [i, text] of TEXTS.entries()) await server.call('POST', `${SHIPS}/documents`, { docid: `D${i}`, text });
  return [server, endpoint];
}

for (const rerank of ['cohere', 'tei'] as const) {
  test(`an endpoint in the shape of ${rerank}: its scores order the hits, and its key shows nowhere`, async (t) => {
    const [{ call, faults }, { reranks }] = await start(t, { rerank });
    const body = { q: Q, k: 3, rerank: { instance: 'remote', depth: 5 } };
    const found = await call('POST', `${SHIPS}/search`, body);
    const expected = [...TEXTS].sort((a, b) => scoreOf(Q, b) - scoreOf(Q, a)).slice(0, 3);
    assert.equal(found.status, 200, found.text);
    assert.deepEqual(
      found.json.matches.map(({ score }: any) => score),
      expected.map((text) => Math.fround(scoreOf(Q, text))),
    );
    assert.equal(found.json.matches[0].text, expected[0]);
    assert.deepEqual([reranks.at(-1)?.query, (reranks.at(-1)?.documents ?? reranks.at(-1)?.texts)?.length], [Q, 5]);
    const told = await Promise.all(
      [
        '/v1/admin/embedders',
        '/v1/embedders/acme',
        '/health',
        '/metrics',
        `${SHIPS}/queries/${found.json.query_id}`,
      ].map((path) => call('GET', path)),
    );
    for (const { text } of [found, ...told]) assert.doesNotMatch(text, new RegExp(KEY));
    assert.deepEqual(faults, []);
  });
}

test('an endpoint that does not answer: 503, and the search without it goes on; after five failures it is left alone', async (t) => {
  let isDown = true;
  const [{ call }, { reranks }] = await start(t, {
    fail: () => (isDown ? { status: 500, json: { error: 'out of memory' } } : undefined),
  });
  const ask = (): ReturnType<typeof call> => call('POST', `${SHIPS}/search`, { q: Q, rerank: { instance: 'remote' } });
  for (let i = 0; i < 6; i++) {
    const { status, json, headers, text } = await ask();
    assert.deepEqual([status, json.code, json.error_type], [503, 'reranker_unavailable', 'unavailable'], text);
    assert.ok(Number(headers.get('retry-after')) >= 1);
    assert.doesNotMatch(text, /memory|127\.0\.0\.1/);
  }
  const calls = reranks.length;
  assert.equal((await ask()).status, 503);
  assert.equal(reranks.length, calls);
  assert.equal((await call('POST', `${SHIPS}/search`, { q: Q })).json.matches.length, 5);
  assert.equal((await call('GET', '/health/ready')).status, 200);
  isDown = false;
});

test('an endpoint whose key is wrong is one that does not answer', async (t) => {
  const [{ call }] = await start(t, { apiKey: 'another' });
  const { status, json, text } = await call('POST', `${SHIPS}/search`, { q: Q, rerank: { instance: 'remote' } });
  assert.deepEqual([status, json.code], [503, 'reranker_unavailable']);
  assert.doesNotMatch(text, new RegExp(KEY));
});
