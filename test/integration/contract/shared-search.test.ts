// The shared scope over a real socket: /v1/search and include_common, enabled, disabled, with keys, and where they
// cannot be combined.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const COMMON = '/v1/collections/global/common';
const OWN = '/v1/collections/acme/own';
const server = await startTestServer({ SHEAF_COMMON__ENABLED: 'true' });
const { call } = server;

/** Waits for the common collection, which the server creates right after it is ready. */
async function untilMade({ call: ask }: TestServer, path: string, headers: Record<string, string> = {}): Promise<void> {
  await until(
    async () => (await ask('GET', `${path}/detail`, undefined, headers)).status === 200,
    `${path} is not made`,
  );
}

const idsOf = (json: Record<string, any>): string[] => json.matches.map(({ tenant, id }: any) => `${tenant}/${id}`);

test('the common collection is made at start, and is empty', async () => {
  await untilMade(server, COMMON);
  const { status, json } = await call('GET', '/v1/search?q=whale');
  assert.deepEqual([status, json.matches, json.mode], [200, [], 'vector']);
});

test('shared search finds what stands in it, with its own tenant and collection', async () => {
  await call('POST', `${COMMON}/documents`, { docid: 'WHALE', text: 'the white whale', metadata: { lang: 'en' } });
  await call('POST', `${COMMON}/documents`, { docid: 'BREAD', text: 'bread and butter', metadata: { lang: 'en' } });
  const { json } = await call('GET', '/v1/search?q=whale&k=1');
  assert.deepEqual(idsOf(json), ['global/WHALE::chunk_0']);
  assert.equal(json.matches[0].collection, 'common');
  const posted = await call('POST', '/v1/search', {
    q: 'whale',
    mode: 'hybrid',
    filters: { lang: 'en' },
    content_filter: { op: 'contains', value: 'BREAD' },
  });
  assert.deepEqual([idsOf(posted.json), posted.json.mode], [['global/BREAD::chunk_0'], 'hybrid']);
});

test('a vector is refused in the shared scope', async () => {
  const { status, json } = await call('POST', '/v1/search', { v: Array.from({ length: 512 }, () => 1) });
  assert.deepEqual([status, json.code], [400, 'vector_query_not_allowed']);
});

const bad: [string, string, unknown, number, string][] = [
  ['neither q nor v', 'POST', {}, 422, 'validation_error'],
  ['no such mode', 'POST', { q: 'a', mode: 'magic' }, 400, 'invalid_search_mode'],
  ['malformed JSON', 'POST', '{', 400, 'invalid_json'],
  ['an unknown field', 'POST', { q: 'a', top: 1 }, 422, 'validation_error'],
  ['no q', 'GET', undefined, 422, 'validation_error'],
];
for (const [what, method, body, status, code] of bad) {
  test(`${method} /v1/search with ${what} is ${status} ${code}`, async () => {
    const answer = await call(method, '/v1/search', body);
    assert.deepEqual([answer.status, answer.json.code], [status, code]);
  });
}

test('include_common merges both, best first, each with its own place', async () => {
  await call('POST', `${OWN}/documents`, { docid: 'MINE', text: 'a whale of my own' });
  await call('POST', `${OWN}/documents`, { docid: 'WHALE', text: 'the white whale' });
  for (const mode of ['vector', 'boost', 'hybrid']) {
    const { json } = await call('POST', `${OWN}/search`, { q: 'the white whale', mode, include_common: true });
    assert.deepEqual(
      idsOf(json).slice(0, 2),
      ['acme/WHALE::chunk_0', 'global/WHALE::chunk_0'],
      `${mode}: equal scores by document id, the own collection first`,
    );
    assert.deepEqual(
      idsOf(json).slice().sort(),
      ['acme/MINE::chunk_0', 'acme/WHALE::chunk_0', 'global/BREAD::chunk_0', 'global/WHALE::chunk_0'],
      mode,
    );
    const scores = json.matches.map(({ score }: any) => score);
    assert.deepEqual(
      scores,
      [...scores].sort((a, b) => b - a),
      mode,
    );
    assert.deepEqual(
      idsOf((await call('POST', `${OWN}/search`, { q: 'the white whale', k: 1, mode, include_common: true })).json),
      ['acme/WHALE::chunk_0'],
    );
  }
  const { json } = await call('GET', `${OWN}/search?q=bread&k=1&include_common=true`);
  assert.deepEqual(idsOf(json), ['global/BREAD::chunk_0']);
  assert.deepEqual(
    idsOf((await call('GET', `${OWN}/search?q=bread&k=9`)).json).filter((id) => id.startsWith('global')),
    [],
  );
});

test('include_common on the common collection itself shows nothing twice', async () => {
  assert.deepEqual(idsOf((await call('GET', `${COMMON}/search?q=whale&include_common=true`)).json), [
    'global/WHALE::chunk_0',
    'global/BREAD::chunk_0',
  ]);
});

test('include_common is ignored for a vector, and another space is refused', async () => {
  const other = '/v1/collections/acme/vectors';
  await call('POST', other, { embedder_type: 'identity', embedder_config: { dim: 512 } });
  await call('POST', `${other}/documents`, { docid: 'V', vector: Array.from({ length: 512 }, () => 1) });
  const v = Array.from({ length: 512 }, () => 1);
  assert.deepEqual(idsOf((await call('POST', `${other}/search`, { v, include_common: true })).json), ['acme/V::0']);
  const { status, json } = await call('POST', `${other}/search`, { q: 'a', include_common: true });
  assert.deepEqual([status, json.code], [422, 'incompatible_embedder_config']);
});

test('a missing common collection is skipped, and one of another space refused', async () => {
  assert.equal((await call('DELETE', COMMON)).status, 200);
  assert.deepEqual(idsOf((await call('GET', `${OWN}/search?q=a+whale+of+my+own&k=1&include_common=true`)).json), [
    'acme/MINE::chunk_0',
  ]);
  assert.deepEqual(idsOf((await call('GET', '/v1/search?q=whale')).json), []);
  await call('POST', COMMON, { embedder_type: 'identity', embedder_config: { dim: 3 } });
  const { status, json } = await call('GET', `${OWN}/search?q=whale&include_common=true`);
  assert.deepEqual([status, json.code], [422, 'incompatible_embedder_config']);
  assert.equal((await call('GET', `${OWN}/search?q=whale`)).status, 200);
});

test('disabled, the shared scope is empty and include_common adds nothing', async () => {
  const other = await startTestServer();
  await other.call('POST', `${COMMON}/documents`, { docid: 'WHALE', text: 'the white whale' });
  await other.call('POST', `${OWN}/documents`, { docid: 'MINE', text: 'mine' });
  assert.deepEqual(idsOf((await other.call('GET', '/v1/search?q=whale')).json), []);
  assert.deepEqual(idsOf((await other.call('POST', '/v1/search', { q: 'whale' })).json), []);
  assert.deepEqual(idsOf((await other.call('GET', `${OWN}/search?q=whale&include_common=true`)).json), [
    'acme/MINE::chunk_0',
  ]);
  assert.equal((await other.call('POST', '/v1/search', { v: [1] })).json.code, 'vector_query_not_allowed');
});

test('any valid key may search it, none may not', async () => {
  const env = {
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: 'admin',
    SHEAF_AUTH__KEYS: '[{"name":"a","tenant":"acme","key":"k"}]',
    SHEAF_COMMON__ENABLED: 'true',
    SHEAF_COMMON__COLLECTION: 'kb',
  };
  const other = await startTestServer(env);
  const admin = { authorization: 'Bearer admin' };
  await untilMade(other, '/v1/collections/global/kb', admin);
  await other.call('POST', '/v1/collections/global/kb/documents', { docid: 'WHALE', text: 'whale' }, admin);
  assert.deepEqual(idsOf((await other.call('GET', '/v1/search?q=whale', undefined, { 'x-api-key': 'k' })).json), [
    'global/WHALE::chunk_0',
  ]);
  assert.equal((await other.call('GET', '/v1/search?q=whale')).status, 401);
  assert.equal((await other.call('POST', '/v1/search', { q: 'whale' }, { 'x-api-key': 'wrong' })).status, 401);
  assert.equal(
    (await other.call('GET', '/v1/collections/global/kb/search?q=whale', undefined, { 'x-api-key': 'k' })).status,
    403,
  );
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
