// Compressed request bodies: accepted as if they had come plain, within the same limits, and rejected where they are
// invalid.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import zlib, { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { startTestServer, type Answer } from '../../kit/server.js';

const docs = '/v1/collections/acme/docs';
const server = await startTestServer({ SHEAF_LIMITS__MAX_FILE_BYTES: '2000000' });
const { zstdCompressSync } = zlib as { zstdCompressSync?: (bytes: Uint8Array) => Buffer };
const CODERS: Record<string, (bytes: Uint8Array) => Buffer> = {
  gzip: (bytes) => gzipSync(bytes),
  'X-GZIP': (bytes) => gzipSync(bytes),
  br: (bytes) => brotliCompressSync(bytes),
  ...(zstdCompressSync && { zstd: zstdCompressSync }),
};

const send = (path: string, coding: string, body: Uint8Array, type = 'application/json'): Promise<Answer> =>
  server.call('POST', path, body, { 'content-encoding': coding, 'content-type': type });
const metric = async (name: string): Promise<number> =>
  Number(new RegExp(`^${name} (.*)$`, 'm').exec((await server.call('GET', '/metrics')).text)?.[1]);

for (const [coding, packed] of Object.entries(CODERS))
  test(`${coding}: JSON, lines, files`, async () => {
    const text = 'captain nemo '.repeat(20_000);
    const json = await send(`${docs}/documents`, coding, packed(Buffer.from(JSON.stringify({ docid: 'a', text }))));
    assert.equal(json.status, 201, json.text);
    const found = await send(`${docs}/search`, coding, packed(Buffer.from('{"q":"captain"}')));
    assert.equal(found.json.matches.length, 5);
    const lines = Array.from({ length: 500 }, (_, i) => `{"docid":"l${i}","text":"line ${i}"}\n`).join('');
    const batch = await send(`${docs}/documents:batch`, coding, packed(Buffer.from(lines)), 'application/x-ndjson');
    assert.equal((JSON.parse(batch.text.trim().split('\n').at(-1) ?? '') as { succeeded: number }).succeeded, 500);
    const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n${text.repeat(5)}\r\n--b--\r\n`;
    const file = await send(`${docs}/documents`, coding, packed(Buffer.from(form)), 'multipart/form-data; boundary=b');
    assert.equal(file.status, 201, file.text);
  });

test('what is unpacked obeys the limits of what is not, and is held no longer than it is used', async () => {
  for (const [coding, packed] of Object.entries(CODERS)) {
    const bomb = packed(Buffer.alloc(60_000_000, ' '));
    for (const path of [docs, `${docs}/search`, `${docs}/documents`]) {
      const { status, json } = await send(path, coding, bomb);
      assert.deepEqual([status, json.code], [413, 'request_too_large'], `${coding} ${path}`);
    }
    const form = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n');
    const bytes = packed(Buffer.concat([form, Buffer.alloc(60_000_000, 'a'), Buffer.from('\r\n--b--\r\n')]));
    const { json } = await send(`${docs}/documents`, coding, bytes, 'multipart/form-data; boundary=b');
    assert.equal(json.code, 'file_too_large');
  }
  assert.equal(await metric('sheaf_request_bodies_bytes'), 0);
});

test('a coding that is not known, or that the body does not have, is told as that', async () => {
  const plain = Buffer.from('{"q":"a"}');
  for (const coding of ['deflate', 'compress', 'gzip, br', 'nothing']) {
    const { status, json, headers } = await send(`${docs}/search`, coding, deflateSync(plain));
    assert.deepEqual([status, json.code, json.error_type], [415, 'unsupported_content_encoding', 'invalid']);
    assert.match(headers.get('accept-encoding') ?? '', /gzip, br/);
  }
  const whole = gzipSync(Buffer.from(JSON.stringify({ q: 'words '.repeat(500) })));
  for (const [coding, body] of [
    ['gzip', plain],
    ['br', plain],
    ['gzip', whole.subarray(0, 30)],
    ['gzip', whole.subarray(0, whole.length - 4)],
  ] as const) {
    const { status, json } = await send(`${docs}/search`, coding, body);
    assert.deepEqual([status, json.code], [422, 'invalid_content_encoding'], coding);
  }
  assert.equal((await send(`${docs}/search`, 'identity', plain)).status, 200);
  assert.equal((await server.call('GET', `${docs}/detail`, undefined, { 'content-encoding': 'odd' })).status, 200);
  assert.deepEqual(server.faults, []);
});
