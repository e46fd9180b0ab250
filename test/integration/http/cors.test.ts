// Pages of other origins: preflights, the headers of answers and of errors, and that nothing of it is there by default.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../../kit/server.js';

const KEYS = '[{name: page, tenant: acme, key: page-key, scopes: [search], max_in_flight: 8}]';
const auth = { SHEAF_AUTH__MODE: 'static', SHEAF_AUTH__ADMIN_KEY: 'root', SHEAF_AUTH__KEYS: KEYS };
const APP = 'https://app.example.com';
const server = await startTestServer({ ...auth, SHEAF_SERVER__CORS__ORIGINS: `${APP}, http://localhost:5173` });
const open = await startTestServer({ ...auth, SHEAF_SERVER__CORS__ORIGINS: '"*"' });
const closed = await startTestServer(auth);
const keyless = await startTestServer({ SHEAF_SERVER__CORS__ORIGINS: APP });
const SEARCH = '/v1/collections/acme/docs/search';

const preflight = (of: { url: string }, origin: string, path = SEARCH): Promise<Response> =>
  fetch(of.url + path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type',
    },
  });
const allowed = ({ headers }: { headers: Headers }): (string | null)[] =>
  ['access-control-allow-origin', 'vary'].map((name) => headers.get(name));

test('a preflight of an allowed origin is answered without a key', async () => {
  const answer = await preflight(server, APP);
  assert.deepEqual([answer.status, await answer.text(), ...allowed(answer)], [200, '', APP, 'Origin']);
  assert.equal(answer.headers.get('access-control-allow-methods'), 'GET, HEAD, POST');
  assert.match(answer.headers.get('access-control-allow-headers') ?? '', /Authorization.*Content-Type.*X-API-Key/);
  assert.equal(answer.headers.get('access-control-max-age'), '7200');
  assert.equal(answer.headers.get('access-control-allow-credentials'), null);
  const deleting = await preflight(server, APP, '/v1/collections/acme/docs/documents/a');
  assert.match(deleting.headers.get('access-control-allow-methods') ?? '', /DELETE/);
});

test('an allowed page reads answers and errors with the headers that belong to them', async () => {
  const page = { origin: APP, authorization: 'Bearer page-key' };
  for (const [path, status, headers] of [
    [`${SEARCH}?q=a`, 200, page],
    [`${SEARCH}?q=a`, 401, { origin: APP }],
    [`${SEARCH}?nonsense=a`, 422, page],
    ['/v1/admin/tenants', 403, page],
    ['/v1/nowhere', 404, page],
  ] as const) {
    const answer = await server.call('GET', path, undefined, headers);
    assert.deepEqual([answer.status, ...allowed(answer)], [status, APP, 'Origin'], path);
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /X-Request-ID.*Retry-After/);
  }
});

test('other origins get no headers that would let them read', async () => {
  for (const origin of ['https://evil.example', 'http://app.example.com', `${APP}.evil.example`, 'null']) {
    const answer = await server.call('GET', `${SEARCH}?q=a`, undefined, { origin, authorization: 'Bearer page-key' });
    assert.deepEqual(allowed(answer), [null, 'Origin'], origin);
    assert.equal((await preflight(server, origin)).headers.get('access-control-allow-origin'), null, origin);
  }
});

test('with * every origin may read', async () => {
  assert.deepEqual(allowed(await preflight(open, 'https://anything.example')), ['*', null]);
});

test('by default there is no CORS, and OPTIONS is a method like others', async () => {
  const answer = await preflight(closed, APP);
  assert.deepEqual([answer.status, ...allowed(answer)], [405, null, null]);
  assert.deepEqual(allowed(await closed.call('GET', '/health', undefined, { origin: APP })), [null, null]);
});

test('without keys an allowed origin may call the server, and others are still refused', async () => {
  assert.equal((await preflight(keyless, APP)).status, 200);
  const search = (origin: string) => keyless.call('GET', `${SEARCH}?q=a`, undefined, { origin });
  assert.deepEqual([(await search(APP)).status, (await search('https://evil.example')).status], [200, 403]);
});

test('no internal error was logged', () => {
  for (const { faults } of [server, open, closed, keyless]) assert.deepEqual(faults, []);
});
