// Tenants and keys that are created at run time, over a real socket: every endpoint, what it rejects, and what survives
// a restart.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../../../src/config/load.js';
import { startServer } from '../../../src/cli/serve.js';
import { holdStore } from '../../kit/held-store.js';
import { startTestServer, ALL_IN_THIS_THREAD, type Answer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';
import { SILENT } from '../../kit/log.js';

const STATIC = {
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS: '[{name: web, tenant: configured, key: web-key}]',
};
const server = await startTestServer(STATIC);
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const admin = (method: string, path: string, body?: unknown): Promise<Answer> =>
  server.call(method, `/v1/admin/tenants${path}`, body, bearer('root'));
const withKey = (key: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  server.call(method, path, body, bearer(key));

function assertError({ status, json }: Answer, wanted: number, code: string): void {
  assert.deepEqual([status, json.code], [wanted, code], JSON.stringify(json));
}

/** The record of an answer, without the fields that every answer has. */
function recordOf({ json }: Answer): Record<string, unknown> {
  const { ok, latency_ms, request_id, ...record } = json;
  assert.deepEqual([ok, typeof latency_ms, typeof request_id], [true, 'number', 'string']);
  return record;
}

const INHERITED = {
  max_collections: null,
  max_chunks_per_collection: null,
  requests_per_second: null,
  burst: null,
  max_in_flight: null,
};
const DEFAULT_LIMITS = {
  max_collections: -1,
  max_chunks_per_collection: -1,
  requests_per_second: -1,
  burst: -1,
  max_in_flight: 42,
};
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const KEY = /^sheaf_[\w-]{43}$/;

test('a tenant is made with its first key, which works at once and is shown this once', async () => {
  const made = await admin('POST', '', { tenant: 'Made-1', max_collections: 2, display_name: ' Made ' });
  assert.equal(made.status, 201, made.text);
  const { created_at, key_id, key, ...record } = recordOf(made);
  assert.match(created_at as string, TIME);
  assert.match(key as string, KEY);
  assert.deepEqual(record, {
    tenant: 'Made-1',
    display_name: 'Made',
    ...INHERITED,
    max_collections: 2,
    limits: { ...DEFAULT_LIMITS, max_collections: 2 },
    collection_count: 0,
    label: 'primary',
  });
  assert.equal((await withKey(key as string, 'GET', '/v1/collections/Made-1')).status, 200);
  assertError(await withKey(key as string, 'GET', '/v1/collections/other'), 403, 'auth_forbidden');
  assertError(await withKey(key as string, 'GET', '/v1/admin/tenants'), 403, 'admin_required');
  const listed = await admin('GET', '/Made-1/keys');
  const { created_at: keyCreatedAt } = (listed.json.keys as { created_at: string }[])[0] ?? { created_at: '' };
  assert.match(keyCreatedAt, TIME);
  assert.deepEqual(recordOf(listed), {
    tenant: 'Made-1',
    keys: [{ key_id, label: 'primary', created_at: keyCreatedAt }],
    count: 1,
  });
  assert.ok(!listed.text.includes(key as string));
});

test('the list has tenants that were made and tenants that have a collection', async () => {
  await admin('POST', '', { tenant: 'empty' });
  await withKey('web-key', 'POST', '/v1/collections/configured/c');
  const { tenants, count } = recordOf(await admin('GET', '')) as { tenants: string[]; count: number };
  for (const tenant of ['empty', 'configured']) assert.ok(tenants.includes(tenant), tenant);
  assert.deepEqual([tenants, count], [[...tenants].sort(), tenants.length]);
});

test('a tenant that only has collections can be looked at and changed; then it has a record', async () => {
  await withKey('root', 'POST', '/v1/collections/implicit/c');
  const before = recordOf(await admin('GET', '/implicit'));
  assert.deepEqual(before, {
    tenant: 'implicit',
    display_name: null,
    created_at: null,
    ...INHERITED,
    limits: DEFAULT_LIMITS,
    collection_count: 1,
  });
  const changed = recordOf(await admin('PATCH', '/implicit', { requests_per_second: 2.5, max_in_flight: -1 }));
  assert.deepEqual(changed.limits, { ...DEFAULT_LIMITS, requests_per_second: 2.5, burst: 5, max_in_flight: -1 });
  assert.deepEqual(recordOf(await admin('GET', '/implicit')), changed);
  assert.match(changed.created_at as string, TIME);
  const alias = recordOf(await admin('PATCH', '/implicit', { max_concurrent: 7 }));
  const limits = alias.limits as Record<string, number>;
  assert.deepEqual([alias.max_in_flight, limits.max_in_flight], [7, 7], 'the name that it has in PaveDB');
  const both = await admin('PATCH', '/implicit', { max_concurrent: 7, max_in_flight: 8 });
  assert.deepEqual([both.status, both.json.detail[0].loc], [422, ['body', 'max_concurrent']]);
  const back = recordOf(await admin('PATCH', '/implicit', { requests_per_second: null, max_in_flight: null }));
  assert.deepEqual(back.limits, DEFAULT_LIMITS);
  assertError(await admin('POST', '', { tenant: 'implicit' }), 409, 'tenant_exists');
});

test('two changes at a time both hold', async () => {
  await admin('POST', '', { tenant: 'twice' });
  await Promise.all([
    admin('PATCH', '/twice', { burst: 3 }),
    admin('PATCH', '/twice', { max_collections: 4 }),
    admin('PATCH', '/twice', {}),
  ]);
  const { burst, max_collections: collections } = recordOf(await admin('GET', '/twice'));
  assert.deepEqual([burst, collections], [3, 4]);
});

const WRONG: [string, string, string, unknown, number, string][] = [
  ['a bad slug in the body', 'POST', '', { tenant: '../x' }, 400, 'invalid_tenant_name'],
  ['a tenant that exists', 'POST', '', { tenant: 'wrong' }, 409, 'tenant_exists'],
  ['no tenant', 'POST', '', {}, 422, 'validation_error'],
  ['an unknown field', 'POST', '', { tenant: 'x', quota: 1 }, 422, 'validation_error'],
  ['a quota below -1', 'POST', '', { tenant: 'x', max_collections: -2 }, 422, 'validation_error'],
  ['a count with a fraction', 'POST', '', { tenant: 'x', burst: 1.5 }, 422, 'validation_error'],
  ['a rate between -1 and 0', 'PATCH', '/wrong', { requests_per_second: -0.5 }, 422, 'validation_error'],
  ['an empty label', 'PATCH', '/wrong', { display_name: ' ' }, 400, 'invalid_display_name'],
  ['no JSON', 'PATCH', '/wrong', '{', 400, 'invalid_json'],
  ['another name', 'PATCH', '/wrong', { tenant: 'x' }, 422, 'validation_error'],
  ['a change of a tenant that is not there', 'PATCH', '/none', {}, 404, 'tenant_not_found'],
  ['a tenant that is not there', 'GET', '/none', undefined, 404, 'tenant_not_found'],
  ['a slug with a forbidden character', 'GET', '/a%20b', undefined, 400, 'invalid_tenant_name'],
  ['the delete of a tenant that is not there', 'DELETE', '/none', undefined, 404, 'tenant_not_found'],
  ['a force that is neither yes nor no', 'DELETE', '/wrong?force=maybe', undefined, 422, 'validation_error'],
  ['keys of a tenant that is not there', 'GET', '/none/keys', undefined, 404, 'tenant_not_found'],
  ['a key for a tenant that is not there', 'POST', '/none/keys', {}, 404, 'tenant_not_found'],
  ['a key without label', 'POST', '/wrong/keys', { label: '' }, 422, 'validation_error'],
  ['a key that has expired', 'POST', '/wrong/keys', { expires: '2020-01-01T00:00:00Z' }, 422, 'validation_error'],
  ['a key that expires at no time', 'POST', '/wrong/keys', { expires: 'soon' }, 422, 'validation_error'],
  ['a scope that is none', 'POST', '/wrong/keys', { scopes: ['admin'] }, 422, 'validation_error'],
  ['no scope at all', 'POST', '/wrong/keys', { scopes: [] }, 422, 'validation_error'],
  ['filters that are a list', 'POST', '/wrong/keys', { filters: ['a'] }, 422, 'validation_error'],
  [
    'filters with a place that is none',
    'POST',
    '/wrong/keys',
    { filters: { place: { $geo_radius: { lat: 91, lon: 0, radius_m: 1 } } } },
    422,
    'validation_error',
  ],
  ['filters that are too long', 'POST', '/wrong/keys', { filters: { a: 'x'.repeat(20_000) } }, 422, 'validation_error'],
  ['a collection with a bad name', 'POST', '/wrong/keys', { collections: ['a/b'] }, 400, 'invalid_collection_name'],
  ['the revocation of no key', 'DELETE', '/wrong/keys/nope', undefined, 404, 'key_not_found'],
  [
    'the revocation of a key id of any length',
    'DELETE',
    `/wrong/keys/${'x'.repeat(1000)}`,
    undefined,
    404,
    'key_not_found',
  ],
];

test('what is wrong is refused by name, and changes nothing', async () => {
  await admin('POST', '', { tenant: 'wrong' });
  const before = [recordOf(await admin('GET', '/wrong')), recordOf(await admin('GET', '/wrong/keys'))];
  for (const [what, method, path, body, status, code] of WRONG) {
    const { status: found, json } = await admin(method, path, body);
    assert.deepEqual([found, json.code], [status, code], what);
  }
  assert.deepEqual([recordOf(await admin('GET', '/wrong')), recordOf(await admin('GET', '/wrong/keys'))], before);
});

test('a key with scopes, collections and an expiry does no more than that', async () => {
  await admin('POST', '', { tenant: 'part' });
  for (const name of ['docs', 'other']) await withKey('root', 'POST', `/v1/collections/part/${name}`);
  const expires = new Date(Date.now() + 3_600_000).toISOString();
  const made = recordOf(
    await admin('POST', '/part/keys', { label: 'reader', scopes: ['search'], collections: ['docs'], expires }),
  );
  assert.deepEqual(
    [made.tenant, made.label, made.scopes, made.collections, made.expires],
    ['part', 'reader', ['search'], ['docs'], expires],
  );
  const reader = (method: string, path: string, body?: unknown): Promise<Answer> =>
    withKey(made.key as string, method, `/v1/collections/part${path}`, body);
  assert.deepEqual(
    (await reader('GET', '')).json.collections.map(({ name }: { name: string }) => name),
    ['docs'],
  );
  assert.equal((await reader('GET', '/docs/search?q=x')).status, 200);
  assert.equal((await reader('GET', '/docs/documents')).status, 200);
  assertError(await reader('GET', '/other/search?q=x'), 403, 'auth_forbidden');
  assertError(await reader('GET', '/other/documents/A'), 403, 'auth_forbidden');
  assertError(await reader('POST', '/docs/documents', { text: 'x' }), 403, 'auth_forbidden');
  assertError(await reader('DELETE', '/docs'), 403, 'auth_forbidden');
});

test('a key cannot rename its collection out of its list', async () => {
  await admin('POST', '', { tenant: 'mover' });
  const { key } = recordOf(await admin('POST', '/mover/keys', { collections: ['a', 'b'] }));
  await withKey(key as string, 'POST', '/v1/collections/mover/a');
  assertError(
    await withKey(key as string, 'POST', '/v1/collections/mover/a/move', { new_name: 'c' }),
    403,
    'auth_forbidden',
  );
  assert.equal((await withKey(key as string, 'POST', '/v1/collections/mover/a/move', { new_name: 'b' })).status, 200);
});

test('a key with filters searches, and reads nothing else', async () => {
  await admin('POST', '', { tenant: 'filtered' });
  await withKey('root', 'POST', '/v1/collections/filtered/docs/documents', {
    docid: 'A',
    text: 'a secret',
    metadata: { owner: 'u2' },
  });
  const { key } = recordOf(await admin('POST', '/filtered/keys', { label: 'end user', filters: { owner: 'u1' } }));
  const paths = [
    '/docs/documents',
    '/docs/documents/A',
    '/docs/documents/A/chunks',
    '/docs/chunks/A::chunk_0',
    '/docs/chunks/A::chunk_0/content',
    '/docs/detail',
    '',
  ];
  for (const path of paths)
    assertError(await withKey(key as string, 'GET', `/v1/collections/filtered${path}`), 403, 'auth_forbidden');
  assertError(
    await withKey(key as string, 'POST', '/v1/collections/filtered/docs/documents', { text: 'x' }),
    403,
    'auth_forbidden',
  );
  assertError(
    await withKey(key as string, 'DELETE', '/v1/collections/filtered/docs/documents/A'),
    403,
    'auth_forbidden',
  );
  assert.equal((await withKey(key as string, 'GET', '/v1/collections/filtered/docs/search?q=secret')).status, 200);
});

test('an expired key is 401', async (t) => {
  const { now } = Date;
  let aheadMs = 0;
  t.mock.method(Date, 'now', () => now() + aheadMs);
  const { call } = await startTestServer({ ...STATIC, ...ALL_IN_THIS_THREAD });
  await call('POST', '/v1/admin/tenants', { tenant: 'brief' }, bearer('root'));
  const { key } = (
    await call(
      'POST',
      '/v1/admin/tenants/brief/keys',
      { expires: new Date(now() + 3_600_000).toISOString() },
      bearer('root'),
    )
  ).json;
  const ask = (): Promise<Answer> => call('GET', '/v1/collections/brief', undefined, bearer(key as string));
  assert.equal((await ask()).status, 200);
  aheadMs = 3_600_000;
  assertError(await ask(), 401, 'auth_invalid');
});

test('a revoked key is 401 at once, stays in the list, and revoking it again changes nothing', async () => {
  const { key, key_id: id } = recordOf(await admin('POST', '', { tenant: 'revoked' }));
  const { key: other } = recordOf(await admin('POST', '/revoked/keys', { label: 'second' }));
  assert.equal((await withKey(key as string, 'GET', '/v1/collections/revoked')).status, 200);
  const revoked = recordOf(await admin('DELETE', `/revoked/keys/${id}`));
  assert.match(revoked.revoked_at as string, TIME);
  assertError(await withKey(key as string, 'GET', '/v1/collections/revoked'), 401, 'auth_invalid');
  assert.equal((await withKey(other as string, 'GET', '/v1/collections/revoked')).status, 200);
  assert.deepEqual(recordOf(await admin('DELETE', `/revoked/keys/${id}`)), revoked);
  const { keys } = recordOf(await admin('GET', '/revoked/keys')) as { keys: { label: string; revoked_at?: string }[] };
  assert.deepEqual(
    keys.map(({ label, revoked_at }) => [label, revoked_at]),
    [
      ['primary', revoked.revoked_at],
      ['second', undefined],
    ],
  );
});

test('a tenant with collections goes only by force, with its collections; its keys die at once', async () => {
  const { key } = recordOf(await admin('POST', '', { tenant: 'going' }));
  for (const name of ['a', 'b'])
    await withKey(key as string, 'POST', `/v1/collections/going/${name}/documents`, { docid: 'A', text: 'gone' });
  const kept = await admin('DELETE', '/going');
  assertError(kept, 409, 'tenant_not_empty');
  assert.equal(kept.json.error_type, 'conflict');
  assert.equal((await withKey(key as string, 'GET', '/v1/collections/going/a/documents/A')).status, 200);
  assert.deepEqual(recordOf(await admin('DELETE', '/going?force=true')), {
    tenant: 'going',
    deleted: 'going',
    collections_deleted: 2,
  });
  assertError(await withKey(key as string, 'GET', '/v1/collections/going'), 401, 'auth_invalid');
  assertError(await admin('GET', '/going'), 404, 'tenant_not_found');
  assert.equal(((await withKey('root', 'GET', '/v1/collections/going')).json.collections as unknown[]).length, 0);
  const again = recordOf(await admin('POST', '', { tenant: 'going' }));
  assert.equal(again.collection_count, 0);
  assertError(await withKey(key as string, 'GET', '/v1/collections/going'), 401, 'auth_invalid');
  assert.equal((await withKey(again.key as string, 'GET', '/v1/collections/going/a/documents/A')).status, 404);
  assert.equal((await admin('DELETE', '/going')).status, 200);
});

test('a tenant key is refused on admin routes before its body is looked at', async () => {
  for (const [method, path] of [
    ['GET', ''],
    ['POST', ''],
    ['PATCH', '/configured'],
    ['DELETE', '/configured'],
    ['GET', '/configured/keys'],
    ['POST', '/configured/keys'],
    ['DELETE', '/configured/keys/x'],
  ] as const) {
    const body = method === 'POST' || method === 'PATCH' ? '{ not JSON' : undefined;
    assertError(await withKey('web-key', method, `/v1/admin/tenants${path}`, body), 403, 'admin_required');
    assertError(await server.call(method, `/v1/admin/tenants${path}`, body), 401, 'auth_invalid');
  }
});

test('from the first moment of a start a key made before is 503 or good, never 401', async () => {
  const env = { ...STATIC, SHEAF_DATA_DIR: tempDirectory() };
  const before = await startTestServer(env);
  const { key } = (await before.call('POST', '/v1/admin/tenants', { tenant: 'early' }, bearer('root'))).json;
  await before.stop();
  // The catalog is held until the test has seen a request before it is open: the server then knows no tenants.
  const giveBack = await holdStore(join(before.dataDir, 'catalog'));
  const again = await startServer(readConfig({ ...env, SHEAF_SERVER__PORT: '0' }), SILENT);
  const codes: string[] = [];
  const ask = async (): Promise<boolean> => {
    const response = await fetch(`http://127.0.0.1:${again.port}/v1/collections/early`, {
      headers: bearer(key as string),
    });
    codes.push(`${response.status} ${((await response.json()) as { code?: string }).code ?? 'ok'}`);
    return codes.at(-1) === '200 ok';
  };
  await ask();
  await giveBack();
  await until(ask, 'the server does not become ready');
  await again.stop();
  assert.deepEqual(new Set(codes), new Set(['503 not_ready', '200 ok']));
});

test('when the worker of the catalog dies, tenants and keys come back with it', async () => {
  const { key } = recordOf(await admin('POST', '', { tenant: 'survivor' }));
  await server.parts.shards.kill(0);
  while ((await admin('POST', '/survivor/keys', { label: 'after' })).status !== 201)
    await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal((await withKey(key as string, 'GET', '/v1/collections/survivor')).status, 200);
  assert.equal(recordOf(await admin('GET', '/survivor/keys')).count, 2);
});

test('in mode none the endpoints work as well', async () => {
  const open: TestServer = await startTestServer();
  const made = await open.call('POST', '/v1/admin/tenants', { tenant: 'open' });
  assert.equal(made.status, 201);
  assert.equal((await open.call('POST', '/v1/admin/tenants/open/keys', { label: 'k' })).status, 201);
  assert.equal((await open.call('GET', '/v1/admin/tenants/open/keys')).json.count, 2);
  assert.equal((await open.call('DELETE', `/v1/admin/tenants/open/keys/${made.json.key_id}`)).status, 200);
  assert.equal((await open.call('DELETE', '/v1/admin/tenants/open')).status, 200);
  await open.stop();
  assert.deepEqual(open.faults, []);
});

test('no internal error was logged', () => {
  assert.deepEqual(server.faults, []);
});
