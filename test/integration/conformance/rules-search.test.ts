// What the prose of the specification and contract.md say about searches, a named test for each sentence.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UUID_V7 } from '../../kit/conformance/shapes.js';
import { startTestServer, type Answer } from '../../kit/server.js';

const { call } = await startTestServer();
const base = '/v1/collections/rules';
const near = (a: number, b: number): boolean => Math.abs(a - b) < 1e-4;

const VECTORS = `${base}/vectors`;
await call('POST', VECTORS, { embedder_type: 'identity', embedder_config: { dim: 2 } });
for (const [docid, vector, metadata] of [
  ['EAST', [2, 0], { side: 'e' }],
  ['NORTHEAST', [1, 1], { side: 'e', prio_boost: 0.5 }],
  ['NORTH', [0, 3], { side: 'n', prio_boost: 7 }],
  ['WEST', [-1, 0], { side: 'w', prio_boost: '-0.5' }],
] as const) {
  await call('POST', `${VECTORS}/documents`, { docid, vector, metadata });
}
const TEXTS = `${base}/texts`;
for (const [docid, text, metadata] of [
  ['NEMO', 'Captain Nemo commands the Nautilus', { lang: 'en', year: 1870, tags: ['sea', 'fiction'] }],
  ['AHAB', 'Captain Ahab hunts the white whale', { lang: 'en', year: 1851, tags: ['sea'] }],
  ['BREAD', 'A recipe for sourdough bread', { lang: 'en', year: 2001 }],
  ['PAIN', 'Du pain complet au levain', { lang: 'fr', year: '2001' }],
] as const) {
  await call('POST', `${TEXTS}/documents`, { docid, text, metadata });
}

const search = (body: object, collection = TEXTS): Promise<Answer> => call('POST', `${collection}/search`, body);
const docids = ({ json }: Answer): string[] =>
  (json.matches ?? []).map(({ meta }: { meta: { docid: string } }) => meta.docid);

async function refused(answer: Promise<Answer>, code: string): Promise<void> {
  const { status, json } = await answer;
  assert.deepEqual([status, json.code], [422, code], JSON.stringify(json));
}

test('vector: the score is the cosine, best first', async () => {
  const { json } = await search({ v: [5, -1], filters: { side: ['e', 'w'] } }, VECTORS);
  const { score, match_reason } = json.matches.find(({ meta }: { meta: { docid: string } }) => meta.docid === 'EAST');
  assert.ok(
    near(score, 5 / Math.sqrt(26)) && /^vector: cosine 0\.981/.test(match_reason),
    JSON.stringify(json.matches),
  );
  const scores = json.matches.map((hit: { score: number }) => hit.score);
  assert.deepEqual(
    scores,
    [...scores].sort((a, b) => b - a),
  );
});

test('the priority is clamped to [-1, 1] and scales the score by 1 + value; numeric strings count', async () => {
  const { json } = await search({ v: [1, 1] }, VECTORS);
  const scores = Object.fromEntries(
    json.matches.map(({ meta, score }: { meta: { docid: string }; score: number }) => [meta.docid, score]),
  );
  const half = Math.SQRT1_2;
  for (const [docid, score] of [
    ['NORTHEAST', 1.5],
    ['NORTH', 2 * half],
    ['EAST', half],
    ['WEST', -1.5 * half],
  ] as const)
    assert.ok(near(scores[docid], score), `${docid} ${scores[docid]}`);
});

test('the k best are chosen after the priority, not before', async () => {
  assert.deepEqual(docids(await search({ v: [1, 0.9], k: 2 }, VECTORS)), ['NORTHEAST', 'NORTH']);
});

test('k is 5 where none is given, 1 to 1000', async () => {
  for (let i = 0; i < 7; i++)
    await call('POST', `${base}/many/documents`, { docid: `D${i}`, text: `many documents ${i}` });
  assert.equal((await search({ q: 'many' }, `${base}/many`)).json.matches.length, 5);
  assert.equal((await search({ q: 'many', k: 1000 }, `${base}/many`)).json.matches.length, 7);
  for (const k of [0, -1, 1001, 1.5, '5']) await refused(search({ q: 'many', k }), 'validation_error');
  for (const k of ['0', '1001', '1.5', 'five'])
    await refused(call('GET', `${TEXTS}/search?q=x&k=${k}`), 'validation_error');
});

test('exactly one of q and v', async () => {
  for (const body of [{}, { q: 'x', v: [1] }, { q: null, v: null }]) await refused(search(body), 'validation_error');
  await refused(call('GET', `${TEXTS}/search`), 'validation_error');
});

test('null counts as absent; an unknown field is 422', async () => {
  assert.equal(
    (
      await search({
        q: 'captain',
        v: null,
        k: null,
        filters: null,
        content_filter: null,
        mode: null,
        include_common: null,
      })
    ).status,
    200,
  );
  await refused(search({ q: 'captain', limit: 3 }), 'validation_error');
});

test('a vector of another length is dim_mismatch, a text in a vectors-only collection vectors_only', async () => {
  await refused(search({ v: [1, 2, 3] }, VECTORS), 'dim_mismatch');
  await refused(search({ q: 'words' }, VECTORS), 'vectors_only');
});

test('a search in a missing collection is empty, has no query_id, and makes nothing', async () => {
  const { status, json } = await search({ q: 'anything' }, `${base}/missing`);
  assert.deepEqual([status, json.matches, 'query_id' in json], [200, [], false]);
  assert.equal((await call('GET', `${base}/missing/detail`)).status, 404);
});

test('boost adds 0.1 times the share of exact tokens to the cosine', async () => {
  const plain = (await search({ q: 'Captain Nemo', mode: 'vector', k: 4 })).json.matches;
  const boosted = (await search({ q: 'Captain Nemo', mode: 'boost', k: 4 })).json.matches;
  const scoreOf = (matches: typeof plain, docid: string): number =>
    matches.find(({ meta }: { meta: { docid: string } }) => meta.docid === docid).score;
  for (const [docid, share] of [
    ['NEMO', 1],
    ['AHAB', 0.5],
    ['BREAD', 0],
  ] as const)
    assert.ok(near(scoreOf(boosted, docid), scoreOf(plain, docid) + 0.1 * share), docid);
  assert.match(boosted[0].match_reason, /^boost: cosine -?\d\.\d{3} \+ 0\.100 for exact tokens 2\/2/);
});

test('hybrid: each ranking gives 1/(60+rank), and the two halves of the time are told', async () => {
  const { json } = await search({ q: 'captain nemo', mode: 'hybrid' });
  assert.deepEqual([json.mode, json.matches[0].meta.docid], ['hybrid', 'NEMO']);
  assert.ok(near(json.matches[0].score, 2 / 61), String(json.matches[0].score));
  for (const { score, match_reason } of json.matches) {
    const ranks = [...String(match_reason).matchAll(/rank (\d+)/g)].map(([, rank]) => 1 / (60 + Number(rank)));
    assert.ok(
      String(match_reason).startsWith('hybrid: ') &&
        ranks.length > 0 &&
        near(
          score,
          ranks.reduce((a, b) => a + b),
        ),
      match_reason,
    );
  }
  assert.ok(json.timing.vector_search_ms >= 0 && json.timing.lexical_search_ms >= 0);
});

test("the mode is the one asked for, else the collection's; boost and hybrid want a text", async () => {
  await call('POST', `${base}/hybrid`, { search_mode: 'hybrid' });
  await call('POST', `${base}/hybrid/documents`, { text: 'hybrid by default' });
  assert.equal((await search({ q: 'default' }, `${base}/hybrid`)).json.mode, 'hybrid');
  assert.equal((await search({ q: 'default', mode: 'vector' }, `${base}/hybrid`)).json.mode, 'vector');
  assert.equal((await search({ q: 'captain' })).json.mode, 'vector');
  for (const mode of ['boost', 'hybrid'])
    await refused(search({ v: [1, 0], mode }, VECTORS), 'search_mode_requires_text');
  await refused(search({ q: 'x', mode: 'nearest' }), 'invalid_search_mode');
});

test('filters are equality by value, a list any of, null absent or null; matched ones are told', async () => {
  const found = await search({ q: 'captain', filters: { lang: 'en', year: 1851 } });
  assert.deepEqual(docids(found), ['AHAB']);
  assert.match(found.json.matches[0].match_reason, /; filters: lang=en, year=1851/);
  const sorted = async (filters: object): Promise<string[]> =>
    docids(await search({ q: 'captain', k: 10, filters })).sort();
  assert.deepEqual(await sorted({ year: 2001 }), ['BREAD', 'PAIN']);
  assert.deepEqual(await sorted({ lang: ['fr', 'de'] }), ['PAIN']);
  assert.deepEqual(await sorted({ lang: [] }), []);
  assert.deepEqual(await sorted({ tags: 'fiction' }), ['NEMO']);
  assert.deepEqual(await sorted({ tags: null }), ['BREAD', 'PAIN']);
});

test('filter operators: comparisons, $in, $exists, $prefix, $and, $or, $not; an unknown one is 422', async () => {
  const sorted = async (filters: object): Promise<string[]> =>
    docids(await search({ q: 'captain', k: 10, filters })).sort();
  assert.deepEqual(await sorted({ year: { $gte: 1851, $lt: 1900 } }), ['AHAB', 'NEMO']);
  assert.deepEqual(await sorted({ lang: { $in: ['fr'] } }), ['PAIN']);
  assert.deepEqual(await sorted({ tags: { $exists: false } }), ['BREAD', 'PAIN']);
  assert.deepEqual(await sorted({ lang: { $prefix: 'f' } }), ['PAIN']);
  assert.deepEqual(await sorted({ $or: [{ year: 1851 }, { lang: 'fr' }] }), ['AHAB', 'PAIN']);
  assert.deepEqual(await sorted({ $and: [{ lang: 'en' }, { $not: { tags: 'sea' } }] }), ['BREAD']);
  await refused(search({ q: 'captain', filters: { year: { $near: 1851 } } }), 'validation_error');
});

test('filters apply before the ranking: the farthest match is found with k 1', async () => {
  assert.deepEqual(docids(await search({ v: [1, 0], k: 1, filters: { side: 'w' } }, VECTORS)), ['WEST']);
});

test('the query-string forms take no filters', async () => {
  const { status, json } = await call(
    'GET',
    `${TEXTS}/search?q=captain&filters=${encodeURIComponent('{"lang":"fr"}')}`,
  );
  assert.ok(status === 422 || (status === 200 && json.matches[0].meta.lang === 'en'), JSON.stringify(json));
});

test('a content filter restricts the results: exact, phrase, prefix, contains', async () => {
  const sorted = async (op: string, value: string, more: object = {}): Promise<string[]> =>
    docids(await search({ q: 'captain', k: 10, content_filter: { op, value }, ...more })).sort();
  assert.deepEqual(await sorted('exact', 'Captain Ahab hunts the white whale'), ['AHAB']);
  assert.deepEqual(await sorted('exact', 'captain ahab hunts the white whale'), []);
  assert.deepEqual(await sorted('phrase', 'white WHALE'), ['AHAB']);
  assert.deepEqual(await sorted('phrase', 'whale white'), []);
  assert.deepEqual(await sorted('prefix', 'captain n'), ['NEMO']);
  assert.deepEqual(await sorted('contains', 'APTAIN'), ['AHAB', 'NEMO']);
  assert.deepEqual(await sorted('contains', 'APTAIN', { filters: { year: 1870 } }), ['NEMO']);
});

test('a matched content filter is told at the end of match_reason', async () => {
  const { json } = await search({
    q: 'captain',
    content_filter: { op: 'phrase', value: 'white whale' },
    filters: { lang: 'en' },
  });
  assert.match(json.matches[0].match_reason, /^vector: cosine .+; filters: lang=en; content phrase match/);
});

test('a content filter has one of four operations and a value of at least one character', async () => {
  for (const filter of [
    { op: 'regex', value: 'x' },
    { op: 'exact', value: '' },
    { op: 'exact' },
    { value: 'x' },
    { op: 'exact', value: 'x', flags: 'i' },
  ]) {
    await refused(search({ q: 'captain', content_filter: filter }), 'validation_error');
  }
});

test("a hit has its text, the chunk id, and document metadata overlaid by the chunk's", async () => {
  const { json } = await search({ q: 'sourdough recipe', k: 1 });
  const [hit] = json.matches;
  assert.deepEqual(
    [hit.tenant, hit.collection, hit.id, hit.text],
    ['rules', 'texts', 'BREAD::chunk_0', 'A recipe for sourdough bread'],
  );
  assert.deepEqual([hit.meta.docid, hit.meta.year, hit.meta.offset], ['BREAD', 2001, 0]);
  assert.match(json.query_id, UUID_V7);
});

test('a hit of a vector chunk has no text', async () => {
  assert.ok(!('text' in (await search({ v: [1, 0] }, VECTORS)).json.matches[0]));
});

test('the same search by GET and by POST gives the same', async () => {
  const [byGet, byPost] = await Promise.all([
    call('GET', `${TEXTS}/search?q=white+whale&k=2&mode=vector`),
    search({ q: 'white whale', k: 2, mode: 'vector' }),
  ]);
  assert.deepEqual(byGet.json.matches, byPost.json.matches);
});

test('equal scores stand in the order of their docids', async () => {
  for (const docid of ['C', 'A', 'B']) await call('POST', `${base}/ties/documents`, { docid, text: 'the same words' });
  assert.deepEqual(docids(await search({ q: 'same words' }, `${base}/ties`)), ['A', 'B', 'C']);
});
