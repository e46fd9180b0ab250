// Request bodies over sockets: limits, chunked bodies, Expect, bodies where none belongs, bodies that stall,
// back-pressure.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { eventually, gate, measure, ok, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf } from '../../kit/http/raw-client.js';

const LIMIT = 100_000;
const routes = [route('POST', '/json', measure), route('GET', '/health', ok), route('DELETE', '/thing', ok)];
const CHUNKED = { 'Transfer-Encoding': 'chunked' };
const chunk = (bytes: number): string => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`;

test('a body up to the limit is read whole, one byte more is 413 with the limit told', async (t) => {
  const probe = await startProbe(t, routes);
  for (const size of [0, 1, 5000, LIMIT]) {
    const json = (await (await fetch(probe.url('/json'), { method: 'POST', body: Buffer.alloc(size) })).json()) as {
      bytes: number;
    };
    assert.equal(json.bytes, size);
  }
  const over = await fetch(probe.url('/json'), { method: 'POST', body: Buffer.alloc(LIMIT + 1) });
  const json = (await over.json()) as { code: string; details: unknown };
  assert.deepEqual([over.status, json.code, json.details], [413, 'request_too_large', { limit_bytes: LIMIT }]);
});

test('bytes arrive as they were sent, in pieces of any size', async (t) => {
  const hash = route('POST', '/hash', async (request) => ({
    status: 200,
    json: {
      sha: createHash('sha256')
        .update(await request.body.bytes())
        .digest('hex'),
    },
  }));
  const probe = await startProbe(t, [hash], { jsonBytesMax: 10_000_000 });
  const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, at) => (at * 7919) % 251));
  const expected = createHash('sha256').update(sent).digest('hex');
  const whole = await fetch(probe.url('/hash'), { method: 'POST', body: sent });
  assert.equal(((await whole.json()) as { sha: string }).sha, expected);
  const pieces = new ReadableStream({
    start(controller) {
      for (let at = 0; at < sent.length; at += 70_001) controller.enqueue(sent.subarray(at, at + 70_001));
      controller.close();
    },
  });
  const streamed = await fetch(probe.url('/hash'), { method: 'POST', body: pieces, duplex: 'half' } as RequestInit);
  assert.equal(((await streamed.json()) as { sha: string }).sha, expected);
});

test('413 comes before the body when the length is announced, and the reply reaches a client that goes on sending', async (t) => {
  const probe = await startProbe(t, routes);
  const early = await probe.client();
  early.request('POST', '/json', { 'Content-Length': String(LIMIT + 1) });
  const refused = await early.reply();
  assert.deepEqual([refused.status, refused.headers.connection], [413, 'close']);
  const stubborn = await probe.client();
  stubborn.request('POST', '/json', { 'Content-Length': '20000000' }, Buffer.alloc(20_000_000));
  assert.equal((await stubborn.reply()).status, 413);
});

test('413 comes while a chunked body streams, and the connection is closed', async (t) => {
  const probe = await startProbe(t, routes);
  const client = await probe.client();
  client.request('POST', '/json', CHUNKED);
  for (let sent = 0; sent <= LIMIT; sent += 20_000) client.send(chunk(20_000));
  const refused = await client.reply();
  assert.deepEqual(
    [refused.status, jsonOf(refused).code, refused.headers.connection],
    [413, 'request_too_large', 'close'],
  );
  await client.closed();
});

test('chunked bodies are put together, and the connection is kept', async (t) => {
  const probe = await startProbe(t, routes);
  const client = await probe.client();
  for (const sizes of [[], [5], [1, 60_000, 7]]) {
    client.request('POST', '/json', CHUNKED);
    for (const size of sizes) {
      client.send(chunk(size));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    client.send('0\r\n\r\n');
    assert.equal(
      jsonOf(await client.reply()).bytes,
      sizes.reduce((sum, size) => sum + size, 0),
    );
  }
});

test('Expect: 100-continue is answered by the library before the limits are checked; the error follows', async (t) => {
  const probe = await startProbe(t, routes);
  const client = await probe.client();
  client.request('POST', '/json', { 'Content-Length': '3', Expect: '100-continue' });
  assert.equal((await client.reply({ hasBody: false })).status, 100);
  client.send('abc');
  assert.equal(jsonOf(await client.reply()).bytes, 3);
  client.request('POST', '/json', { 'Content-Length': String(LIMIT + 1), Expect: '100-continue' });
  assert.equal((await client.reply({ hasBody: false })).status, 100);
  assert.equal((await client.reply()).status, 413);
});

test('a body where none belongs is ignored up to 64 KiB', async (t) => {
  const probe = await startProbe(t, routes);
  const client = await probe.client();
  for (const method of ['GET', 'DELETE']) {
    const path = method === 'GET' ? '/health' : '/thing';
    client.request(method, path, { 'Content-Length': '65536' }, Buffer.alloc(65_536));
    assert.equal((await client.reply()).status, 200);
    client.request(method, path, CHUNKED, `${chunk(300)}0\r\n\r\n`);
    assert.equal((await client.reply()).status, 200);
  }
  client.request('DELETE', '/thing', { 'Content-Length': '65537' });
  assert.equal((await client.reply()).status, 413);
  const streaming = await probe.client();
  streaming.request('DELETE', '/thing', CHUNKED, chunk(70_000));
  assert.equal((await streaming.reply()).status, 413);
});

test('a handler that does not read its body answers all the same', async (t) => {
  const probe = await startProbe(t, [route('POST', '/deaf', ok), route('GET', '/health', ok)], {
    jsonBytesMax: 10_000_000,
  });
  const client = await probe.client();
  client.request('POST', '/deaf', { 'Content-Length': '10' }, 'abc');
  assert.equal((await client.reply()).status, 200);
  client.send('defghij');
  client.request('GET', '/health');
  assert.equal((await client.reply()).status, 200);
});

test('a handler that answers while the socket is held back lets it go', async (t) => {
  const size = 20_000_000;
  const deaf = route('POST', '/deaf', async () => new Promise((resolve) => setTimeout(() => resolve(ok()), 100)));
  const probe = await startProbe(t, [deaf], { jsonBytesMax: size });
  const client = await probe.client();
  client.request('POST', '/deaf', { 'Content-Length': String(size) }, Buffer.alloc(size));
  assert.equal((await client.reply()).headers.connection, 'close');
  await eventually(() => client.socket.writableLength === 0);
});

test('a body is read once', async (t) => {
  const twice = route('POST', '/twice', async (request) => {
    await request.body.bytes();
    return measure(request);
  });
  const probe = await startProbe(t, [twice]);
  assert.equal((await fetch(probe.url('/twice'), { method: 'POST', body: 'abc' })).status, 500);
  assert.match(String(probe.faults[0]), /read once/);
});

test('two readers could disagree on where such a body ends: refused, connection closed', async (t) => {
  const probe = await startProbe(t, routes);
  const headLines = ['Content-Length: 3\r\nContent-Length: 40', 'Transfer-Encoding: gzip, chunked'];
  for (const lines of headLines) {
    const client = await probe.client();
    client.send(`POST /json HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`);
    const reply = await client.reply();
    assert.deepEqual([reply.status, jsonOf(reply).code], [422, 'validation_error']);
    await client.closed();
  }
  // The HTTP library rejects these by itself.
  for (const lines of ['Content-Length: 3\r\nTransfer-Encoding: chunked', 'Content-Length: 3x', 'Content-Length: -3']) {
    const client = await probe.client();
    client.send(`POST /json HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\nabc`);
    assert.equal((await client.reply()).status, 400);
    await client.closed();
  }
});

test('a body that stalls is cut off and logged; the handler is told', async (t) => {
  let rejection: unknown;
  const reader = route('POST', '/json', (request) =>
    measure(request).catch((error: unknown) => {
      rejection = error;
      throw error;
    }),
  );
  const probe = await startProbe(t, [reader, route('GET', '/health', ok)], { bodyTimeoutMs: 100 });
  const client = await probe.client();
  client.request('POST', '/json', { 'Content-Length': '10' }, 'abc');
  await client.closed();
  const event = await probe.event(1);
  assert.deepEqual([event.result, event.status, event.route], ['body_timeout', 0, '/json']);
  assert.ok(rejection instanceof Error);
  assert.deepEqual(probe.faults, []);
  assert.equal((await fetch(probe.url('/health'))).status, 200);
});

test('a body that makes progress may take longer than a request without', async (t) => {
  const probe = await startProbe(t, routes, { requestTimeoutMs: 300, bodyTimeoutMs: 5000 });
  const client = await probe.client();
  client.request('POST', '/json', { 'Content-Length': '20000' });
  for (let sent = 0; sent < 20_000; sent += 1000) {
    client.send('x'.repeat(1000));
    await new Promise((resolve) => setTimeout(resolve, 40));
  }
  assert.equal(jsonOf(await client.reply()).bytes, 20_000);
});

test('a slow handler holds the socket back and loses nothing', async (t) => {
  const wait = gate();
  const late = route('POST', '/late', async (request) => {
    await wait.opened;
    return measure(request);
  });
  const size = 60_000_000;
  const probe = await startProbe(t, [late], { jsonBytesMax: size, bodyTimeoutMs: 100 });
  const client = await probe.client();
  client.request('POST', '/late', { 'Content-Length': String(size) }, Buffer.alloc(size));
  // Longer than bodyTimeoutMs: the server does not cut a client off while the server itself is the slow side.
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.ok(client.socket.writableLength > 0, 'the server has taken everything although nobody reads');
  wait.open();
  assert.equal(jsonOf(await client.reply()).bytes, size);
});
