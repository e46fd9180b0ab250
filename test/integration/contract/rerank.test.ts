// `rerank` over a real socket, by a tiny cross-encoder that counts common words: order, depth, priority, why it is
// rejected, the query log and replay.
import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { CROSS_ENCODER, naiveScore } from '../../kit/cross-encoder/naive-scores.js';
import { ready, startTestServer, type Answer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const cross = { type: 'onnx', path: CROSS_ENCODER.directory };
const SHARED_SCOPE = { SHEAF_COMMON__ENABLED: 'true' };
const server = await startTestServer({
  ...SHARED_SCOPE,
  SHEAF_RERANK__INSTANCES: JSON.stringify([
    { key: 'cross', ...cross },
    { key: 'mine', ...cross, max_tokens: 12, tenants: ['acme', 'global'] },
  ]),
});
const { call } = server;
const SHIPS = '/v1/collections/acme/ships';
const Q = 'captain of the submarine';
const TEXTS: Record<string, string> = {
  NEMO: 'Captain Nemo commands the Nautilus, a submarine of the ocean.',
  AHAB: 'The captain sails a ship.',
  LIST: 'submarine submarine submarine submarine',
  BREAD: 'Knead the dough and let it rise.',
  WHALE: 'the white whale',
};
for (const [docid, text] of Object.entries(TEXTS)) await call('POST', `${SHIPS}/documents`, { docid, text });

const docids = ({ json }: Answer): string[] => json.matches.map(({ meta }: any) => meta.docid);
const byNaive = (docids: readonly string[]): string[] =>
  [...docids].sort((a, b) => naiveScore(Q, TEXTS[b] as string) - naiveScore(Q, TEXTS[a] as string));

async function search(body: object, path = SHIPS): Promise<Answer> {
  const answer = await call('POST', `${path}/search`, { q: Q, ...body });
  assert.equal(answer.status, 200, answer.text);
  return answer;
}

async function refused(answer: Promise<Answer>, status: number, code: string, message: RegExp): Promise<void> {
  const { status: got, json } = await answer;
  assert.deepEqual([got, json.code], [status, code], JSON.stringify(json));
  assert.match(json.error, message);
}

for (const mode of ['vector', 'boost', 'hybrid']) {
  test(`mode ${mode}: the reranker orders the hits, its score is theirs, and match_reason tells both`, async () => {
    const [plain, reranked] = await Promise.all([
      search({ mode, k: 5 }),
      search({ mode, k: 5, rerank: { instance: 'cross' } }),
    ]);
    const expected = byNaive(docids(plain));
    assert.deepEqual(docids(reranked), expected);
    assert.notDeepEqual(docids(plain), expected, 'the test wants an order that changes');
    for (const hit of reranked.json.matches) {
      const before = plain.json.matches.find(({ id }: any) => id === hit.id);
      const score = naiveScore(Q, hit.text);
      assert.ok(Math.abs(hit.score - score) < 1e-6);
      assert.deepEqual(
        { ...hit, score: 0 },
        { ...before, score: 0, match_reason: `${before.match_reason}; rerank: cross ${score.toFixed(3)}` },
      );
    }
    assert.deepEqual(['rerank_ms' in plain.json.timing, reranked.json.timing.rerank_ms > 0], [false, true]);
  });
}

test('the k best of the candidates; only `depth` of them are looked at', async () => {
  const plain = docids(await search({ k: 5 }));
  const best = docids(await search({ k: 2, rerank: { instance: 'cross' } }));
  assert.deepEqual(best, byNaive(plain).slice(0, 2));
  assert.deepEqual(
    docids(await search({ k: 2, rerank: { instance: 'cross', depth: 3 } })),
    byNaive(plain.slice(0, 3)).slice(0, 2),
  );
  assert.deepEqual(docids(await search({ k: 1, rerank: { instance: 'cross', depth: 1 } })), plain.slice(0, 1));
  assert.equal(docids(await search({ k: 1000, rerank: { instance: 'cross', depth: null } })).length, 5);
});

test('a boost by metadata picks the candidates, and changes the score of the reranker', async () => {
  const boosted = { boost_by: { fields: [{ field: 'docid', missing: 0.5 }], combine: 'sum' }, explain: true };
  const plain = await search({ k: 5, rerank: { instance: 'cross' } });
  const { json } = await search({ k: 5, rerank: { instance: 'cross' }, ...boosted });
  assert.equal(json.matches.length, 5);
  json.matches.forEach(({ id, score, explain, match_reason: reason }: any, i: number) => {
    const before = plain.json.matches[i];
    assert.equal(id, before.id);
    assert.ok(Math.abs(score - before.score - 0.5) < 1e-9);
    assert.ok(Math.abs(explain.boost_by.score - score) < 1e-9 && explain.rerank.score === before.score);
    assert.match(reason, /; rerank: cross [\d.]+; boost_by: docid, [\d.]+ -> [\d.]+$/);
  });
  const few = { boost_by: { fields: [{ field: 'docid' }], depth: 10 }, rerank: { instance: 'cross', depth: 20 } };
  await refused(call('POST', `${SHIPS}/search`, { q: Q, ...few }), 422, 'validation_error', /rerank.depth/);
});

test('fifty candidates where nothing is said', async () => {
  const path = '/v1/collections/acme/many';
  await call('POST', `${path}/documents:batch`, {
    documents: Array.from({ length: 60 }, (_, i) => ({ docid: `D${i}`, text: `whale ${'ocean '.repeat(i % 20)}` })),
  });
  const asked = await search({ q: 'whale', k: 3, rerank: { instance: 'cross' } }, path);
  const { json } = await call('GET', `${path}/queries/${asked.json.query_id}`);
  assert.deepEqual(json.query.rerank, { instance: 'cross', depth: 50 });
  assert.deepEqual(
    docids(asked),
    docids(await search({ q: 'whale', k: 3, rerank: { instance: 'cross', depth: 50 } }, path)),
  );
});

test('the priority of a document scales the score of the reranker', async () => {
  const path = '/v1/collections/acme/priority';
  await call('POST', `${path}/documents`, { docid: 'PLAIN', text: TEXTS.NEMO });
  await call('POST', `${path}/documents`, { docid: 'LIFTED', text: TEXTS.AHAB, metadata: { prio_boost: 1, big: 1 } });
  const [first, second] = (await search({ rerank: { instance: 'cross' } }, path)).json.matches;
  const scores = [naiveScore(Q, TEXTS.AHAB as string), naiveScore(Q, TEXTS.NEMO as string)] as const;
  assert.ok(scores[0] < scores[1] && 2 * scores[0] > scores[1], 'the test wants an order that the priority changes');
  assert.deepEqual([first.meta.docid, second.meta.docid], ['LIFTED', 'PLAIN']);
  assert.ok(Math.abs(first.score - 2 * scores[0]) < 1e-6);
  assert.match(
    first.match_reason,
    new RegExp(
      `; rerank: cross ${scores[0].toFixed(3)}; priority: prio_boost \\+1\\.00, ${scores[0].toFixed(3)} -> ${(2 * scores[0]).toFixed(3)}$`,
    ),
  );
});

test('chunks without text stand behind those that were read, as they were found', async () => {
  const path = '/v1/collections/acme/mixed';
  const { json } = await call('GET', '/v1/collections/acme/ships/detail');
  const dim = Number(/dim=(\d+)/.exec(json.vector_space_key)?.[1]);
  await call('POST', `${path}/documents`, { docid: 'TEXT', text: 'nothing of it' });
  for (const i of [0, 1, 2])
    await call('POST', `${path}/documents`, {
      docid: `V${i}`,
      vector: Array.from({ length: dim }, (_, at) => Math.sin((i + 1) * at + 1)),
    });
  const plain = await search({}, path);
  const reranked = await search({ rerank: { instance: 'cross' } }, path);
  assert.deepEqual(docids(reranked), ['TEXT', ...docids(plain).filter((docid) => docid !== 'TEXT')]);
  for (const hit of reranked.json.matches.slice(1))
    assert.deepEqual(
      hit,
      plain.json.matches.find(({ id }: any) => id === hit.id),
    );
  assert.equal(
    docids(await search({ rerank: { instance: 'cross' }, filters: { docid: ['V0', 'V1'] } }, path)).length,
    2,
  );
});

test('metadata comes as it was given, to the digit', async () => {
  const path = '/v1/collections/acme/exact';
  await call(
    'POST',
    `${path}/documents`,
    '{"docid":"A","text":"whale","metadata":{"big":12345678901234567890,"2":1,"1":2}}',
  );
  const [plain, reranked] = await Promise.all([search({}, path), search({ rerank: { instance: 'cross' } }, path)]);
  const metaOf = (text: string): string => /"meta":(.*),"match_reason"/.exec(text)?.[1] as string;
  assert.equal(metaOf(reranked.text), metaOf(plain.text));
});

test('hits of the common collection are reranked among the own ones; the shared scope can be reranked too', async () => {
  await call('POST', '/v1/collections/global/common/documents', {
    docid: 'SHARED',
    text: 'of the captain of the submarine',
  });
  const asked = { k: 3, include_common: true, rerank: { instance: 'cross' } };
  const merged = await search(asked);
  assert.deepEqual(
    [merged.json.matches[0].tenant, ...docids(merged)],
    ['global', 'SHARED', ...byNaive(Object.keys(TEXTS)).slice(0, 2)],
  );
  const { json } = await call('POST', '/v1/search', { q: Q, rerank: { instance: 'mine' } });
  assert.match(json.matches[0].match_reason, /; rerank: mine 0\.\d{3}$/);
});

test('what cannot be reranked is refused by name', async () => {
  const post = (body: object, path = `${SHIPS}/search`): Promise<Answer> => call('POST', path, { q: Q, ...body });
  await refused(post({ rerank: { instance: 'other' } }), 422, 'invalid_rerank', /Rerankers are: cross, mine\./);
  await refused(post({ rerank: { instance: 'other' } }, '/v1/search'), 400, 'invalid_rerank', /cross, mine/);
  await refused(
    post({ rerank: { instance: 'mine' } }, '/v1/collections/bob/ships/search'),
    422,
    'invalid_rerank',
    /Rerankers are: cross\./,
  );
  await refused(
    call('POST', `${SHIPS}/search`, { v: Array.from({ length: 512 }, () => 1), rerank: { instance: 'cross' } }),
    422,
    'invalid_rerank',
    /provide `q`/,
  );
  await refused(
    post({ k: 5, rerank: { instance: 'cross', depth: 4 } }),
    422,
    'validation_error',
    /body\.rerank\.depth/,
  );
  for (const rerank of [
    {},
    'cross',
    { instance: '' },
    { instance: 'cross', depth: 1001 },
    { instance: 'cross', depth: 0 },
    { instance: 'cross', top: 5 },
  ]) {
    await refused(post({ rerank }), 422, 'validation_error', /rerank/);
  }
});

test('the query-string form takes none; null is none; a missing collection is empty', async () => {
  const found = await call('GET', `${SHIPS}/search?q=whale&rerank=cross`);
  assert.deepEqual([found.status, found.json.detail[0].loc], [422, ['query', 'rerank']]);
  assert.equal('rerank_ms' in (await search({ rerank: null })).json.timing, false);
  assert.deepEqual((await search({ rerank: { instance: 'cross' } }, '/v1/collections/acme/none')).json.matches, []);
});

test('the query log has the reranker, and a replay uses it', async () => {
  const found = await search({ k: 2, rerank: { instance: 'mine', depth: 4 } });
  const { json } = await call('GET', `${SHIPS}/queries/${found.json.query_id}`);
  assert.deepEqual([json.query.rerank, json.query.timing], [{ instance: 'mine', depth: 4 }, found.json.timing]);
  assert.deepEqual(
    json.query.result_ids,
    found.json.matches.map(({ id }: any) => id),
  );
  const replayed = await call('POST', `${SHIPS}/queries/${found.json.query_id}/replay`);
  assert.deepEqual(replayed.json.matches, found.json.matches);
  assert.ok(replayed.json.timing.rerank_ms > 0);
  const { text } = await call('GET', '/metrics');
  assert.match(text, /sheaf_search_phase_seconds_count\{phase="rerank"\} \d+/);
});

test('embed workers that die are replaced: a search under way is told so or answered, never left', async () => {
  const asked = Array.from({ length: 20 }, () =>
    call('POST', `${SHIPS}/search`, { q: Q, rerank: { instance: 'cross' } }),
  );
  await server.parts.embed.kill();
  for (const { status, json, headers } of await Promise.all(asked)) {
    if (status === 200) continue;
    assert.equal(status, 503);
    assert.match(json.code, /^(reranker|embedder)_unavailable$/);
    assert.equal(headers.get('retry-after'), '1');
  }
  await ready(server);
  assert.deepEqual(docids(await search({ rerank: { instance: 'cross' } })), byNaive(Object.keys(TEXTS)));
  assert.deepEqual(
    server.faults.filter((fault) => !fault.startsWith('an embed worker died')),
    [],
  );
});

test('a server without a reranker says so', async () => {
  const bare = await startTestServer();
  await refused(
    bare.call('POST', `${SHIPS}/search`, { q: Q, rerank: { instance: 'cross' } }),
    422,
    'invalid_rerank',
    /No reranker is configured/,
  );
});

test('a reranker that cannot be loaded, or fails: 503, and the search without it goes on', async () => {
  const path = tempDirectory();
  copyFileSync(`${CROSS_ENCODER.directory}/tokenizer.json`, `${path}/tokenizer.json`);
  writeFileSync(`${path}/model.onnx`, 'no graph');
  const broken = await startTestServer({
    SHEAF_RERANK__INSTANCES: JSON.stringify([{ key: 'broken', type: 'onnx', path }]),
  });
  await broken.call('POST', `${SHIPS}/documents`, { text: 'whale' });
  for (let i = 0; i < 7; i++) {
    const answer = await broken.call('POST', `${SHIPS}/search`, { q: Q, rerank: { instance: 'broken' } });
    assert.deepEqual(
      [answer.status, answer.json.code, answer.json.error_type],
      [503, 'reranker_unavailable', 'unavailable'],
    );
    assert.ok(Number(answer.headers.get('retry-after')) >= 1);
    assert.doesNotMatch(answer.text, /onnx|sheaf-test/);
  }
  assert.equal((await broken.call('POST', `${SHIPS}/search`, { q: Q })).json.matches.length, 1);
  assert.match(broken.faults.join(), /a reranker cannot be loaded.*"reranker":"broken"/);
});
