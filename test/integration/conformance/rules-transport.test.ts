// What holds whatever the endpoint: unknown routes and methods, HEAD, request ids, limits of the tenant and of the
// server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replyComplaints } from '../../kit/conformance/check-reply.js';
import { nameOf } from '../../kit/conformance/endpoint.js';
import { ENDPOINTS } from '../../kit/conformance/statuses.js';
import { holdRequests } from '../../kit/conformance/faults.js';
import { UUID_V7 } from '../../kit/conformance/shapes.js';
import { type Stage, senderOf, setStage, until } from '../../kit/conformance/stage.js';
import { ALL_IN_THIS_THREAD, startTestServer } from '../../kit/server.js';

const stage = await setStage();
const { call } = stage.server;

test('an unknown route is 404 not_found in the envelope', async () => {
  for (const path of [
    '/',
    '/v1',
    '/v1/nothing',
    '/v2/search',
    '/v1/collections',
    '/v1/collections/acme/docs/detail/more',
    '/health/',
    '//health',
    '/v1/admin/tenants/',
    '/%00',
  ]) {
    const reply = await stage.send('GET', { path });
    assert.deepEqual([reply.status, reply.json.code, replyComplaints(reply, 'none')], [404, 'not_found', []], path);
  }
});

test('a known route with another method is 405, and Allow names those it takes', async () => {
  const paths = new Map(ENDPOINTS.map(({ path }) => [path, new Set<string>()]));
  for (const { path, method } of ENDPOINTS) paths.get(path)?.add(method);
  for (const [path, methods] of paths) {
    const reply = await stage.send(methods.has('PUT') ? 'PATCH' : 'PUT', { path: path.replaceAll(/\{\w+\}/g, 'x') });
    const allowed = (reply.headers.get('allow') ?? '').split(/,\s*/);
    assert.deepEqual(
      [reply.status, reply.json.code, replyComplaints(reply, 'none')],
      [405, 'method_not_allowed', []],
      path,
    );
    for (const method of methods) assert.ok(allowed.includes(method), `${path}: Allow is ${String(allowed)}`);
  }
});

test('HEAD works where GET does: its status and headers, no body', async (t) => {
  for (const endpoint of ENDPOINTS.filter(({ method }) => method === 'GET')) {
    await t.test(nameOf(endpoint), async () => {
      const request = await endpoint.valid(stage);
      const get = await stage.send('GET', request);
      const head = await stage.send('HEAD', request);
      assert.deepEqual(
        [head.status, head.text, head.headers.get('content-type')],
        [get.status, '', get.headers.get('content-type')],
      );
      assert.ok(head.headers.has('x-request-id'));
    });
  }
});

test('a request id of 1 to 128 visible characters is echoed, any other replaced by a UUIDv7', async () => {
  const echoed = async (id: string): Promise<string> => {
    const { headers, json } = await call('GET', '/health', undefined, { 'x-request-id': id });
    assert.equal(json.request_id, headers.get('x-request-id'));
    return String(json.request_id);
  };
  for (const id of ['a', 'x'.repeat(128), '!~"<>']) assert.equal(await echoed(id), id);
  for (const id of ['x'.repeat(129), 'with space', 'é']) assert.match(await echoed(id), UUID_V7);
});

test('a tenant over its rate is refused with 429, Retry-After and the X-RateLimit headers, which its other answers have too', async () => {
  const limited = await startTestServer({
    SHEAF_LIMITS__TENANT__REQUESTS_PER_SECOND: '0.01',
    SHEAF_LIMITS__TENANT__BURST: '2',
  });
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await limited.call('GET', '/v1/collections/noisy'));
  assert.deepEqual(
    answers.map(({ status, headers }) => [
      status,
      headers.get('x-ratelimit-limit'),
      headers.get('x-ratelimit-remaining'),
    ]),
    [
      [200, '2', '1'],
      [200, '2', '0'],
      [429, '2', '0'],
    ],
  );
  assert.deepEqual(
    [
      answers[2]?.json.code,
      Number(answers[2]?.headers.get('retry-after')) >= 1,
      answers[2]?.headers.has('x-ratelimit-reset'),
    ],
    ['tenant_rate_limited', true, true],
  );
  assert.equal(
    (await limited.call('GET', '/v1/collections/quiet')).status,
    200,
    'another tenant has a budget of its own',
  );
  assert.equal((await limited.call('GET', '/health')).status, 200, 'health is not limited');
});

test('a tenant over its requests under way is refused with 429 and Retry-After, another tenant is not', async () => {
  const limited = await startTestServer({ SHEAF_LIMITS__TENANT__MAX_IN_FLIGHT: '1' });
  const held = await holdRequests(limited, 1);
  try {
    const refused = await until(
      ({ status }) => status === 429,
      () => senderOf(limited)('GET', { path: '/v1/collections/acme' }),
    );
    assert.deepEqual(
      [refused.status, refused.json.code, refused.headers.get('retry-after') !== null],
      [429, 'tenant_rate_limited', true],
    );
    assert.equal((await limited.call('GET', '/v1/collections/quiet')).status, 200);
  } finally {
    for (const socket of held) socket.destroy();
  }
});

test('a quota of collections or chunks that is used up is 429 with its code', async () => {
  const quota = await startTestServer({
    SHEAF_LIMITS__TENANT__MAX_COLLECTIONS: '1',
    SHEAF_LIMITS__TENANT__MAX_CHUNKS_PER_COLLECTION: '2',
  });
  await quota.call('POST', '/v1/collections/acme/one');
  assert.equal((await quota.call('POST', '/v1/collections/acme/two')).json.code, 'collection_limit_reached');
  const { status, json } = await quota.call('POST', '/v1/collections/acme/one/documents', { text: 'x'.repeat(2500) });
  assert.deepEqual([status, json.code], [429, 'chunk_limit_reached']);
});

test('errors for the client under load carry Retry-After: a server with all its places taken, a dead shard, a dead embedder', async () => {
  const small = await setStage({ SHEAF_LIMITS__MAX_IN_FLIGHT: '1' });
  const held = await holdRequests(small.server, 1);
  try {
    const overloaded = await until(
      ({ status }) => status === 503,
      () => small.send('GET', { path: '/v1/collections/acme' }),
    );
    assert.deepEqual([overloaded.json.code, overloaded.headers.get('retry-after')], ['overloaded', '1']);
  } finally {
    for (const socket of held) socket.destroy();
  }
  const { shards } = stage.server.parts;
  assert.deepEqual(await refusedByDead(stage, () => shards.kill(0), '/v1/collections/acme/docs/detail'), [
    'shard_unavailable',
    true,
  ]);
  // Front threads embed by the built-in embedder themselves, and need no embed worker.
  const embedding = await setStage(ALL_IN_THIS_THREAD);
  const { embed } = embedding.server.parts;
  assert.deepEqual(await refusedByDead(embedding, () => embed.kill(), '/v1/collections/acme/docs/search?q=captain'), [
    'embedder_unavailable',
    true,
  ]);
});

/**
 * The code of a client error while workers are dead, and whether the reply has Retry-After. Repeated where the
 * successor was ready before the requests.
 */
async function refusedByDead({ send }: Stage, kill: () => Promise<void>, path: string): Promise<unknown[]> {
  for (let tries = 0; tries < 10; tries++) {
    const asking = Array.from({ length: 10 }, () => send('GET', { path }));
    const [, atOnce, ...others] = await Promise.all([kill(), kill().then(() => send('GET', { path })), ...asking]);
    const refused = [atOnce, ...others].find(({ status }) => status === 503);
    await until(
      ({ status }) => status === 200,
      () => send('GET', { path }),
    );
    if (refused) return [refused.json.code, Number(refused.headers.get('retry-after')) >= 1];
  }
  return ['never refused'];
}
