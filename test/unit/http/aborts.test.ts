// Sockets that are destroyed at every stage of a request: nothing touches the request afterwards, its place is
// released, drain resolves, and the server goes on answering.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { eventually, gate, GOOD_KEY, measure, ok, route, startProbe } from '../../kit/http/probe-server.js';

const KEY = { 'X-API-Key': GOOD_KEY };

test('gone in the middle of the body: the reader rejects, the place is free again', async (t) => {
  const probe = await startProbe(t, [route('POST', '/json', measure, { access: 'any' })], { inFlightMax: 1 });
  for (let round = 1; round <= 5; round += 1) {
    const client = await probe.client();
    client.request('POST', '/json', { ...KEY, 'Content-Length': '50000' }, 'abc');
    await new Promise((resolve) => setTimeout(resolve, 10));
    client.destroy();
    assert.deepEqual([(await probe.event(round)).result, probe.events[round - 1]?.status], ['aborted', 0]);
  }
  const alive = await fetch(probe.url('/json'), { method: 'POST', headers: KEY, body: 'abc' });
  assert.equal(alive.status, 200);
  assert.deepEqual(probe.faults, []);
});

test('gone in the middle of the handler: it sees `aborted`, keeps its place until it is done, and drain waits for it', async (t) => {
  const wait = gate();
  const seen: boolean[] = [];
  let entered = 0;
  const slow = route(
    'GET',
    '/slow',
    async (request) => {
      entered += 1;
      seen.push(request.aborted);
      await wait.opened;
      seen.push(request.aborted);
      return ok();
    },
    { access: 'any' },
  );
  const probe = await startProbe(t, [slow], { inFlightMax: 1 });
  const client = await probe.client();
  client.request('GET', '/slow', KEY);
  await eventually(() => entered === 1);
  client.destroy();
  assert.equal((await probe.event(1)).result, 'aborted');
  assert.equal((await fetch(probe.url('/slow'), { headers: KEY })).status, 503);
  let isDrained = false;
  const drained = probe.server.drain(60_000).then(() => (isDrained = true));
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(isDrained, false);
  wait.open();
  await drained;
  assert.deepEqual(seen, [false, true]);
  assert.deepEqual(probe.faults, []);
});

test('a handler that awaits its body only later survives a client that went away before', async (t) => {
  const wait = gate();
  let result = '';
  const late = route('POST', '/late', async (request) => {
    const bytes = request.body.bytes();
    await wait.opened;
    return bytes.then(ok, (error: unknown) => {
      result = String(error);
      throw error;
    });
  });
  const probe = await startProbe(t, [late]);
  const client = await probe.client();
  client.request('POST', '/late', { 'Content-Length': '10' }, 'abc');
  await new Promise((resolve) => setTimeout(resolve, 20));
  client.destroy();
  await probe.event(1);
  wait.open();
  await eventually(() => result !== '');
  assert.match(result, /AppError/);
});

test('a fault after the client has gone is still told', async (t) => {
  const wait = gate();
  const probe = await startProbe(t, [
    route('GET', '/slow', () => wait.opened.then(() => Promise.reject(new Error('late')))),
  ]);
  const client = await probe.client();
  client.request('GET', '/slow');
  await new Promise((resolve) => setTimeout(resolve, 20));
  client.destroy();
  await probe.event(1);
  wait.open();
  await eventually(() => probe.faults.length === 1);
});

test('sockets destroyed at random moments leave nothing behind', async (t) => {
  const seed = Math.trunc(Math.random() * 2 ** 31);
  const prng = createPrng(seed);
  const big = Buffer.alloc(5_000_000);
  const routes = [
    route('POST', '/json', measure, { access: 'any' }),
    route('GET', '/slow', async () => new Promise((resolve) => setTimeout(() => resolve(ok()), 10)), { access: 'any' }),
    route('GET', '/big', () => ({ status: 200, bytes: big, contentType: 'application/octet-stream' }), {
      access: 'any',
    }),
  ];
  const probe = await startProbe(t, routes, { inFlightMax: 50 });
  const once = async (): Promise<void> => {
    const client = await probe.client();
    const kind = prng.int(3);
    if (kind === 0)
      client.request('POST', '/json', { ...KEY, 'Content-Length': '90000' }, Buffer.alloc(prng.int(90_001)));
    else client.request('GET', kind === 1 ? '/slow' : '/big', KEY);
    await new Promise((resolve) => setTimeout(resolve, prng.int(20)));
    client.destroy();
  };
  for (let round = 0; round < 10; round += 1) await Promise.all(Array.from({ length: 20 }, once));
  const alive = await fetch(probe.url('/json'), { method: 'POST', headers: KEY, body: 'abc' });
  assert.equal(alive.status, 200, `seed ${seed}`);
  await alive.text();
  await probe.server.drain(60_000);
  assert.deepEqual(probe.faults, [], `seed ${seed}`);
});
