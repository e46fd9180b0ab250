// What the specification and contract.md say about keys: who may call what, and what the client errors say.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { ADMIN_KEY } from '../../kit/conformance/stage.js';
import { refused, startTestServer } from '../../kit/server.js';

const KEYS = JSON.stringify([
  { name: 'acme-app', tenant: 'acme', key: 'key-of-acme' },
  { name: 'acme-old', tenant: 'acme', key: 'old-key-of-acme', expires: '2001-01-01T00:00:00Z' },
  { name: 'acme-second', tenant: 'acme', key: '0123' },
  { name: 'beta-app', tenant: 'beta', key: 'key-of-beta' },
]);
const { call, port } = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: ADMIN_KEY,
  SHEAF_AUTH__KEYS: KEYS,
});
const acme = '/v1/collections/acme';
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
await call('POST', `${acme}/docs/documents`, { docid: 'A', text: 'the documents of acme' }, bearer('key-of-acme'));

test('a key comes as a bearer, the scheme in any case, or as X-API-Key; a tenant may have several', async () => {
  for (const headers of [
    bearer('key-of-acme'),
    { authorization: 'bEARER key-of-acme' },
    { 'x-api-key': 'key-of-acme' },
    bearer('0123'),
    bearer(ADMIN_KEY),
  ]) {
    assert.equal((await call('GET', acme, undefined, headers)).status, 200, JSON.stringify(headers));
  }
});

test('no key, an unknown, an expired or a mangled one: 401 auth_invalid with WWW-Authenticate', async () => {
  for (const headers of [
    {},
    bearer('nobody'),
    bearer(''),
    bearer('old-key-of-acme'),
    bearer('KEY-OF-ACME'),
    { authorization: 'Basic a2V5LW9mLWFjbWU=' },
    { 'x-api-key': 'key-of-acme ' + 'x' },
  ]) {
    const answer = await call('GET', acme, undefined, headers);
    assert.deepEqual(
      [answer.status, answer.json.code, answer.headers.get('www-authenticate') !== null],
      [401, 'auth_invalid', true],
      JSON.stringify(headers),
    );
  }
});

test('the key of another tenant is 403 auth_forbidden, whether the collection is there or not', async () => {
  for (const name of ['docs', 'nothing'])
    await refused(call('GET', `${acme}/${name}/detail`, undefined, bearer('key-of-beta')), 403, 'auth_forbidden');
});

test('a tenant key on an admin route or on the metrics is 403 admin_required', async () => {
  for (const path of ['/v1/admin/tenants', '/v1/admin/embedders', '/health/metrics', '/metrics'])
    await refused(call('GET', path, undefined, bearer('key-of-acme')), 403, 'admin_required');
});

test("health, liveness and readiness want no key; the metrics want the admin's", async () => {
  for (const path of ['/health', '/health/live', '/health/ready'])
    assert.equal((await call('GET', path)).status, 200, path);
  for (const path of ['/health/metrics', '/metrics'])
    assert.deepEqual(
      [(await call('GET', path)).status, (await call('GET', path, undefined, bearer(ADMIN_KEY))).status],
      [401, 200],
      path,
    );
});

test('a tenant renames in its own tenant only', async () => {
  await call('POST', '/v1/collections/beta/own', undefined, bearer('key-of-beta'));
  assert.equal(
    (await call('POST', '/v1/collections/beta/own/move', { new_name: 'mine' }, bearer('key-of-beta'))).status,
    200,
  );
  await refused(
    call('POST', `${acme}/docs/move`, { new_name: 'theirs' }, bearer('key-of-beta')),
    403,
    'auth_forbidden',
  );
  await refused(
    call('POST', '/v1/admin/collections/beta/mine/move', { new_name: 'own' }, bearer('key-of-beta')),
    403,
    'admin_required',
  );
});

test('the log names the key that searched', async () => {
  for (const [key, actor] of [
    ['key-of-acme', 'acme-app'],
    ['0123', 'acme-second'],
    [ADMIN_KEY, 'admin'],
  ] as const) {
    const { json } = await call('GET', `${acme}/docs/search?q=documents`, undefined, bearer(key));
    assert.equal(
      (await call('GET', `${acme}/docs/queries/${json.query_id}`, undefined, bearer('key-of-acme'))).json.query.actor,
      actor,
    );
  }
});

test('a search of another tenant is 404 by its id, even with a key that may read its own log', async () => {
  const { json } = await call('GET', `${acme}/docs/search?q=documents`, undefined, bearer('key-of-acme'));
  await refused(
    call('GET', `/v1/collections/beta/mine/queries/${json.query_id}`, undefined, bearer('key-of-beta')),
    404,
    'query_not_found',
  );
});

test('an upload with a wrong key is refused before its body is read', async () => {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  // Only the request head is sent: a server that waits for the body cannot answer.
  socket.write(
    `POST ${acme}/docs/documents HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 400000000\r\nAuthorization: Bearer wrong\r\n\r\n`,
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  assert.match(answer.toString(), /^HTTP\/1\.1 401 .*"code":"auth_invalid"/s);
  socket.destroy();
});
