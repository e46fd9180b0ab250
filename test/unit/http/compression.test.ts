// Compressed replies over sockets: which replies are compressed, that they unpack to the same bytes, streams piece by
// piece, HEAD, readers that stall.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brotliDecompressSync, constants, createGunzip, gunzipSync } from 'node:zlib';
import { AppError } from '../../../src/api/errors.js';
import type { Reply } from '../../../src/http/route.js';
import { eventually, gate, ok, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf, type RawClient, type RawReply } from '../../kit/http/raw-client.js';

const NDJSON = 'application/x-ndjson';
const text = (length: number): string =>
  Array.from({ length: Math.ceil(length / 20) }, (_, at) => `line ${at} of a text`.padEnd(19) + '\n')
    .join('')
    .slice(0, length);

function unpacked(reply: RawReply): Buffer {
  const coding = reply.headers['content-encoding'];
  return coding === 'br' ? brotliDecompressSync(reply.body) : coding === 'gzip' ? gunzipSync(reply.body) : reply.body;
}

async function get(client: RawClient, path: string, accepted: string | undefined, method = 'GET'): Promise<RawReply> {
  client.request(method, path, accepted === undefined ? {} : { 'Accept-Encoding': accepted });
  return client.reply({ hasBody: method !== 'HEAD' });
}

test('text and JSON over 1 KiB are compressed for those who ask, at any size, and say that they vary', async (t) => {
  const sized = route('GET', '/{type}/{bytes}', ({ params }): Reply => {
    const length = Number(params.bytes);
    if (params.type === 'json') return { status: 200, json: { text: text(length) } };
    if (params.type === 'parts') return { status: 200, jsonParts: [`{"text":${JSON.stringify(text(length))}`] };
    return {
      status: 200,
      bytes: Buffer.from(text(length)),
      contentType: params.type === 'zip' ? 'application/zip' : 'text/plain; charset=utf-8',
    };
  });
  const probe = await startProbe(t, [sized]);
  const client = await probe.client();
  for (const length of [10, 1500, 16_384, 16_500, 1_000_000]) {
    for (const type of ['json', 'parts', 'text', 'zip']) {
      for (const coding of ['br', 'gzip', undefined] as const) {
        const reply = await get(client, `/${type}/${length}`, coding);
        const isWorthIt = length > 1024 && type !== 'zip';
        const what = `${type} ${length} ${coding}`;
        assert.equal(reply.headers['content-encoding'], isWorthIt ? coding : undefined, what);
        assert.equal(reply.headers.vary, isWorthIt ? 'Accept-Encoding' : undefined, what);
        const plain = unpacked(reply).toString();
        assert.equal(
          type === 'json' || type === 'parts' ? (JSON.parse(plain) as { text: string }).text : plain,
          text(length),
          what,
        );
        if (isWorthIt && coding) assert.ok(reply.body.length < length, what);
        assert.equal(probe.events.at(-1)?.bytes, reply.body.length);
      }
    }
  }
});

test('errors are compressed too, and a body that is packed already is not packed again', async (t) => {
  const details = { long: text(5000) };
  const packed = route('GET', '/packed', () => ({
    status: 200,
    bytes: Buffer.from('not really brotli'.repeat(100)),
    contentType: 'text/plain',
    headers: { 'Content-Encoding': 'br' },
  }));
  const probe = await startProbe(t, [
    route('GET', '/error', () => Promise.reject(new AppError('collection_conflict', undefined, { details }))),
    packed,
  ]);
  const client = await probe.client();
  const error = await get(client, '/error', 'gzip');
  assert.deepEqual(
    [error.status, error.headers['content-encoding'], jsonOf({ ...error, body: unpacked(error) }).details],
    [409, 'gzip', details],
  );
  assert.equal((await get(client, '/packed', 'gzip')).body.toString(), 'not really brotli'.repeat(100));
});

test('HEAD has the headers that GET has', async (t) => {
  const probe = await startProbe(t, [
    route('GET', '/text', () => ({ status: 200, bytes: Buffer.from(text(5000)), contentType: 'text/plain' })),
  ]);
  const client = await probe.client();
  for (const coding of ['br', 'gzip', 'identity']) {
    const [whole, head] = [await get(client, '/text', coding), await get(client, '/text', coding, 'HEAD')];
    for (const name of ['content-length', 'content-encoding', 'vary'])
      assert.equal(head.headers[name], whole.headers[name], `${coding} ${name}`);
  }
});

/** A source of `count` lines that records how many it gave and whether it was closed. */
function lines(count: number, opened: Promise<void> = Promise.resolve()) {
  const seen = { given: 0, closed: 0 };
  async function* pieces(): AsyncGenerator<string> {
    try {
      yield 'first\n';
      await opened;
      for (; seen.given < count; seen.given += 1) {
        yield `${text(1000)}\n`;
        if (seen.given % 50 === 0) await new Promise(setImmediate);
      }
    } finally {
      seen.closed += 1;
    }
  }
  return { seen, pieces, whole: (): string => `first\n${`${text(1000)}\n`.repeat(count)}` };
}

test('streams, short and long, unpack to the same, and HEAD closes their source', async (t) => {
  for (const count of [0, 3, 3000]) {
    const { seen, pieces, whole } = lines(count);
    const stream = route(
      'GET',
      '/lines',
      () => ((seen.given = 0), { status: 200, stream: pieces(), contentType: NDJSON }),
    );
    const probe = await startProbe(t, [stream, route('GET', '/health', ok)]);
    const client = await probe.client();
    for (const coding of ['br', 'gzip', 'identity']) {
      const reply = await get(client, '/lines', coding);
      assert.equal(reply.headers['content-encoding'], count === 0 || coding === 'identity' ? undefined : coding);
      assert.equal(unpacked(reply).toString(), whole());
      if (count > 100 && coding !== 'identity') assert.ok(reply.body.length < 300_000);
    }
    await get(client, '/lines', 'gzip', 'HEAD');
    await eventually(() => seen.closed === 4);
    assert.equal((await get(client, '/health', undefined)).status, 200);
    assert.deepEqual(probe.faults, []);
  }
});

test('what is ready does not wait in the compressor', async (t) => {
  const wait = gate();
  const { pieces } = lines(10, wait.opened);
  const probe = await startProbe(t, [
    route('GET', '/lines', () => ({ status: 200, stream: pieces(), contentType: NDJSON })),
  ]);
  const client = await probe.client();
  client.request('GET', '/lines', { 'Accept-Encoding': 'gzip' });
  assert.equal((await client.reply({ hasBody: false })).headers['content-encoding'], 'gzip');
  const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
  gunzip.write(await client.chunk());
  const [first] = await new Promise<Buffer[]>((resolve) => gunzip.once('data', (bytes: Buffer) => resolve([bytes])));
  assert.equal(first?.toString(), 'first\n');
  wait.open();
  while ((await client.chunk()).length > 0);
});

test('a reader that stalls or goes away holds back and ends a compressed stream like any other', async (t) => {
  const noise = Array.from(
    { length: 50 },
    () => `${Buffer.from(Array.from({ length: 7500 }, () => Math.trunc(Math.random() * 256))).toString('base64')}\n`,
  );
  const seen = { given: 0, closed: 0 };
  async function* pieces(): AsyncGenerator<string> {
    try {
      for (; seen.given < 5000; seen.given += 1) yield noise[seen.given % noise.length] as string;
    } finally {
      seen.closed += 1;
    }
  }
  const probe = await startProbe(t, [
    route('GET', '/noise', () => ({ status: 200, stream: pieces(), contentType: NDJSON })),
  ]);
  const client = await probe.client();
  client.request('GET', '/noise', { 'Accept-Encoding': 'gzip' });
  client.socket.pause();
  await eventually(() => seen.given > 100);
  let given = -1;
  while (given !== seen.given) {
    given = seen.given;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  assert.ok(given < 2500, `${given} pieces were taken from the source`);
  client.destroy();
  await eventually(() => seen.closed === 1);
  assert.deepEqual([(await probe.event(1)).result, probe.faults], ['aborted', []]);
});

test('a stream that fails is cut, compressed or not', async (t) => {
  const failing = async function* (): AsyncGenerator<string> {
    yield text(200_000);
    throw new Error('secret');
  };
  const probe = await startProbe(t, [
    route('GET', '/failing', () => ({ status: 200, stream: failing(), contentType: NDJSON })),
  ]);
  await assert.rejects(
    fetch(probe.url('/failing')).then((response) => response.text()),
    TypeError,
  );
  assert.deepEqual([probe.faults.map(String), (await probe.event(1)).result], [['Error: secret'], 'failed']);
});
