// Connections on which nothing happens, over sockets, for as long as real clients, handlers and the HTTP library wait:
// a stalled client is cut off, but not for a stall of the server's own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, gate, measure, ok, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf } from '../../kit/http/raw-client.js';

test('nobody is cut off for the time in which the server itself stood still', async (t) => {
  let entered = false;
  const reader = route('POST', '/json', (request) => ((entered = true), measure(request)));
  const probe = await startProbe(t, [reader, route('GET', '/health', ok)], { bodyTimeoutMs: 2000 });
  const [client, other] = [await probe.client(), await probe.client()];
  client.request('POST', '/json', { 'Content-Length': '4000' }, 'x'.repeat(2000));
  await eventually(() => entered);
  other.request('GET', '/health');
  await other.reply();
  // The event loop is busy while these bytes arrive. It handles sockets before timers, so they arrive in time.
  client.send('x'.repeat(2000));
  for (const untilMs = performance.now() + 3000; performance.now() < untilMs; );
  assert.equal(jsonOf(await client.reply()).bytes, 4000);
});

test('a body that came while the socket was held back gives its handler as long as any other', async (t) => {
  const late = route('POST', '/late', async (request) => {
    // First longer than three megabytes take to arrive, then longer than the HTTP library waits for a body: 10 to 12 s.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const measured = await measure(request);
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    return measured;
  });
  const size = 3_000_000;
  const probe = await startProbe(t, [{ ...late, isLong: true }], { jsonBytesMax: size });
  const client = await probe.client();
  client.request('POST', '/late', { 'Content-Length': String(size) }, Buffer.alloc(size));
  assert.equal(jsonOf(await client.reply()).bytes, size);
});

test('a source that stands still for longer than a request may is cut off, one that goes on is not', async (t) => {
  const wait = gate();
  async function* slow(): AsyncGenerator<string> {
    for (let at = 0; at < 4; at += 1) {
      yield 'piece';
      await new Promise((resolve) => setTimeout(resolve, 700));
    }
  }
  async function* still(): AsyncGenerator<string> {
    yield 'piece';
    await wait.opened;
  }
  const streaming = (path: string, pieces: () => AsyncIterable<string>): ReturnType<typeof route> =>
    route('GET', path, () => ({ status: 200, stream: pieces(), contentType: 'application/x-ndjson' }));
  const probe = await startProbe(t, [streaming('/slow', slow), streaming('/still', still)], { requestTimeoutMs: 2500 });
  assert.equal(await (await fetch(probe.url('/slow'))).text(), 'piece'.repeat(4));
  await assert.rejects(
    fetch(probe.url('/still')).then((response) => response.text()),
    TypeError,
  );
  assert.equal((await probe.event(2)).result, 'failed');
  wait.open();
});
