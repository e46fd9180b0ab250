// Routing over sockets: how requests find their handler and their id, what HEAD and other methods get, and what happens
// to the connection between requests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Request } from '../../../src/http/route.js';
import { gate, GOOD_KEY, ok, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf, RawClient } from '../../kit/http/raw-client.js';

const echo = (request: Request): { status: number; json: Record<string, unknown> } => ({
  status: 200,
  json: {
    params: request.params,
    q: request.query.get('q'),
    header: request.header('x-thing'),
    actor: request.actor.name,
    id: request.id,
  },
});
const routes = [
  route('GET', '/health', ok),
  route('GET', '/v1/{tenant}/documents/{docid}', echo, { access: 'tenant' }),
  route('POST', '/v1/{tenant}', ok),
];

test('a handler sees parameters, query, headers and actor, also after an await', async (t) => {
  const later = async (request: Request): Promise<{ status: number; json: Record<string, unknown> }> => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return echo(request);
  };
  const probe = await startProbe(t, [route('GET', '/v1/{tenant}/documents/{docid}', later, { access: 'tenant' })]);
  const response = await fetch(probe.url('/v1/acme/documents/a%2Fb%3Ac?q=x%20y%26z&q=2'), {
    headers: { 'X-Thing': 'Mixed Case', 'X-API-Key': GOOD_KEY },
  });
  const json = (await response.json()) as Record<string, unknown>;
  assert.equal(response.status, 200);
  assert.deepEqual(json.params, { tenant: 'acme', docid: 'a/b:c' });
  assert.deepEqual([json.q, json.header, json.actor], ['x y&z', 'Mixed Case', 'tenant:acme']);
});

test('unknown routes get 404, other methods 405 with Allow', async (t) => {
  const probe = await startProbe(t, routes);
  const client = await probe.client();
  for (const [method, path, status, allow] of [
    ['GET', '/nothing', 404, undefined],
    ['OPTIONS', '/nothing', 404, undefined],
    ['GET', '/v1/%E0%A4%A', 404, undefined],
    ['DELETE', '/health', 405, 'GET, HEAD'],
    ['OPTIONS', '/health', 405, 'GET, HEAD'],
    ['BREW', '/v1/acme', 405, 'POST'],
    ['HEAD', '/v1/acme', 405, 'POST'],
  ] as const) {
    client.request(method, path);
    const reply = await client.reply({ hasBody: method !== 'HEAD' });
    assert.deepEqual([reply.status, reply.headers.allow], [status, allow], `${method} ${path}`);
    if (method !== 'HEAD') assert.equal(jsonOf(reply).code, status === 404 ? 'not_found' : 'method_not_allowed');
  }
  assert.deepEqual(probe.events.map(({ method, route }) => `${method} ${route}`).slice(0, 2), ['GET ', 'OPTIONS ']);
  assert.equal(probe.events[5]?.method, 'OTHER');
});

test('HEAD has the headers and the length of GET, no body, and keeps the connection', async (t) => {
  const probe = await startProbe(t, routes);
  const client = await probe.client();
  client.request('GET', '/health', { 'X-Request-ID': 'same' });
  const get = await client.reply();
  client.request('HEAD', '/health', { 'X-Request-ID': 'same' });
  const head = await client.reply({ hasBody: false });
  assert.deepEqual(Object.keys(head.headers).sort(), Object.keys(get.headers).sort());
  assert.equal(head.headers['content-type'], 'application/json');
  // The two lengths differ at most by the digits of latency_ms.
  assert.ok(
    Math.abs(Number(head.headers['content-length']) - Number(get.headers['content-length'])) < 8,
    JSON.stringify([head.headers, get.headers]),
  );
  client.request('GET', '/health');
  assert.equal((await client.reply()).status, 200);
});

test('request ids: the caller’s when it is 1 to 128 visible ASCII characters, else a UUIDv7', async (t) => {
  const probe = await startProbe(t, routes);
  const client = await probe.client();
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  for (const [given, isTaken] of [
    ['a', true],
    ['q"uo\\te~!', true],
    ['x'.repeat(128), true],
    ['x'.repeat(129), false],
    ['two words', false],
    ['tab\there', false],
    ['é', false],
    ['', false],
  ] as const) {
    for (const path of ['/health', '/nothing']) {
      client.request('GET', path, { 'X-Request-ID': given });
      const reply = await client.reply();
      const id = reply.headers['x-request-id'] ?? '';
      assert.equal(jsonOf(reply).request_id, id);
      if (isTaken) assert.equal(id, given);
      else assert.match(id, uuid);
    }
  }
  assert.equal(probe.events[0]?.id, 'a');
});

test('requests follow each other on one connection, also when sent before the reply to the first', async (t) => {
  const probe = await startProbe(t, routes);
  const client = await probe.client();
  client.request('GET', '/health', { 'X-Request-ID': 'first' });
  client.request('GET', '/health', { 'X-Request-ID': 'second' });
  assert.equal(jsonOf(await client.reply()).request_id, 'first');
  assert.equal(jsonOf(await client.reply()).request_id, 'second');
  client.request('GET', '/health', { 'X-Request-ID': 'third', Connection: 'close' });
  assert.equal(jsonOf(await client.reply()).request_id, 'third');
  await client.closed();
});

test('a request sent while another waits on its connection drops both: the library does not pipeline', async (t) => {
  const wait = gate();
  const slow = async (): Promise<ReturnType<typeof ok>> => wait.opened.then(ok);
  const probe = await startProbe(t, [...routes, route('GET', '/slow', slow)]);
  const client = await probe.client();
  client.request('GET', '/slow');
  client.request('GET', '/health');
  await client.closed();
  wait.open();
  assert.deepEqual([(await probe.event(1)).result, (await probe.event(1)).status], ['aborted', 0]);
  const other = await RawClient.open(probe.port);
  other.request('GET', '/health');
  assert.equal((await other.reply()).status, 200);
  other.destroy();
});

test('each finished request is logged once with its template, status, actor and size', async (t) => {
  const probe = await startProbe(t, routes);
  const response = await fetch(probe.url('/v1/acme/documents/d'), {
    headers: { 'X-API-Key': GOOD_KEY, 'X-Request-ID': 'logged' },
  });
  const body = await response.text();
  const { latencyMs, ...event } = await probe.event(1);
  assert.ok(latencyMs > 0);
  assert.deepEqual(event, {
    id: 'logged',
    method: 'GET',
    route: '/v1/{tenant}/documents/{docid}',
    status: 200,
    actor: 'tenant:acme',
    bytes: Buffer.byteLength(body),
    result: 'answered',
    tenant: 'acme',
    isLong: false,
  });
});
