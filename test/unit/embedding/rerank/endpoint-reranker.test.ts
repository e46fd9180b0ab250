// The reranker over an endpoint, in the forms of Cohere and TEI, against a server that speaks both.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { EndpointReranker, readScores } from '../../../../src/embedding/rerank/endpoint.js';
import type { Reranker } from '../../../../src/embedding/embedder.js';
import { scoreOf, startOpenAiServer, type OpenAiServer, type OpenAiServerOptions } from '../../../kit/openai-server.js';
import { ENDPOINT } from '../../../kit/embedding/openai-runner.js';

const QUERY = 'how do red foxes hunt';
const TEXTS = Array.from(
  { length: 100 },
  (_, i) => `${i % 3 ? 'red' : 'blue'} ${i % 5 ? 'foxes' : 'whales'} ${i % 7 ? 'hunt' : 'sleep'} ${i}`,
);

async function open(
  t: TestContext,
  options: Partial<OpenAiServerOptions>,
): Promise<{ reranker: Reranker; server: OpenAiServer; warnings: object[] }> {
  const server = await startOpenAiServer(t, { dim: 1, ...options });
  const warnings: object[] = [];
  return {
    reranker: new EndpointReranker(
      'cross',
      { ...ENDPOINT, url: server.url, model: 'rerank-1' },
      (fields) => void warnings.push(fields),
    ),
    server,
    warnings,
  };
}

const expected = (texts: readonly string[]): Float32Array => Float32Array.from(texts, (text) => scoreOf(QUERY, text));

test('scores come in the order of the texts, from one call in the shape of Cohere', async (t) => {
  const { reranker, server } = await open(t, {});
  assert.deepEqual(await reranker.score(QUERY, TEXTS), expected(TEXTS));
  assert.deepEqual(server.reranks, [{ model: 'rerank-1', query: QUERY, documents: TEXTS, top_n: 100 }]);
  assert.equal((await reranker.score(QUERY, [])).length, 0);
});

test('the shape of TEI is found by asking, and kept; its limit of texts too', async (t) => {
  const { reranker, server } = await open(t, { rerank: 'tei', inputsMax: 32 });
  assert.deepEqual(await reranker.score(QUERY, TEXTS), expected(TEXTS));
  const { length } = server.reranks;
  assert.deepEqual(await reranker.score(QUERY, TEXTS), expected(TEXTS));
  assert.deepEqual(
    server.reranks.slice(length).map(({ texts = [], documents }) => [texts.length, documents]),
    Array(4).fill([25, undefined]),
  );
});

test('an endpoint that refuses everything is 503, after few calls, and told in the log', async (t) => {
  const { reranker, server, warnings } = await open(t, {
    fail: () => ({ status: 400, json: { message: 'no such model' } }),
  });
  await assert.rejects(reranker.score(QUERY, TEXTS), { code: 'embedder_unavailable' });
  assert.equal(server.reranks.length, 4);
  assert.match(JSON.stringify(warnings), /no such model/);
});

test('what may pass is tried again; what is down is 503', async (t) => {
  const { reranker } = await open(t, { fail: (number) => (number === 0 ? 'hang up' : undefined) });
  assert.deepEqual(await reranker.score(QUERY, TEXTS), expected(TEXTS));
  const down = await open(t, { fail: () => ({ status: 502 }) });
  await assert.rejects(down.reranker.score(QUERY, TEXTS), { code: 'embedder_unavailable' });
});

test('answers that do not score each text once are broken', () => {
  const answers = [
    null,
    {},
    { results: {} },
    { results: [{ index: 0, relevance_score: 1 }] },
    [
      { index: 0, score: 1 },
      { index: 0, score: 2 },
    ],
    [
      { index: 0, score: 1 },
      { index: 2, score: 2 },
    ],
    [
      { index: 0, score: 1 },
      { index: 1, score: null },
    ],
    [{ index: 0, score: 1 }, null],
  ];
  for (const answer of answers)
    assert.throws(() => readScores(answer, 2), { failure: 'broken' }, JSON.stringify(answer));
  assert.deepEqual(
    readScores(
      [
        { index: 1, score: -3 },
        { index: 0, score: 2 },
      ],
      2,
    ),
    Float32Array.of(2, -3),
  );
});
