// Replies over sockets: large replies to slow readers, ready JSON parts, bytes, and the replies that follow them.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { gate, ok, route, startProbe } from '../../kit/http/probe-server.js';
import { jsonOf } from '../../kit/http/raw-client.js';

const BIG = Buffer.from(Uint8Array.from({ length: 50_000_000 }, (_, at) => (at * 31) % 251).buffer);
const shaOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const big = route('GET', '/big', () => ({ status: 200, bytes: BIG, contentType: 'application/octet-stream' }));

test('50 MB reach a reader that stalls, whole, and the connection goes on', async (t) => {
  const probe = await startProbe(t, [big, route('GET', '/health', ok)]);
  const client = await probe.client();
  client.request('GET', '/big');
  client.socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(probe.events.length, 0, 'a reply is not finished while the client has not taken it');
  client.socket.resume();
  const reply = await client.reply();
  assert.deepEqual(
    [reply.headers['content-length'], reply.headers['content-type']],
    ['50000000', 'application/octet-stream'],
  );
  assert.equal(shaOf(reply.body), shaOf(BIG));
  assert.deepEqual([(await probe.event(1)).bytes, (await probe.event(1)).result], [50_000_000, 'answered']);
  client.request('GET', '/health');
  assert.equal((await client.reply()).status, 200);
});

test('replies of every size around the limit of one write arrive whole', async (t) => {
  const sizes = [0, 1, 16_383, 16_384, 65_535, 65_536, 65_537, 1_000_000];
  const sized = route('GET', '/sized/{bytes}', (request) => ({
    status: 200,
    bytes: BIG.subarray(0, Number(request.params.bytes)),
    contentType: 'text/plain',
  }));
  const probe = await startProbe(t, [sized]);
  const client = await probe.client();
  for (const size of sizes) {
    client.request('GET', `/sized/${size}`);
    assert.equal(shaOf((await client.reply()).body), shaOf(BIG.subarray(0, size)), `${size} bytes`);
    client.request('HEAD', `/sized/${size}`);
    assert.equal((await client.reply({ hasBody: false })).headers['content-length'], String(size));
  }
});

test('ready parts make one JSON object with the common fields', async (t) => {
  const hits = Array.from({ length: 3000 }, (_, at) => `{"id":"d${at}","text":"ünïcode \\" ${'x'.repeat(50)}"}`);
  const parts = ['{"matches":[', Buffer.from(hits.slice(0, 1500).join(',')), ',', hits.slice(1500).join(','), ']'];
  const probe = await startProbe(t, [route('POST', '/search', () => ({ status: 200, jsonParts: parts }))]);
  const response = await fetch(probe.url('/search'), { method: 'POST', body: '{}' });
  const text = await response.text();
  const json = JSON.parse(text) as { ok: boolean; matches: unknown[]; request_id: string; latency_ms: number };
  assert.deepEqual(
    json.matches,
    hits.map((hit) => JSON.parse(hit) as unknown),
  );
  assert.ok(text.startsWith('{"ok":true,"matches":['));
  assert.equal(json.request_id, response.headers.get('x-request-id'));
  assert.equal(response.headers.get('content-type'), 'application/json');
  assert.ok(json.latency_ms > 0 && Number.isInteger(Math.round(json.latency_ms * 1e6) / 1e3));
});

test('a reader that goes away in the middle of a large reply ends it', async (t) => {
  const probe = await startProbe(t, [big]);
  const client = await probe.client();
  client.request('GET', '/big');
  client.socket.pause();
  await new Promise((resolve) => setTimeout(resolve, 50));
  client.destroy();
  const event = await probe.event(1);
  assert.deepEqual([event.result, event.status], ['aborted', 200]);
});

test('slow and fast handlers on many connections do not mix their replies', async (t) => {
  const wait = gate();
  const probe = await startProbe(t, [
    route('GET', '/n/{n}', async ({ params }) => {
      if (Number(params.n) % 2 === 0) await wait.opened;
      return { status: 200, json: { n: params.n } };
    }),
  ]);
  const clients = await Promise.all(Array.from({ length: 40 }, () => probe.client()));
  clients.forEach((client, n) => client.request('GET', `/n/${n}`));
  await Promise.all(
    clients.map(async (client, n) => n % 2 === 1 && assert.equal(jsonOf(await client.reply()).n, String(n))),
  );
  wait.open();
  await Promise.all(
    clients.map(async (client, n) => n % 2 === 0 && assert.equal(jsonOf(await client.reply()).n, String(n))),
  );
});
