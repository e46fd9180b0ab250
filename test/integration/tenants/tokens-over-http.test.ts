// Mode jwt over a real socket: tokens and keys side by side, and what a token with filters or collections can reach.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SignJWT, type JWTPayload } from 'jose';
import { spawnServe, untilReady } from '../../kit/process.js';
import { startTestServer, type Answer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const SECRET = 'thirty-two bytes at the very least';
const JWT = { SHEAF_AUTH__MODE: 'jwt', SHEAF_AUTH__JWT__SECRET: SECRET, SHEAF_AUTH__ADMIN_KEY: 'root' };
const server = await startTestServer({ ...JWT, SHEAF_AUTH__KEYS: '[{name: web, tenant: acme, key: web-key}]' });
const sign = (claims: JWTPayload, secret = SECRET): Promise<string> =>
  new SignJWT({ exp: Math.floor(Date.now() / 1000) + 600, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(secret));
const as = (token: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  server.call(method, path, body, { authorization: `Bearer ${token}` });
const result = ({ status, json }: Answer): unknown[] => [status, json.code];

test('tokens, configured keys, run-time keys and the admin key all work', async () => {
  const { key } = (await as('root', 'POST', '/v1/admin/tenants', { tenant: 'made' })).json;
  assert.equal((await as(await sign({ tenants: ['acme'] }), 'GET', '/v1/collections/acme')).status, 200);
  assert.equal((await as('web-key', 'GET', '/v1/collections/acme')).status, 200);
  assert.equal((await as(key as string, 'GET', '/v1/collections/made')).status, 200);
  assert.equal(
    (await server.call('GET', '/v1/collections/acme', undefined, { 'x-api-key': await sign({ tenant: 'acme' }) }))
      .status,
    200,
  );
  const admin = await sign({ admin: true });
  for (let i = 0; i < 2; i++) assert.equal((await as(admin, 'GET', '/v1/admin/tenants')).status, 200);
});

test('the first request with a token may carry a body', async () => {
  const token = await sign({ tenants: '*', sub: 'first' });
  const posted = await as(token, 'POST', '/v1/collections/acme/docs/documents', {
    docid: 'A',
    text: 'x'.repeat(200_000),
    metadata: { owner: 'u1' },
  });
  assert.equal(posted.status, 201, posted.text);
});

test('a token that is no good is 401 without a reason', async () => {
  const tokens = [
    await sign({ tenant: 'acme' }, 'another secret of thirty-two bytes'),
    await sign({ tenant: 'acme', exp: 1 }),
    'a.b.c',
    await sign({ tenant: 5 } as JWTPayload),
  ];
  const answers = await Promise.all([...tokens, 'nonsense'].map((token) => as(token, 'GET', '/v1/collections/acme')));
  for (const answer of answers) {
    assert.deepEqual(result(answer), [401, 'auth_invalid']);
    assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
    assert.equal(answer.json.error, answers[0]?.json.error);
    assert.deepEqual(Object.keys(answer.json).sort(), [
      'code',
      'error',
      'error_type',
      'latency_ms',
      'ok',
      'request_id',
    ]);
  }
});

test('tenants and scopes of a token hold', async () => {
  const reader = await sign({ tenants: ['acme', 'other'], scopes: 'search' });
  for (let i = 0; i < 2; i++) {
    assert.equal((await as(reader, 'GET', '/v1/collections/other')).status, 200);
    assert.deepEqual(result(await as(reader, 'GET', '/v1/collections/third')), [403, 'auth_forbidden']);
    assert.deepEqual(result(await as(reader, 'POST', '/v1/collections/acme/docs/documents', { text: 'x' })), [
      403,
      'auth_forbidden',
    ]);
    assert.deepEqual(result(await as(reader, 'DELETE', '/v1/collections/acme/docs')), [403, 'auth_forbidden']);
    assert.deepEqual(result(await as(reader, 'GET', '/v1/admin/tenants')), [403, 'admin_required']);
  }
});

test('a token with filters and collections searches those, and reads no document, chunk or log', async () => {
  const user = await sign({ tenant: 'acme', sub: 'u7', filters: { owner: 'u7' }, collections: ['docs'] });
  assert.deepEqual(result(await as(user, 'POST', '/v1/collections/acme/other/search', { q: 'x' })), [
    403,
    'auth_forbidden',
  ]);
  for (const path of [
    '/documents',
    '/documents/A',
    '/documents/A/chunks',
    '/chunks/A::chunk_0',
    '/chunks/A::chunk_0/content',
    '/detail',
  ]) {
    assert.deepEqual(result(await as(user, 'GET', `/v1/collections/acme/docs${path}`)), [403, 'auth_forbidden'], path);
  }
  assert.equal((await as(user, 'GET', '/v1/collections/acme/docs/search?q=x')).status, 200);
  assert.equal((await as(user, 'POST', '/v1/collections/acme/docs/search', { q: 'x' })).status, 200);
});

test('mode jwt serves other addresses than loopback, makes an admin key, and logs no token', async () => {
  const dataDir = tempDirectory();
  const { SHEAF_AUTH__ADMIN_KEY: _, ...env } = JWT;
  const process = spawnServe({
    ...env,
    SHEAF_DATA_DIR: dataDir,
    SHEAF_SERVER__HOST: '0.0.0.0',
    SHEAF_LOG__LEVEL: 'debug',
  });
  const { port } = new URL(await untilReady(process));
  const token = await sign({ tenant: 't' });
  assert.equal(
    (await fetch(`http://127.0.0.1:${port}/v1/collections/t`, { headers: { authorization: `Bearer ${token}` } }))
      .status,
    200,
  );
  assert.match(process.output(), /admin\.key/);
  for (const secret of [token, SECRET]) assert.ok(!process.output().includes(secret));
});

test('key files that are no good end the start with one line', async () => {
  const refused = spawnServe({
    SHEAF_AUTH__MODE: 'jwt',
    SHEAF_AUTH__JWT__JWKS_FILE: '/none.json',
    SHEAF_DATA_DIR: tempDirectory(),
  });
  assert.equal(await refused.ended, 1);
  assert.match(refused.output(), /^sheaf: auth\.jwt\.jwks_file: \/none\.json is not a readable JWKS file\n$/);
});
