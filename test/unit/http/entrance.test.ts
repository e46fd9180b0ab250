// Admission of requests over sockets: authentication that takes its time, the places of tenants, and what clients that
// have to retry are told.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError, ERROR_CODES, type ErrorCode } from '../../../src/api/errors.js';
import type { HttpServerOptions } from '../../../src/http/options.js';
import type { Permit } from '../../../src/service/tenants/actor.js';
import { eventually, gate, measure, ok, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf } from '../../kit/http/raw-client.js';

const SIZE = 100_000_000;
const upload = route('POST', '/v1/{tenant}/upload', measure, {
  access: 'tenant',
  isLimited: true,
});
const CHUNKED = { 'Transfer-Encoding': 'chunked' };

/** Rejects keys other than `good`, once the gate opens. */
function slowly(opened: Promise<void>): HttpServerOptions['authenticate'] {
  return async (request) => {
    await opened;
    if (request.header('x-api-key') !== 'good') throw new AppError('auth_invalid');
    return { name: 'tenant:acme', admin: false, tenants: ['acme'] };
  };
}

test('a body waits for its key to be checked, little of it in memory, and arrives whole', async (t) => {
  const wait = gate();
  const probe = await startProbe(
    t,
    [upload],
    { jsonBytesMax: SIZE, bodyTimeoutMs: 100 },
    { authenticate: slowly(wait.opened) },
  );
  const client = await probe.client();
  client.request(
    'POST',
    '/v1/acme/upload',
    { 'X-API-Key': 'good', 'Content-Length': String(SIZE) },
    Buffer.alloc(SIZE),
  );
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.ok(client.socket.writableLength > 0, 'the server has taken everything before the key was checked');
  wait.open();
  assert.equal(jsonOf(await client.reply()).bytes, SIZE);
});

test('a wrong key is refused before the body is read, at once or after a while', async (t) => {
  const wait = gate();
  for (const authenticate of [slowly(wait.opened), slowly(Promise.resolve()), undefined]) {
    const probe = await startProbe(t, [upload], { jsonBytesMax: SIZE }, authenticate && { authenticate });
    const client = await probe.client();
    client.request(
      'POST',
      '/v1/acme/upload',
      { 'X-API-Key': 'bad', 'Content-Length': String(SIZE) },
      Buffer.alloc(1000),
    );
    setTimeout(() => wait.open(), 50);
    const refused = await client.reply();
    assert.deepEqual(
      [refused.status, jsonOf(refused).code, refused.headers.connection],
      [401, 'auth_invalid', 'close'],
    );
    assert.ok(client.socket.bytesWritten < 2000);
    const chunked = await probe.client();
    chunked.request('POST', '/v1/acme/upload', { 'X-API-Key': 'bad', ...CHUNKED }, `3e8\r\n${'x'.repeat(1000)}\r\n`);
    assert.equal((await chunked.reply()).status, 401);
    assert.deepEqual(probe.faults, []);
  }
});

test('the length is checked after the key, and a client that goes away meanwhile starts nothing', async (t) => {
  const wait = gate();
  let handled = 0;
  const counted = route(
    'POST',
    '/v1/{tenant}/upload',
    (request) => {
      handled += 1;
      return measure(request);
    },
    { access: 'tenant' },
  );
  const probe = await startProbe(
    t,
    [counted],
    { jsonBytesMax: 10, inFlightMax: 1 },
    { authenticate: slowly(wait.opened) },
  );
  const [gone, long] = [await probe.client(), await probe.client()];
  gone.request('POST', '/v1/acme/upload', { 'X-API-Key': 'good', 'Content-Length': '5' }, 'abcde');
  long.request('POST', '/v1/acme/upload', { 'X-API-Key': 'good', 'Content-Length': '11' }, 'abcdefghijk');
  await new Promise((resolve) => setTimeout(resolve, 30));
  gone.destroy();
  assert.equal((await probe.event(1)).result, 'aborted');
  wait.open();
  assert.equal((await long.reply()).status, 413);
  assert.equal(handled, 0);
  assert.equal(
    (await fetch(probe.url('/v1/acme/upload'), { method: 'POST', headers: { 'X-API-Key': 'good' }, body: 'abc' }))
      .status,
    200,
  );
  assert.deepEqual(probe.faults, []);
});

/** A limiter that gives at most `places` at a time, and records what it gave. */
function limiter(places: number) {
  const seen = { taken: 0, free: places, asked: [] as (string | undefined)[] };
  const headers = (): Record<string, string> => ({
    'X-RateLimit-Limit': String(places),
    'X-RateLimit-Remaining': String(seen.free),
    'X-RateLimit-Reset': '1',
  });
  const admit = (_actor: unknown, tenant: string | undefined): Permit => {
    seen.asked.push(tenant);
    if (seen.free === 0) throw new AppError('tenant_rate_limited', undefined, { retryAfterS: 3, headers: headers() });
    seen.free -= 1;
    seen.taken += 1;
    return { headers: headers(), charge: () => undefined, release: () => (seen.free += 1) };
  };
  return { seen, admit };
}

test('a permit is taken on limited routes, told on every response, and given back once', async (t) => {
  const wait = gate();
  const { seen, admit } = limiter(1);
  const routes = [
    upload,
    route('GET', '/v1/{tenant}/slow', async () => wait.opened.then(ok), { isLimited: true }),
    route('GET', '/fails', () => Promise.reject(new Error('secret')), { isLimited: true }),
    route(
      'GET',
      '/stream',
      () => ({
        status: 200,
        contentType: 'text/plain',
        stream: (async function* () {
          yield 'x'.repeat(200_000);
        })(),
      }),
      { isLimited: true },
    ),
    route('GET', '/free', ok),
  ];
  const probe = await startProbe(
    t,
    routes,
    { jsonBytesMax: 10 },
    { admit, authenticate: () => ({ name: 'a', admin: false }) },
  );
  const limitsOf = (response: Response): unknown[] =>
    ['limit', 'remaining', 'reset'].map((name) => response.headers.get(`x-ratelimit-${name}`));
  for (const [path, status] of [
    ['/fails', 500],
    ['/stream', 200],
  ] as const) {
    const response = await fetch(probe.url(path));
    assert.deepEqual([response.status, limitsOf(response)], [status, ['1', '0', '1']]);
    await response.text();
    await eventually(() => seen.free === 1);
  }
  const tooLong = await fetch(probe.url('/v1/acme/upload'), { method: 'POST', body: 'x'.repeat(11) });
  assert.deepEqual([tooLong.status, limitsOf(tooLong)], [413, ['1', '0', '1']]);
  const slow = fetch(probe.url('/v1/acme/slow'));
  await eventually(() => seen.free === 0);
  const refused = await fetch(probe.url('/v1/acme/slow'));
  assert.deepEqual(
    [refused.status, refused.headers.get('retry-after'), limitsOf(refused)],
    [429, '3', ['1', '0', '1']],
  );
  const free = await fetch(probe.url('/free'));
  assert.deepEqual([free.status, limitsOf(free)], [200, [null, null, null]]);
  wait.open();
  assert.equal((await slow).status, 200);
  await eventually(() => seen.free === 1);
  assert.deepEqual([seen.taken, seen.asked], [4, [undefined, undefined, 'acme', 'acme', 'acme']]);
});

test('a client that goes away keeps its permit until its handler is done', async (t) => {
  const wait = gate();
  const { seen, admit } = limiter(2);
  const probe = await startProbe(
    t,
    [route('GET', '/slow', async () => wait.opened.then(ok), { isLimited: true })],
    {},
    { admit },
  );
  const client = await probe.client();
  client.request('GET', '/slow');
  await eventually(() => seen.free === 1);
  client.destroy();
  await probe.event(1);
  assert.equal(seen.free, 1);
  wait.open();
  await eventually(() => seen.free === 2);
});

test('every temporary rejection says when to retry', async (t) => {
  const codes = (Object.keys(ERROR_CODES) as ErrorCode[]).filter((code) =>
    [429, 503].includes(ERROR_CODES[code].status),
  );
  assert.ok(codes.length > 5);
  const probe = await startProbe(
    t,
    codes.map((code) => route('GET', `/${code}`, () => Promise.reject(new AppError(code)))),
  );
  for (const code of codes) {
    const response = await fetch(probe.url(`/${code}`));
    await response.text();
    assert.equal(response.status, ERROR_CODES[code].status);
    assert.match(response.headers.get('retry-after') ?? '', /^[1-9]\d*$/, code);
  }
});
