// `fusion` over a real socket: how each method and weight combines the vector and the lexical ranking, what is
// rejected, the server's default, the query log. test/integration/service/naive-search.test.ts shows that the scores
// are right for any data.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type Answer, type TestServer } from '../../kit/server.js';

const PATH = '/v1/collections/acme/docs';
const Q = 'submarine captain';
const TEXTS: Record<string, string> = {
  A: 'submarine captain',
  B: 'captain captain captain of the whale boats and of nothing else in this long text',
  C: 'bread and butter',
  D: 'a submarine, deep below',
};

async function start(env: Record<string, string> = {}): Promise<TestServer> {
  const server = await startTestServer(env);
  for (const [docid, text] of Object.entries(TEXTS))
    assert.equal((await server.call('POST', `${PATH}/documents`, { docid, text })).status, 201);
  return server;
}

const server = await start();
const search = (body: object, { call }: TestServer = server): Promise<Answer> =>
  call('POST', `${PATH}/search`, { q: Q, mode: 'hybrid', ...body });
const docids = ({ json }: Answer): string[] => json.matches.map(({ meta }: any) => meta.docid);
const reasons = ({ json }: Answer): string[] => json.matches.map(({ match_reason: reason }: any) => reason);
const shown = ({ json }: Answer): unknown[] =>
  json.matches.map(({ id, score, match_reason: reason }: any) => [id, score, reason]);

test('method rank with nothing else is what mode hybrid does anyway', async () => {
  const plain = shown(await search({}));
  for (const fusion of [null, { method: 'rank' }, { method: 'rank', k: 60, weights: { vector: 1, lexical: 1 } }])
    assert.deepEqual(shown(await search({ fusion })), plain);
});

test('k and weights change the scores, and the reason tells them', async () => {
  const answer = await search({ fusion: { method: 'rank', k: 0, weights: { vector: 0.5, lexical: 2 } }, k: 1 });
  assert.deepEqual(answer.json.matches[0].score, 2.5);
  assert.match(
    reasons(answer)[0] ?? '',
    /^hybrid: 0\.5 \* vector rank 1 \(cosine [01]\.\d{3}\) \+ 2 \* lexical rank 1, each weight\/\(0\+rank\)$/,
  );
});

test('method score: every candidate has both scores', async () => {
  const answer = await search({ fusion: { method: 'score' } });
  assert.equal(docids(answer).length, 4);
  for (const { score, match_reason: reason } of answer.json.matches) {
    const [, cosine, share] = /^hybrid: 0\.6 \* cosine (-?[\d.]+) \+ 0\.4 \* lexical ([\d.]+)$/.exec(reason) ?? [];
    assert.ok(Math.abs(score - 0.6 * Number(cosine) - 0.4 * Number(share)) < 0.001, reason);
  }
  assert.match(reasons(answer)[0] ?? '', /lexical 1\.000$/);
  const breadLast = answer.json.matches.find(({ meta }: any) => meta.docid === 'C');
  assert.match(breadLast.match_reason, /lexical 0\.000$/);
});

test('a half that weighs nothing is not searched: its hits are not there', async () => {
  const [words, scores] = [
    await search({ fusion: { method: 'rank', weights: { vector: 0, lexical: 1 } } }),
    await search({ fusion: { method: 'score', weights: { vector: 0, lexical: 1 } } }),
  ];
  assert.deepEqual(docids(words).sort(), ['A', 'B', 'D']);
  assert.deepEqual(docids(scores), docids(words));
  assert.equal(words.json.degraded, undefined);
  const vectors = await search({ fusion: { method: 'score', weights: { vector: 1, lexical: 0 } } });
  const cosines = await search({ mode: 'vector' });
  assert.deepEqual(
    [docids(vectors), vectors.json.matches.map(({ score }: any) => score)],
    [docids(cosines), cosines.json.matches.map(({ score }: any) => score)],
  );
});

const refused: [string, object, RegExp][] = [
  ['another mode', { mode: 'vector', fusion: { method: 'score' } }, /applies to mode hybrid only/],
  [
    'the mode of the collection being another',
    { mode: null, fusion: { method: 'score' } },
    /applies to mode hybrid only/,
  ],
  ['an unknown method', { fusion: { method: 'sum' } }, /method/],
  ['no method', { fusion: { k: 3 } }, /method/],
  ['k of method score', { fusion: { method: 'score', k: 3 } }, /applies to method `rank` only/],
  ['a negative k', { fusion: { method: 'rank', k: -1 } }, /k/],
  ['one weight alone', { fusion: { method: 'rank', weights: { vector: 1 } } }, /lexical/],
  ['a negative weight', { fusion: { method: 'rank', weights: { vector: -1, lexical: 1 } } }, /vector/],
  ['a weight beyond the bound', { fusion: { method: 'rank', weights: { vector: 1001, lexical: 1 } } }, /vector/],
  ['no weight at all', { fusion: { method: 'rank', weights: { vector: 0, lexical: 0 } } }, /one of the weights/],
  ['a field that is none', { fusion: { method: 'rank', depth: 3 } }, /depth/],
];
for (const [name, body, message] of refused) {
  test(`422 for ${name}`, async () => {
    const { status, json } = await search(body);
    assert.deepEqual([status, json.code], [422, 'validation_error']);
    assert.match(json.error, message);
  });
}

test('a missing collection has no hits, whatever its mode might be', async () => {
  const { status, json } = await server.call('POST', '/v1/collections/acme/none/search', {
    q: Q,
    fusion: { method: 'score' },
  });
  assert.deepEqual([status, json.matches], [200, []]);
});

test('the query-string form knows no fusion', async () => {
  const { status, json } = await server.call(
    'GET',
    `${PATH}/search?q=whale&mode=vector&fusion=x&explain=true&relevance=1&highlight=1`,
  );
  assert.deepEqual([status, json.detail.length], [422, 4]);
});

test('the query log has the fusion, and a replay uses it', async () => {
  const first = await search({ fusion: { method: 'score' }, explain: true });
  const { json } = await server.call('GET', `${PATH}/queries/${first.json.query_id}`);
  assert.deepEqual(
    [json.query.fusion, json.query.explain, json.query.highlight],
    [{ method: 'score', weights: { vector: 0.6, lexical: 0.4 } }, true, undefined],
  );
  const replayed = await server.call('POST', `${PATH}/queries/${first.json.query_id}/replay`);
  assert.deepEqual(replayed.json.matches, first.json.matches);
});

test("the server's default fusion applies where a search names none", async () => {
  const other = await start({ SHEAF_SEARCH__FUSION__METHOD: 'score', SHEAF_SEARCH__FUSION__LEXICAL_WEIGHT: '0.5' });
  assert.match(reasons(await search({}, other))[0] ?? '', /^hybrid: 0\.6 \* cosine .* \+ 0\.5 \* lexical/);
  assert.match(reasons(await search({ fusion: { method: 'score' } }, other))[0] ?? '', /\+ 0\.5 \* lexical/);
  assert.deepEqual(shown(await search({ fusion: { method: 'rank' } }, other)), shown(await search({})));
  await assert.rejects(
    startTestServer({ SHEAF_SEARCH__FUSION__VECTOR_WEIGHT: '0', SHEAF_SEARCH__FUSION__LEXICAL_WEIGHT: '0' }),
    /are both 0/,
  );
});
