// Limits of single keys, beside those of their tenant, and what a key learns of itself by /v1/whoami.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, startTestServer } from '../../kit/server.js';

const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS:
    '[{name: page, tenant: acme, key: page-key, scopes: [search], requests_per_second: 0.001, burst: 3}, {name: job, tenant: acme, key: job-key}]',
});
const as = (key: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  server.call(method, path, body, { authorization: `Bearer ${key}` });
const LIST = '/v1/collections/acme';
await as('root', 'POST', '/v1/admin/tenants', { tenant: 'acme' });

test('a key over its limit is refused, and other keys of the tenant go on', async () => {
  const answers: Answer[] = [];
  for (let i = 0; i < 5; i++) answers.push(await as('page-key', 'GET', LIST));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 429, 429],
  );
  assert.deepEqual(
    answers.map(({ headers }) => headers.get('x-ratelimit-remaining')),
    ['2', '1', '0', '0', '0'],
  );
  assert.equal(answers[0]?.headers.get('x-ratelimit-limit'), '3');
  assert.deepEqual(
    [answers[3]?.json.code, answers[3]?.json.error],
    ['tenant_rate_limited', 'The key has too many requests.'],
  );
  assert.equal((await as('job-key', 'GET', LIST)).status, 200);
});

test('a key made at run time has its limits, also together with those of the tenant', async () => {
  const made = await as('root', 'POST', '/v1/admin/tenants/acme/keys', {
    requests_per_second: 0.001,
    max_in_flight: 5,
  });
  assert.deepEqual([made.status, made.json.requests_per_second, made.json.max_in_flight], [201, 0.001, 5]);
  const key = made.json.key as string;
  const { json } = await as(key, 'GET', '/v1/whoami');
  assert.deepEqual(json.key_limits, { requests_per_second: 0.001, burst: 1, max_in_flight: 5 });
  assert.equal((await as(key, 'GET', LIST)).status, 429);
  await as('root', 'PATCH', '/v1/admin/tenants/acme', { requests_per_second: 0, burst: 0 });
  const refused = await as('job-key', 'GET', LIST);
  assert.deepEqual([refused.status, refused.json.error], [429, 'The tenant has too many requests.']);
  await as('root', 'PATCH', '/v1/admin/tenants/acme', { requests_per_second: null, burst: null });
  const listed = await as('root', 'GET', '/v1/admin/tenants/acme/keys');
  assert.deepEqual(
    listed.json.keys.map(({ requests_per_second, burst }: Record<string, unknown>) => [requests_per_second, burst]),
    [
      [undefined, undefined],
      [0.001, undefined],
    ],
  );
});

test('limits that make no sense are refused', async () => {
  for (const [body, field] of [
    [{ burst: 5 }, 'burst'],
    [{ requests_per_second: -1 }, 'requests_per_second'],
    [{ max_in_flight: 0 }, 'max_in_flight'],
  ] as const) {
    const { status, json } = await as('root', 'POST', '/v1/admin/tenants/acme/keys', body);
    assert.deepEqual([status, json.detail[0].loc], [422, ['body', field]]);
  }
});

test('whoami tells what a key may do, and not by which filters it is held', async () => {
  const own = ({ json }: Answer): Record<string, unknown> => {
    const { ok: _ok, latency_ms: _ms, request_id: _id, limits, ...rest } = json;
    return { ...rest, hasLimits: limits !== null };
  };
  assert.deepEqual(own(await as('root', 'GET', '/v1/whoami')), {
    name: 'admin',
    admin: true,
    tenant: null,
    tenants: null,
    scopes: ['search', 'ingest', 'manage'],
    collections: null,
    filtered: false,
    hasLimits: false,
    key_limits: null,
  });
  const { json } = await as('root', 'POST', '/v1/admin/tenants/acme/keys', {
    label: 'web',
    scopes: ['search'],
    collections: ['docs'],
    filters: { owner: 'secret-name' },
  });
  const answer = await as(json.key as string, 'GET', '/v1/whoami');
  assert.doesNotMatch(answer.text, /secret-name/);
  assert.deepEqual(own(answer), {
    name: 'web',
    admin: false,
    tenant: 'acme',
    tenants: ['acme'],
    scopes: ['search'],
    collections: ['docs'],
    filtered: true,
    hasLimits: true,
    key_limits: null,
  });
  assert.equal((await as('wrong', 'GET', '/v1/whoami')).status, 401);
});

test('no internal error was logged', () => assert.deepEqual(server.faults, []));
