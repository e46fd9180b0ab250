// Streamed replies over sockets: small ones are sent whole, large ones in chunks and no faster than the client reads;
// readers that go away, sources that fail, and request bodies that arrive during the reply.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import type { Request, Reply } from '../../../src/http/route.js';
import { eventually, gate, GOOD_KEY, ok, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf } from '../../kit/http/raw-client.js';

const NDJSON = 'application/x-ndjson';
const PIECE = 'x'.repeat(9_999) + '\n';

/** A source of `count` pieces that records how many it gave and whether it was closed. */
function source(count: number, fails?: () => Error) {
  const seen = { given: 0, closed: 0 };
  async function* pieces(): AsyncGenerator<string> {
    try {
      for (; seen.given < count; ) {
        seen.given += 1;
        yield PIECE;
        if (seen.given % 50 === 0) await new Promise(setImmediate);
      }
      if (fails) throw fails();
    } finally {
      seen.closed += 1;
    }
  }
  return { seen, pieces };
}

const streaming = (path: string, pieces: () => AsyncIterable<string>): ReturnType<typeof route> =>
  route('GET', path, () => ({ status: 200, stream: pieces(), contentType: NDJSON, headers: { 'X-Extra': 'yes' } }));

test('a stream that is over within 64 KiB goes out whole, a longer one in chunks, and the connection goes on', async (t) => {
  const routes = [0, 1, 6, 7, 300].map((count) => streaming(`/n/${count}`, () => source(count).pieces()));
  const probe = await startProbe(t, routes);
  const client = await probe.client();
  for (const count of [0, 1, 6, 7, 300]) {
    client.request('GET', `/n/${count}`);
    const reply = await client.reply();
    assert.equal(reply.body.toString(), PIECE.repeat(count));
    assert.deepEqual([reply.status, reply.headers['x-extra'], reply.headers['content-type']], [200, 'yes', NDJSON]);
    assert.equal(reply.headers['content-length'], count < 7 ? String(count * PIECE.length) : undefined);
    assert.equal(probe.events.at(-1)?.bytes, count * PIECE.length);
  }
});

test('a long stream comes in few large chunks: clients take one a turn', async (t) => {
  const probe = await startProbe(t, [streaming('/long', () => source(600).pieces())]);
  const client = await probe.client();
  client.request('GET', '/long');
  await client.reply({ hasBody: false });
  const sizes: number[] = [];
  for (let chunk = await client.chunk(); chunk.length > 0; chunk = await client.chunk()) sizes.push(chunk.length);
  const sum = (some: number[]): number => some.reduce((all, size) => all + size, 0);
  assert.equal(sum(sizes), 600 * PIECE.length);
  assert.equal(Math.max(...sizes), 64 * 1024);
  assert.ok(sum(sizes.filter((size) => size === 64 * 1024)) > 0.8 * sum(sizes), String(sizes));
});

test('a JSON stream gets the common fields', async (t) => {
  async function* pieces(count: number): AsyncGenerator<string> {
    yield '{"items":[0';
    for (let at = 1; at < count; at += 1) yield `,${at}`;
    yield ']';
  }
  const stream = route('GET', '/json/{count}', ({ params }) => ({
    status: 200,
    jsonStream: pieces(Number(params.count)),
  }));
  const probe = await startProbe(t, [stream]);
  for (const count of [1, 100_000]) {
    const response = await fetch(probe.url(`/json/${count}`));
    const text = await response.text();
    const json = JSON.parse(text) as { items: number[]; latency_ms: number; request_id: string };
    assert.ok(text.startsWith('{"ok":true,"items":[0'));
    assert.deepEqual([json.items.length, json.items.at(-1)], [count, count - 1]);
    assert.ok(json.latency_ms > 0);
    assert.equal(json.request_id, response.headers.get('x-request-id'));
  }
});

test('HEAD gives the head of a stream, short or long, and closes its source', async (t) => {
  const [short, long] = [source(2), source(1000)];
  const probe = await startProbe(t, [
    streaming('/short', short.pieces),
    streaming('/long', long.pieces),
    route('GET', '/health', ok),
  ]);
  const client = await probe.client();
  client.request('HEAD', '/short');
  assert.equal((await client.reply({ hasBody: false })).headers['content-length'], String(2 * PIECE.length));
  client.request('HEAD', '/long');
  const { status, headers } = await client.reply({ hasBody: false });
  assert.deepEqual(
    [status, headers['content-type'], headers['content-length'], headers['transfer-encoding']],
    [200, NDJSON, undefined, undefined],
  );
  await eventually(() => long.seen.closed === 1);
  assert.ok(long.seen.given < 20 && short.seen.closed === 1);
  client.request('GET', '/health');
  assert.equal((await client.reply()).status, 200);
});

test('a failure before the first piece is an ordinary error', async (t) => {
  const refused = source(0, () => new AppError('collection_not_found'));
  const broken = source(0, () => new Error('secret'));
  const probe = await startProbe(t, [streaming('/refused', refused.pieces), streaming('/broken', broken.pieces)]);
  const clientError = await fetch(probe.url('/refused'));
  assert.deepEqual(
    [clientError.status, ((await clientError.json()) as { code: string }).code],
    [404, 'collection_not_found'],
  );
  assert.equal((await fetch(probe.url('/broken'))).status, 500);
  assert.deepEqual(probe.faults.map(String), ['Error: secret']);
});

test('a failure after the first piece is logged and closes the connection', async (t) => {
  for (const error of [new Error('secret'), new AppError('shard_unavailable')]) {
    const probe = await startProbe(t, [streaming('/broken', () => source(100, () => error).pieces())]);
    const client = await probe.client();
    client.request('GET', '/broken');
    const { status } = await client.reply({ hasBody: false });
    assert.equal(status, 200);
    await assert.rejects(async () => {
      for (;;) assert.ok((await client.chunk()).length > 0, 'the reply looks whole');
    }, /the server closed/);
    await assert.rejects(
      fetch(probe.url('/broken')).then((response) => response.text()),
      TypeError,
    );
    assert.deepEqual([probe.faults, (await probe.event(1)).result], [[error, error], 'failed']);
  }
});

test('a reader that stalls holds the source back, and gets all of it later', async (t) => {
  const { seen, pieces } = source(5000);
  const probe = await startProbe(t, [streaming('/big', pieces), route('GET', '/health', ok)]);
  const client = await probe.client();
  client.request('GET', '/big');
  client.socket.pause();
  await eventually(() => seen.given > 100);
  let given = -1;
  while (given !== seen.given) {
    given = seen.given;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  // The buffers of two loopback sockets, and one block.
  assert.ok(given < 2500, `${given} pieces were taken from the source`);
  client.socket.resume();
  const { body } = await client.reply();
  assert.equal(
    createHash('sha256').update(body).digest('hex'),
    createHash('sha256').update(PIECE.repeat(5000)).digest('hex'),
  );
  client.request('GET', '/health');
  assert.equal((await client.reply()).status, 200);
});

test('a reader that goes away ends the iteration and gives its place back', async (t) => {
  const { seen, pieces } = source(1_000_000);
  const big = { ...streaming('/big', pieces), access: 'any' as const };
  const probe = await startProbe(t, [big], { inFlightMax: 1 });
  for (let round = 1; round <= 3; round += 1) {
    const client = await probe.client();
    client.request('GET', '/big', { 'X-API-Key': GOOD_KEY });
    await client.reply({ hasBody: false });
    client.destroy();
    await eventually(() => seen.closed === round);
    const { result, status } = await probe.event(round);
    assert.deepEqual([result, status], ['aborted', 200]);
  }
  assert.deepEqual(probe.faults, []);
});

test('drain waits for a stream', async (t) => {
  const wait = gate();
  async function* pieces(): AsyncGenerator<string> {
    yield 'first';
    await wait.opened;
    yield 'last';
  }
  const probe = await startProbe(t, [streaming('/slow', pieces)]);
  const client = await probe.client();
  client.request('GET', '/slow');
  await client.reply({ hasBody: false });
  assert.equal((await client.chunk()).toString(), 'first');
  const drained = probe.server.drain(60_000);
  wait.open();
  assert.equal((await client.chunk()).toString(), 'last');
  assert.equal((await client.chunk()).length, 0);
  await drained;
});

/** Answers each line of the body with its length, as soon as the line has arrived. */
async function* lengths(request: Request): AsyncGenerator<string> {
  let left = '';
  for await (const chunk of request.body.stream()) {
    const lines = (left + Buffer.from(chunk).toString('latin1')).split('\n');
    left = lines.pop() ?? '';
    for (const line of lines) yield `${line.length}\n`;
  }
}

const echo = route(
  'POST',
  '/lines',
  (request): Reply => ({ status: 200, stream: lengths(request), contentType: NDJSON }),
  { body: 'lines' },
);
const chunkOf = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

test('line by line: each answer comes while the body is still open', async (t) => {
  const probe = await startProbe(t, [echo, route('GET', '/health', ok)]);
  const client = await probe.client();
  client.request('POST', '/lines', { 'Content-Type': NDJSON, 'Transfer-Encoding': 'chunked' }, chunkOf('a\n'));
  assert.equal((await client.reply({ hasBody: false })).status, 200);
  assert.equal((await client.chunk()).toString(), '1\n');
  for (let length = 2; length < 20; length += 1) {
    client.send(chunkOf(`${'x'.repeat(length)}\n`));
    assert.equal((await client.chunk()).toString(), `${length}\n`);
  }
  client.send('0\r\n\r\n');
  assert.equal((await client.chunk()).length, 0);
  client.request('GET', '/health');
  assert.equal((await client.reply()).status, 200);
  assert.deepEqual([(await probe.event(1)).result, probe.faults], ['answered', []]);
});

test('lines have no limit together and are not held: 60 MB through a server that may hold 16', async (t) => {
  // A paused socket still delivers what it has received already: up to 8 MB were measured.
  const probe = await startProbe(t, [echo], { heldBytesMax: 16_000_000 });
  const lines = 60_000;
  const body = new ReadableStream({
    start: () => undefined,
    pull(controller) {
      for (let at = 0; at < 100; at += 1) controller.enqueue(Buffer.from(`${'x'.repeat(999)}\n`));
      sent += 100;
      if (sent >= lines) controller.close();
    },
  });
  let sent = 0;
  const response = await fetch(probe.url('/lines'), {
    method: 'POST',
    headers: { 'Content-Type': NDJSON },
    body,
    duplex: 'half',
  } as RequestInit);
  assert.equal(response.status, 200);
  assert.equal(await response.text(), '999\n'.repeat(lines));
});

test('a reader of answers that stalls holds back the lines too', async (t) => {
  const wide = route(
    'POST',
    '/wide',
    (request): Reply => {
      const pieces = async function* (): AsyncGenerator<Buffer> {
        for await (const chunk of request.body.stream()) yield Buffer.from(chunk);
      };
      return { status: 200, stream: pieces(), contentType: NDJSON };
    },
    { body: 'lines' },
  );
  // More than the server buffers of the answers (32 MB) and what the system buffers in four socket ends: up to 33 MB in
  // each receiving one.
  const size = 200_000_000;
  const probe = await startProbe(t, [wide], { bodyTimeoutMs: 400 });
  const client = await probe.client();
  client.request('POST', '/wide', { 'Content-Type': NDJSON, 'Content-Length': String(size) }, Buffer.alloc(size, 'y'));
  client.socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 800));
  assert.ok(client.socket.writableLength > 0, 'the server has taken everything although nobody takes its answer');
  let letters = 0;
  client.socket.removeAllListeners('data').on('data', (bytes: Buffer) => {
    for (const byte of bytes) if (byte === 121) letters += 1;
  });
  client.socket.resume();
  assert.deepEqual([(await probe.event(1)).result, (await probe.event(1)).bytes], ['answered', size]);
  await eventually(() => letters >= size);
});

test('a client that reads only after it has sent everything gets all answers, though no socket holds them', async (t) => {
  const wordy = route(
    'POST',
    '/lines',
    (request): Reply => {
      const pieces = async function* (): AsyncGenerator<string> {
        for await (const chunk of request.body.stream()) yield '1'.repeat(100 * chunk.length);
      };
      return { status: 200, stream: pieces(), contentType: NDJSON };
    },
    { body: 'lines' },
  );
  const probe = await startProbe(t, [wordy]);
  const size = 200_000;
  const client = await probe.client();
  client.socket.pause();
  client.request('POST', '/lines', { 'Content-Type': NDJSON, 'Content-Length': String(size) });
  for (let sent = 0; sent < size; sent += 1000) {
    client.send('x'.repeat(1000));
    await new Promise(setImmediate);
  }
  await eventually(() => client.socket.writableLength === 0);
  let answered = 0;
  client.socket.removeAllListeners('data').on('data', (bytes: Buffer) => {
    for (const byte of bytes) if (byte === 49) answered += 1;
  });
  client.socket.resume();
  assert.deepEqual([(await probe.event(1)).result, (await probe.event(1)).bytes], ['answered', 100 * size]);
  await eventually(() => answered >= 100 * size);
});

test('lines of another type are JSON, with its limit', async (t) => {
  const probe = await startProbe(t, [echo]);
  const client = await probe.client();
  client.request('POST', '/lines', { 'Content-Type': 'application/json', 'Content-Length': '100001' });
  const refused = await client.reply();
  assert.deepEqual([refused.status, jsonOf(refused).code], [413, 'request_too_large']);
});

test('lines that stop coming, or trickle, are cut off', async (t) => {
  const probe = await startProbe(t, [echo], { bodyTimeoutMs: 200 });
  const head = { 'Content-Type': NDJSON, 'Transfer-Encoding': 'chunked' };
  const [silent, trickling] = [await probe.client(), await probe.client()];
  silent.request('POST', '/lines', head, chunkOf('a\n'));
  assert.equal((await silent.reply({ hasBody: false })).status, 200);
  trickling.request('POST', '/lines', head);
  const trickle = setInterval(() => trickling.send(chunkOf('x')), 20);
  t.after(() => clearInterval(trickle));
  await Promise.all([silent.closed(), trickling.closed()]);
  assert.deepEqual([(await probe.event(1)).result, (await probe.event(2)).result], ['body_timeout', 'body_timeout']);
  assert.deepEqual(probe.faults, []);
});

test('a sender of lines that goes away ends the handler', async (t) => {
  let ended: unknown;
  const reading = route(
    'POST',
    '/lines',
    (request): Reply => {
      const pieces = async function* (): AsyncGenerator<string> {
        try {
          yield* lengths(request);
        } catch (error) {
          ended = error;
          throw error;
        }
      };
      return { status: 200, stream: pieces(), contentType: NDJSON };
    },
    { body: 'lines', access: 'any' },
  );
  const probe = await startProbe(t, [reading], { inFlightMax: 1 });
  const client = await probe.client();
  client.request(
    'POST',
    '/lines',
    { 'X-API-Key': GOOD_KEY, 'Content-Type': NDJSON, 'Transfer-Encoding': 'chunked' },
    chunkOf('a\n'),
  );
  await client.reply({ hasBody: false });
  client.destroy();
  await eventually(() => ended !== undefined);
  assert.equal((await probe.event(1)).result, 'aborted');
  assert.deepEqual(probe.faults, []);
  await probe.server.drain(60_000);
});

test('a handler that stops reading: little more is swallowed, a lot cuts the connection', async (t) => {
  const early = route(
    'POST',
    '/early',
    (): Reply => ({ status: 200, stream: source(20).pieces(), contentType: NDJSON }),
    { body: 'lines' },
  );
  const probe = await startProbe(t, [early, route('GET', '/health', ok)]);
  const polite = await probe.client();
  polite.request('POST', '/early', { 'Content-Type': NDJSON, 'Content-Length': '50000' }, 'x'.repeat(50_000));
  assert.equal((await polite.reply()).body.length, 20 * PIECE.length);
  polite.request('GET', '/health');
  assert.equal((await polite.reply()).status, 200);
  const stubborn = await probe.client();
  stubborn.request('POST', '/early', { 'Content-Type': NDJSON, 'Transfer-Encoding': 'chunked' });
  stubborn.send(chunkOf('x'.repeat(3_000_000)));
  await stubborn.closed();
});
