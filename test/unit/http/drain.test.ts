// Starting and stopping the HTTP server: an address that is not available, and a drain with requests in every state.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import type { Reply, Request } from '../../../src/http/route.js';
import { createHttpServer } from '../../../src/http/server.js';
import { loadUws } from '../../../src/http/uws.js';
import { eventually, gate, LIMITS, measure, ok, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf, RawClient } from '../../kit/http/raw-client.js';

test('a request under way finishes, others on open connections get 503, new connections are refused', async (t) => {
  const wait = gate();
  let entered = 0;
  const slow = (): Promise<Reply> => (entered++, wait.opened.then(ok));
  const routes = [route('GET', '/slow', slow), route('GET', '/health', ok)];
  const probe = await startProbe(t, routes);
  const [busy, kept, idle] = [await probe.client(), await probe.client(), await probe.client()];
  kept.request('GET', '/health');
  assert.equal((await kept.reply()).status, 200);
  busy.request('GET', '/slow', { 'X-Request-ID': 'busy' });
  await eventually(() => entered === 1);
  const drained = probe.server.drain(60_000);
  kept.request('GET', '/health');
  const refused = await kept.reply();
  assert.deepEqual(
    [refused.status, jsonOf(refused).code, refused.headers.connection, refused.headers['retry-after']],
    [503, 'shutting_down', 'close', '1'],
  );
  await kept.closed();
  await assert.rejects(RawClient.open(probe.port), { code: 'ECONNREFUSED' });
  wait.open();
  const reply = await busy.reply();
  assert.deepEqual([reply.status, jsonOf(reply).request_id, reply.headers.connection], [200, 'busy', 'close']);
  await drained;
  await busy.closed();
  await idle.closed();
});

test('before a stop requests are served, and each connection is closed after its next reply', async (t) => {
  const probe = await startProbe(t, [route('GET', '/health', ok)]);
  const [kept, idle] = [await probe.client(), await probe.client()];
  kept.request('GET', '/health');
  assert.notEqual((await kept.reply()).headers.connection, 'close');
  probe.server.stopSoon();
  for (const client of [kept, await probe.client()]) {
    client.request('GET', '/health');
    const reply = await client.reply();
    assert.deepEqual([reply.status, reply.headers.connection], [200, 'close']);
    await client.closed();
  }
  const drained = probe.server.drain(60_000);
  probe.server.stopSoon();
  await drained;
  await idle.closed();
});

test('a body still on its way and a large reply half out both finish', async (t) => {
  const big = Buffer.alloc(30_000_000, 'x');
  let entered = 0;
  const measured = (request: Request): Promise<Reply> => (entered++, measure(request));
  const routes = [
    route('POST', '/json', measured),
    route('GET', '/big', () => (entered++, { status: 200, bytes: big, contentType: 'text/plain' })),
  ];
  const probe = await startProbe(t, routes);
  const [sender, reader] = [await probe.client(), await probe.client()];
  sender.request('POST', '/json', { 'Content-Length': '6' }, 'abc');
  reader.request('GET', '/big');
  reader.socket.pause();
  await eventually(() => entered === 2);
  const drained = probe.server.drain(60_000);
  sender.send('def');
  assert.equal(jsonOf(await sender.reply()).bytes, 6);
  reader.socket.resume();
  assert.equal((await reader.reply()).body.length, big.length);
  await drained;
});

test('an idle server drains at once, and twice is once', async (t) => {
  const probe = await startProbe(t, [route('GET', '/health', ok)]);
  const kept = await probe.client();
  kept.request('GET', '/health');
  await kept.reply();
  const [first, second] = [probe.server.drain(60_000), probe.server.drain(60_000)];
  assert.equal(first, second);
  await first;
  await kept.closed();
});

test('what is not done in time is cut off', async (t) => {
  let entered = false;
  const probe = await startProbe(t, [
    route('GET', '/never', () => {
      entered = true;
      return new Promise(() => undefined);
    }),
  ]);
  const client = await probe.client();
  client.request('GET', '/never');
  await eventually(() => entered);
  await probe.server.drain(50);
  await client.closed();
  assert.equal((await probe.event(1)).result, 'aborted');
});

test('listen says why it cannot', async () => {
  const uws = await loadUws();
  const options = {
    routes: [],
    authenticate: () => ({ name: '', admin: false }),
    limits: LIMITS,
    log: () => undefined,
    onInternalError: () => undefined,
  };
  const first = createHttpServer(uws, options);
  const port = await first.listen('127.0.0.1', 0);
  assert.ok(port > 0);
  await assert.rejects(
    createHttpServer(uws, options).listen('127.0.0.1', port),
    new RegExp(`^ListenError: Cannot listen on 127.0.0.1:${port}: the port is in use`),
  );
  await first.drain(1000);
  const again = createHttpServer(uws, options);
  assert.equal(await again.listen('127.0.0.1', port), port);
  await again.drain(1000);
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  await assert.rejects(
    createHttpServer(uws, options).listen('127.0.0.1', (other.address() as AddressInfo).port),
    /the port is in use/,
  );
  other.close();
  await assert.rejects(createHttpServer(uws, options).listen('192.0.2.1', 0), /this machine has no such address/);
});
