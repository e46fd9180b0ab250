// Rate limits and limits of concurrent requests over a real socket: headers, client errors, and that one tenant does
// not block another.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_IN_THIS_THREAD, startTestServer, type Answer, type TestServer } from '../../kit/server.js';

const KEYS =
  '[{name: slow, tenant: slow, key: slow-key}, {name: noisy, tenant: noisy, key: noisy-key}, {name: quiet, tenant: quiet, key: quiet-key}]';
const settings = {
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS: KEYS,
  SHEAF_LIMITS__TENANT__MAX_IN_FLIGHT: '4',
};
type Ask = (key: string, method: string, path: string, body?: unknown) => Promise<Answer>;
const askerOf =
  ({ call }: TestServer): Ask =>
  (key, method, path, body) =>
    call(method, path, body, { authorization: `Bearer ${key}` });
const server = await startTestServer(settings);
const as = askerOf(server);
const limitsOf = ({ headers }: Answer): (string | null)[] =>
  ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`));

test('every response of a limited route has the headers, errors too', async () => {
  assert.deepEqual(limitsOf(await as('quiet-key', 'GET', '/v1/collections/quiet')), ['4', '3', '0']);
  const missing = await as('quiet-key', 'GET', '/v1/collections/quiet/none/detail');
  assert.deepEqual([missing.status, ...limitsOf(missing)], [404, '4', '3', '0']);
  const wrong = await as('quiet-key', 'POST', '/v1/collections/quiet/c/search', '{');
  assert.deepEqual([wrong.status, ...limitsOf(wrong)], [422, '4', '3', '0']);
});

test('the admin is not limited, nor is a route that anybody may call', async () => {
  assert.deepEqual(limitsOf(await as('root', 'GET', '/v1/collections/quiet')), [null, null, null]);
  assert.deepEqual(limitsOf(await server.call('GET', '/health')), [null, null, null]);
});

test('over its rate a tenant is refused with the time to wait, and let in after it', async (t) => {
  const as = askerOf(await startTestServer({ ...settings, ...ALL_IN_THIS_THREAD }));
  await as('root', 'POST', '/v1/collections/slow/c');
  await as('root', 'PATCH', '/v1/admin/tenants/slow', { requests_per_second: 1, burst: 2 });
  // The clock of the buckets stands still, so that a slow machine refills nothing between these three requests.
  let nowNs = process.hrtime.bigint();
  t.mock.method(process.hrtime, 'bigint', () => nowNs);
  const answers = [
    await as('slow-key', 'GET', '/v1/collections/slow'),
    await as('slow-key', 'GET', '/v1/collections/slow'),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
  assert.deepEqual(
    answers.map((answer) => limitsOf(answer)[0]),
    ['2', '2'],
  );
  const refused = await as('slow-key', 'GET', '/v1/collections/slow');
  assert.deepEqual(
    [refused.status, refused.json.code, refused.json.error_type],
    [429, 'tenant_rate_limited', 'unavailable'],
  );
  assert.deepEqual([refused.headers.get('retry-after'), ...limitsOf(refused)], ['1', '2', '0', '2']);
  nowNs += 1_100_000_000n;
  assert.equal((await as('slow-key', 'GET', '/v1/collections/slow')).status, 200);
  t.mock.restoreAll();
  assert.equal((await as('root', 'PATCH', '/v1/admin/tenants/slow', { requests_per_second: -1 })).status, 200);
  for (let i = 0; i < 10; i++) assert.equal((await as('slow-key', 'GET', '/v1/collections/slow')).status, 200);
});

test('a noisy tenant is refused beyond its places, and another goes on as if it were alone', async () => {
  for (const tenant of ['noisy', 'quiet'])
    await as(`${tenant}-key`, 'POST', `/v1/collections/${tenant}/c/documents`, { docid: 'A', text: 'some words' });
  const noise = Array.from({ length: 60 }, () => as('noisy-key', 'GET', '/v1/collections/noisy/c/search?q=words'));
  const quiet: number[] = [];
  for (let i = 0; i < 10; i++)
    quiet.push((await as('quiet-key', 'GET', '/v1/collections/quiet/c/search?q=words')).status);
  assert.deepEqual(
    quiet,
    Array.from({ length: 10 }, () => 200),
  );
  const noisy = await Promise.all(noise);
  const refused = noisy.filter(({ status }) => status === 429);
  assert.equal(noisy.length - refused.length, noisy.filter(({ status }) => status === 200).length);
  assert.ok(refused.length > 0, 'sixty at a time are more than four');
  for (const { headers, json } of refused)
    assert.deepEqual(
      [json.code, headers.get('retry-after'), headers.get('x-ratelimit-remaining')],
      ['tenant_rate_limited', '1', '0'],
    );
  assert.equal(
    (await as('noisy-key', 'GET', '/v1/collections/noisy/c/search?q=words')).status,
    200,
    'the places were given back',
  );
});
