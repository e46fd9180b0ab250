// Search in mode vector over a real socket: hits, order, ties, priority, timing, bad input. Other files of this folder
// test filters and the other modes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cosine } from '../../../load/kit/cosine.js';
import { createPrng } from '../../../src/base/prng.js';
import { refused, startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const { call } = server;
const search = '/v1/collections/acme/docs/search';

test('finds Captain Nemo for "submarine captain"', async () => {
  const texts = {
    NEMO: 'Captain Nemo commands the Nautilus.',
    BREAD: 'Knead the dough and let it rise for an hour.',
    LAW: 'The parliament passed the budget.',
  };
  for (const [docid, text] of Object.entries(texts))
    await call('POST', '/v1/collections/acme/docs/documents', { docid, text, metadata: { shelf: 's' } });
  const { status, json } = await call('GET', `${search}?q=submarine+captain`);
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(json).sort(), [
    'latency_ms',
    'matches',
    'mode',
    'ok',
    'query_id',
    'request_id',
    'timing',
  ]);
  assert.deepEqual([json.ok, json.mode, json.matches.length], [true, 'vector', 3]);
  const [hit] = json.matches;
  assert.deepEqual([hit.id, hit.text, hit.tenant, hit.collection], ['NEMO::chunk_0', texts.NEMO, 'acme', 'docs']);
  assert.deepEqual([hit.meta.docid, hit.meta.shelf, hit.meta.offset], ['NEMO', 's', 0]);
  assert.equal(hit.match_reason, `vector: cosine ${(hit.score as number).toFixed(3)}`);
  for (const phase of ['embed_ms', 'filter_ms', 'hydrate_ms', 'search_ms'])
    assert.equal(typeof json.timing[phase], 'number', phase);
  const { json: posted } = await call('POST', search, {
    q: 'submarine captain',
    k: 1,
    mode: 'vector',
    v: null,
    filters: null,
    include_common: false,
  });
  assert.deepEqual(
    [posted.matches.length, posted.matches[0].id, posted.matches[0].score],
    [1, 'NEMO::chunk_0', hit.score],
  );
});

test('vectors: exact cosine order, whatever the shard', async () => {
  const path = '/v1/collections/acme/v';
  const prng = createPrng(3);
  const dim = 8;
  await call('POST', path, { embedder_type: 'identity', embedder_config: { dim } });
  const rows = Array.from({ length: 60 }, (_, i) => ({
    docid: `D${i}`,
    vector: Array.from({ length: dim }, () => prng.normal()),
  }));
  await Promise.all(rows.map((row) => call('POST', `${path}/documents`, row)));
  const v = Array.from({ length: dim }, () => prng.normal());
  const expected = rows
    .map(({ docid, vector }) => ({ docid, score: cosine(vector, v) }))
    .sort((a, b) => b.score - a.score);
  const { json } = await call('POST', `${path}/search`, { v, k: 60 });
  assert.deepEqual(
    json.matches.map(({ meta }: any) => meta.docid),
    expected.map(({ docid }) => docid),
  );
  json.matches.forEach(({ score }: any, i: number) => assert.ok(Math.abs(score - (expected[i]?.score ?? 9)) < 1e-4));
  assert.ok(json.matches.every((hit: object) => !('text' in hit)));
});

test('equal scores are ordered by docid and chunk, also at the cut', async () => {
  const path = '/v1/collections/acme/ties';
  await call('POST', path, { chunking: { strategy: 'fixed', size: 16, overlap: 0 } });
  for (let i = 0; i < 30; i++)
    await call('POST', `${path}/documents`, {
      docid: `T${String(29 - i).padStart(2, '0')}`,
      text: 'same same words!'.repeat(2),
    });
  for (const k of [1, 3, 7, 50, 60]) {
    const { json } = await call('GET', `${path}/search?q=same+words&k=${k}`);
    const expected = Array.from({ length: k }, (_, i) => `T${String(i >> 1).padStart(2, '0')}::chunk_${i & 1}`);
    assert.deepEqual(
      json.matches.map(({ id }: any) => id),
      expected,
      `k ${k}`,
    );
  }
});

test('a priority scales the final score, and lifts from below the k nearest', async () => {
  const path = '/v1/collections/acme/prio';
  await call('POST', path, { embedder_type: 'identity', embedder_config: { dim: 2 } });
  const put = (docid: string, angle: number, prio_boost?: unknown): unknown =>
    call('POST', `${path}/documents`, {
      docid,
      vector: [Math.cos(angle), Math.sin(angle)],
      metadata: prio_boost === undefined ? {} : { prio_boost },
    });
  for (let i = 0; i < 20; i++) await put(`N${String(i).padStart(2, '0')}`, 0.3 + i / 1000);
  await put('LIFTED', 0.9, '1');
  await put('SUNK', 0.01, -5);
  const { json } = await call('POST', `${path}/search`, { v: [1, 0], k: 2 });
  assert.deepEqual(
    json.matches.map(({ meta }: any) => meta.docid),
    ['LIFTED', 'N00'],
  );
  assert.ok(Math.abs(json.matches[0].score - 2 * Math.cos(0.9)) < 1e-4);
  assert.match(json.matches[0].match_reason, /^vector: cosine 0\.622; priority: prio_boost \+1\.00, 0\.622 -> 1\.243$/);
  const { json: all } = await call('POST', `${path}/search`, { v: [1, 0], k: 100 });
  assert.equal(all.matches.at(-1).meta.docid, 'SUNK');
});

test('a replaced and a deleted document are found no more', async () => {
  const path = '/v1/collections/acme/churn';
  const ids = async (): Promise<string[]> =>
    (await call('GET', `${path}/search?q=zebra&k=100`)).json.matches.map(({ text }: any) => text);
  await call('POST', `${path}/documents`, { docid: 'A', text: 'zebra one' });
  await call('POST', `${path}/documents`, { docid: 'A', text: 'zebra two' });
  assert.deepEqual(await ids(), ['zebra two']);
  await call('DELETE', `${path}/documents/A`);
  assert.deepEqual(await ids(), []);
});

test('a missing collection is empty and stays missing', async () => {
  const { status, json } = await call('GET', '/v1/collections/acme/nothing/search?q=x');
  assert.deepEqual([status, json.matches, json.query_id], [200, [], undefined]);
  assert.equal((await call('GET', '/v1/collections/acme/nothing/detail')).status, 404);
});

const zeros = Array.from({ length: 512 }, () => 0);
const bad: [string, unknown, string][] = [
  ['malformed JSON', '{', 'invalid_json'],
  ['neither q nor v', {}, 'validation_error'],
  ['both q and v', { q: 'a', v: [1] }, 'validation_error'],
  ['an empty q', { q: ' ' }, 'validation_error'],
  ['k of 0', { q: 'a', k: 0 }, 'validation_error'],
  ['k of 1001', { q: 'a', k: 1001 }, 'validation_error'],
  ['k of 1.5', { q: 'a', k: 1.5 }, 'validation_error'],
  ['an unknown field', { q: 'a', top: 3 }, 'validation_error'],
  ['no such mode', { q: 'a', mode: 'magic' }, 'invalid_search_mode'],
  ['boost with a vector', { v: zeros, mode: 'boost' }, 'search_mode_requires_text'],
  ['a vector of another length', { v: [1, 2] }, 'dim_mismatch'],
  ['a zero vector', { v: zeros }, 'validation_error'],
  ['filters that are no object', { q: 'a', filters: ['a'] }, 'validation_error'],
  ['an empty content filter', { q: 'a', content_filter: { op: 'exact', value: '' } }, 'validation_error'],
  ['a content filter of another kind', { q: 'a', content_filter: { op: 'regex', value: 'a' } }, 'validation_error'],
  [
    'a field too many in the content filter',
    { q: 'a', content_filter: { op: 'exact', value: 'a', flags: 'i' } },
    'validation_error',
  ],
];
for (const [what, body, code] of bad) {
  test(`search with ${what} is 422 ${code}`, async () => {
    const json = await refused(call('POST', search, body), 422, code);
    assert.ok(json.detail.length >= 1);
  });
}

test('a 422 says what is wrong with each field', async () => {
  const { json } = await call('POST', search, { q: 'a', k: '5', mode: 7 });
  assert.deepEqual(json.detail, [
    { loc: ['body', 'k'], msg: 'Should be a whole number, at least 1, at most 1000.', type: 'int_type', input: '5' },
    { loc: ['body', 'mode'], msg: 'Should be string.', type: 'string_type', input: 7 },
  ]);
  const negative = await call('POST', search, { q: 'a', k: -1 });
  assert.equal(negative.json.error, 'body.k: Should be a whole number, at least 0.');
  assert.deepEqual(
    (await call('POST', search, { q: 'a', k: 0 })).json.detail.map(({ type }: any) => type),
    ['out_of_range'],
  );
});

test('the query string is checked too', async () => {
  const json = await refused(call('GET', `${search}?k=5`), 422, 'validation_error');
  assert.deepEqual(
    json.detail.map(({ loc, type }: any) => [loc, type]),
    [[['query', 'q'], 'missing']],
  );
  for (const query of ['q=a&k=x', 'q=a&k=0', 'q=a&k=1e3', 'q=a&include_common=maybe', 'q='])
    await refused(call('GET', `${search}?${query}`), 422, 'validation_error');
  assert.equal((await call('GET', `${search}?q=a&k=1000&include_common=yes`)).status, 200);
});

test('a vectors-only collection takes no text query', async () => {
  await refused(call('GET', '/v1/collections/acme/v/search?q=x'), 422, 'vectors_only');
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
