// Client errors and internal errors over sockets, and the order of the checks before the body of a request is read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError, invalidField } from '../../../src/api/errors.js';
import { gate, GOOD_KEY, measure, ok, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf } from '../../kit/http/raw-client.js';

const failing = (error: () => unknown) => (): never => {
  throw error();
};

test('an AppError reaches the client with its code, headers and list', async (t) => {
  const probe = await startProbe(t, [
    route(
      'GET',
      '/busy',
      failing(() => new AppError('shard_unavailable', undefined, { retryAfterS: 2 })),
    ),
    route(
      'GET',
      '/field',
      failing(() => invalidField(['query', 'k'], 'must be a number', 'int_parsing', 'x')),
      { keeps400: false },
    ),
    route(
      'GET',
      '/as422',
      failing(() => new AppError('invalid_collection_name')),
      { keeps400: false },
    ),
  ]);
  const busy = await fetch(probe.url('/busy'));
  assert.deepEqual([busy.status, busy.headers.get('retry-after')], [503, '2']);
  const field = (await (await fetch(probe.url('/field'))).json()) as { detail: unknown; details: { errors: unknown } };
  assert.deepEqual(field.detail, [{ loc: ['query', 'k'], msg: 'must be a number', type: 'int_parsing', input: 'x' }]);
  assert.deepEqual(field.details.errors, field.detail);
  const as422 = await fetch(probe.url('/as422'));
  const json = (await as422.json()) as { code: string; detail: { type: string }[] };
  assert.deepEqual(
    [as422.status, json.code, json.detail[0]?.type],
    [422, 'invalid_collection_name', 'invalid_collection_name'],
  );
  assert.deepEqual(probe.faults, []);
});

test('anything else is 500 internal_error, told to onInternalError and not to the client', async (t) => {
  const secret = new Error('secret /path/of/ours');
  const probe = await startProbe(t, [
    route(
      'GET',
      '/throws',
      failing(() => secret),
    ),
    route('GET', '/rejects', () => Promise.reject(secret)),
    route('GET', '/unencodable', () => ({ status: 200, json: { n: 1n } })),
  ]);
  for (const path of ['/throws', '/rejects', '/unencodable']) {
    const response = await fetch(probe.url(path));
    const text = await response.text();
    assert.equal(response.status, 500);
    assert.equal((JSON.parse(text) as { code: string }).code, 'internal_error');
    assert.doesNotMatch(text, /secret|BigInt|path/);
  }
  assert.deepEqual(probe.faults.slice(0, 2), [secret, secret]);
  assert.equal(probe.faults.length, 3);
});

test('a wrong key is refused before the body: 401, and the client may close or go on', async (t) => {
  const probe = await startProbe(t, [route('POST', '/v1/{tenant}', measure, { access: 'tenant' })]);
  const client = await probe.client();
  client.request('POST', '/v1/acme', { 'Content-Length': '90000', 'X-API-Key': 'bad' });
  const refused = await client.reply();
  assert.deepEqual(
    [refused.status, refused.headers['www-authenticate'], refused.headers.connection],
    [401, 'Bearer', 'close'],
  );
  assert.equal(jsonOf(refused).code, 'auth_invalid');
  const other = await probe.client();
  other.request('POST', '/v1/acme', { 'Content-Length': '5', 'X-API-Key': 'bad' }, '12');
  assert.equal((await other.reply()).headers.connection, undefined);
  other.send('345');
  other.request('POST', '/v1/acme', { 'Content-Length': '3', 'X-API-Key': GOOD_KEY }, 'abc');
  assert.equal(jsonOf(await other.reply()).bytes, 3);
});

test('checks go in order: route, key, admission, length', async (t) => {
  const wait = gate();
  const slow = async (): Promise<ReturnType<typeof ok>> => wait.opened.then(ok);
  const routes = [
    route('GET', '/slow', slow, { access: 'any' }),
    route('POST', '/any', measure, { access: 'any' }),
    route('GET', '/health', ok),
  ];
  const probe = await startProbe(t, routes, { inFlightMax: 1 });
  const status = async (path: string, key: string): Promise<number> => {
    const client = await probe.client();
    client.request('POST', path, { 'Content-Length': '999999999', 'X-API-Key': key });
    return (await client.reply()).status;
  };
  const held = fetch(probe.url('/slow'), { headers: { 'X-API-Key': GOOD_KEY } });
  while ((await status('/any', GOOD_KEY)) !== 503) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(await status('/nothing', 'bad'), 404);
  assert.equal(await status('/any', 'bad'), 401);
  const shed = await fetch(probe.url('/slow'), { headers: { 'X-API-Key': GOOD_KEY } });
  assert.deepEqual(
    [shed.status, shed.headers.get('retry-after'), ((await shed.json()) as { code: string }).code],
    [503, '1', 'overloaded'],
  );
  assert.equal((await fetch(probe.url('/health'))).status, 200);
  wait.open();
  assert.equal((await held).status, 200);
  assert.equal(await status('/any', GOOD_KEY), 413);
});

test('a handler that takes too long is answered 503, and keeps its place until it is done', async (t) => {
  const wait = gate();
  let sawAbort: boolean | undefined;
  const slow = route(
    'GET',
    '/slow',
    async (request) => {
      await wait.opened;
      sawAbort ??= request.aborted;
      return ok();
    },
    { access: 'any' },
  );
  const probe = await startProbe(t, [slow], { requestTimeoutMs: 50, inFlightMax: 1 });
  const call = (): Promise<Response> => fetch(probe.url('/slow'), { headers: { 'X-API-Key': GOOD_KEY } });
  const late = await call();
  assert.deepEqual([late.status, ((await late.json()) as { code: string }).code], [503, 'overloaded']);
  assert.equal((await call()).status, 503);
  assert.equal(sawAbort, undefined);
  wait.open();
  while ((await call()).status !== 200);
  assert.equal(sawAbort, true);
  assert.deepEqual(probe.faults, []);
});
