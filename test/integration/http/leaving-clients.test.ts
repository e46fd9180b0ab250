// Clients that disconnect at random moments, in every kind of request: each place, byte, file and stream that a request
// has taken is released, whatever the request was waiting for. A round that fails prints its seed.
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createPrng, type Prng } from '../../../src/base/prng.js';
import { RawClient } from '../../kit/http/raw-client.js';
import { startTestServer } from '../../kit/server.js';
import { until } from '../../kit/until.js';

const SEED = 4207;
const ROUNDS = 12;
const PLACES = 400;
const docs = '/v1/collections/acme/docs';
const JSON_TYPE = { 'Content-Type': 'application/json' };
const NDJSON = { 'Content-Type': 'application/x-ndjson' };
const FORM = { 'Content-Type': 'multipart/form-data; boundary=edge' };

const server = await startTestServer({ SHEAF_LIMITS__TENANT__MAX_IN_FLIGHT: String(PLACES) });
for (let i = 0; i < 40; i++)
  await server.call('POST', `${docs}/documents`, { docid: `d${i}`, text: `captain ${i} `.repeat(99) });
const archive = Buffer.from(await (await fetch(`${server.url}${docs}/archive`)).arrayBuffer());

interface Kind {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

const form = (head: string, content: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`--edge\r\nContent-Disposition: form-data; name="file"; filename="${head}"\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n--edge--\r\n'),
  ]);
const lines = Array.from({ length: 600 }, (_, i) => `${JSON.stringify({ docid: `l${i}`, text: `line ${i}` })}\n`).join(
  '',
);
const item = '{"docid":"b","text":"blank lines around it"}';
const mcp = (name: string, input: object): Kind => ({
  method: 'POST',
  path: '/mcp',
  headers: { ...JSON_TYPE, Accept: 'application/json, text/event-stream' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } }),
});
const post = (path: string, body: object): Kind => ({
  method: 'POST',
  path,
  headers: JSON_TYPE,
  body: JSON.stringify(body),
});

const KINDS: Record<string, Kind> = {
  'blank lines': {
    method: 'POST',
    path: `${docs}/documents:batch`,
    headers: NDJSON,
    body: `${item}\n${'\n'.repeat(1_500_000)}${item}\n`,
  },
  'lines with blank ones between': {
    method: 'POST',
    path: `${docs}/documents:batch`,
    headers: NDJSON,
    body: `${item}\n${' \r\n'.repeat(300_000)}`.repeat(3),
  },
  lines: { method: 'POST', path: `${docs}/documents:batch`, headers: NDJSON, body: lines },
  'bad lines': { method: 'POST', path: `${docs}/documents:batch`, headers: NDJSON, body: '{}\n'.repeat(5000) },
  'a long line': { method: 'POST', path: `${docs}/documents:batch`, headers: NDJSON, body: 'x'.repeat(3_000_000) },
  batch: post(`${docs}/documents:batch`, {
    documents: Array.from({ length: 300 }, (_, i) => ({ docid: `a${i}`, text: 'a' })),
  }),
  document: post(`${docs}/documents`, { docid: 'x', text: 'words to be embedded '.repeat(20_000) }),
  file: {
    method: 'POST',
    path: `${docs}/documents`,
    headers: FORM,
    body: form('a.txt', 'a file of words '.repeat(150_000)),
  },
  search: post(`${docs}/search`, { q: 'captain', mode: 'hybrid' }),
  'search by vector': post(`${docs}/search`, { v: Array(512).fill(0.1) }),
  'search that is none': post(`${docs}/search`, { nothing: 1 }),
  'search by GET': { method: 'GET', path: `${docs}/search?q=captain` },
  create: post('/v1/collections/acme/docs', { display_name: 'docs' }),
  listing: { method: 'GET', path: `${docs}/documents` },
  events: { method: 'GET', path: `${docs}/events` },
  'archive out': { method: 'GET', path: `${docs}/archive` },
  'archive in': {
    method: 'PUT',
    path: `/v1/collections/acme/copy/archive`,
    headers: FORM,
    body: form('a.zip', archive),
  },
  'archive as new': {
    method: 'POST',
    path: `/v1/collections/acme/fresh/archive`,
    headers: FORM,
    body: form('a.zip', archive),
  },
  'agent searches': mcp('search', { tenant: 'acme', collection: 'docs', query: 'captain' }),
  'agent stores': mcp('ingest', { tenant: 'acme', collection: 'docs', text: 'a text '.repeat(5000) }),
  metrics: { method: 'GET', path: '/metrics' },
};

/** Sends a random part of a request in pieces, and disconnects. */
async function leaveIn({ method, path, headers = {}, body = '' }: Kind, prng: Prng): Promise<void> {
  const client = await RawClient.open(server.port);
  const bytes = Buffer.from(body);
  const isChunked = bytes.length > 0 && prng.int(3) === 0;
  const length: Record<string, string> = isChunked
    ? { 'Transfer-Encoding': 'chunked' }
    : bytes.length > 0
      ? { 'Content-Length': String(bytes.length) }
      : {};
  client.request(method, path, { ...headers, ...length });
  const sent = prng.int(2) === 0 ? bytes.length : prng.int(bytes.length + 1);
  for (let at = 0; at < sent; ) {
    const piece = bytes.subarray(at, Math.min(sent, at + 1 + prng.int(400_000)));
    if (isChunked) client.send(`${piece.length.toString(16)}\r\n`);
    client.send(piece);
    if (isChunked) client.send('\r\n');
    at += piece.length;
    if (prng.int(4) === 0) await new Promise((resolve) => setTimeout(resolve, prng.int(5)));
  }
  if (isChunked && sent === bytes.length) client.send('0\r\n\r\n');
  const stays = prng.int(4);
  // Some clients disconnect once an answer has begun, if it begins soon.
  if (stays === 0)
    await Promise.race([client.reply({ hasBody: false }), new Promise((resolve) => setTimeout(resolve, 50))]);
  else if (stays > 1) await new Promise((resolve) => setTimeout(resolve, prng.int(30)));
  client.destroy();
}

test('every place, byte, file and stream is given back when clients leave', async () => {
  const prng = createPrng(SEED);
  for (let round = 0; round < ROUNDS; round++) for (const kind of Object.values(KINDS)) await leaveIn(kind, prng);
  await Promise.all(Object.values(KINDS).map((kind) => leaveIn(kind, prng)));
  const folder = join(server.dataDir, 'sheaf-tmp');
  const left = async (): Promise<Record<string, number>> => {
    const { text } = await server.call('GET', '/metrics');
    const { headers } = await server.call('GET', `${docs}/search?q=a`);
    const metric = (name: string): number => Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
    return {
      // The request that reads the metrics counts too.
      requests: metric('sheaf_requests_under_way') - 1,
      bytes: metric('sheaf_request_bodies_bytes'),
      places: PLACES - 1 - Number(headers.get('x-ratelimit-remaining')),
      files: existsSync(folder)
        ? readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length
        : 0,
      streams: server.parts.events.readerCount,
    };
  };
  let last: Record<string, number> = {};
  await until(
    async () => Object.values((last = await left())).every((count) => count === 0),
    () => `left behind with seed ${SEED}: ${JSON.stringify(last)}`,
  );
  assert.deepEqual(server.faults, []);
});

test('megabytes of blank lines between two documents are passed over', async () => {
  for (const blank of ['\n'.repeat(2_500_000), ' \t\r\n'.repeat(600_000), ' '.repeat(1_000_000)]) {
    const answer = await server.call('POST', `${docs}/documents:batch`, `${item}\n${blank}${item}`, {
      'content-type': 'application/x-ndjson',
    });
    const last = JSON.parse(answer.text.trim().split('\n').at(-1) ?? '') as Record<string, unknown>;
    assert.deepEqual([last.count, last.succeeded], [2, 2]);
  }
});
