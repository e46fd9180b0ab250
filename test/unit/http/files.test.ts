// Files in forms over sockets: small ones are kept in memory, large ones on disk until the request has ended, however
// it ends.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AppError } from '../../../src/api/errors.js';
import { errorOf } from '../../../src/http/form.js';
import type { Form, Reply, Request } from '../../../src/http/route.js';
import { tempDirectory } from '../../kit/temp.js';
import { eventually, GOOD_KEY, type ProbeServer, route, startProbe } from '../../kit/http/probe-server.js';

const MEMORY_BYTES = 1024 * 1024;
const shaOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Answers with the path of the file, its mode and its contents. */
async function show(request: Request): Promise<Reply> {
  const { file, fields }: Form = await request.body.form();
  assert.ok(file !== undefined);
  const isOnDisk = 'path' in file;
  const bytes = isOnDisk ? readFileSync(file.path) : file.bytes;
  const mode = isOnDisk ? statSync(file.path).mode & 0o777 : 0;
  return {
    status: 200,
    json: { isOnDisk, mode, length: bytes.length, sha: shaOf(bytes), docid: fields.get('docid') ?? '' },
  };
}

async function start(
  t: TestContext,
  handle = show,
  heldBytesMax = 200_000_000,
): Promise<ProbeServer & { directory: string }> {
  const directory = join(tempDirectory(), 'tmp');
  const upload = route('POST', '/form', handle, { body: 'document', access: 'any' });
  return {
    ...(await startProbe(t, [upload], { documentBytesMax: 50_000_000, temporaryDirectory: directory, heldBytesMax })),
    directory,
  };
}

function formOf(bytes: Uint8Array): FormData {
  const form = new FormData();
  form.set('file', new Blob([bytes as BlobPart]), 'a.bin');
  form.set('docid', 'after the file');
  return form;
}

const send = (probe: ProbeServer, body: FormData): Promise<Response> =>
  fetch(probe.url('/form'), { method: 'POST', headers: { 'X-API-Key': GOOD_KEY }, body });

test('up to 1 MiB a file is in memory, beyond on disk, readable for this user alone, and gone afterwards', async (t) => {
  const probe = await start(t);
  for (const length of [0, 1, MEMORY_BYTES, MEMORY_BYTES + 1, 20_000_000]) {
    const bytes = Buffer.from(Array.from({ length: Math.min(length, 100_000) }, (_, at) => (at * 7919) % 251));
    const sent = Buffer.alloc(length, bytes.length > 0 ? bytes : 0);
    const json = (await (await send(probe, formOf(sent))).json()) as Record<string, unknown>;
    const isOnDisk = length > MEMORY_BYTES;
    assert.deepEqual(
      [json.isOnDisk, json.mode, json.length, json.sha, json.docid],
      [isOnDisk, isOnDisk ? 0o600 : 0, length, shaOf(sent), 'after the file'],
    );
    await eventually(() => readdirSync(probe.directory).length === 0);
  }
  assert.deepEqual(probe.faults, []);
});

test('bytes on disk are not held', async (t) => {
  const probe = await start(t, show, 24_000_000);
  // One after the other: a socket may receive some megabytes before it is paused.
  for (let turn = 0; turn < 2; turn++) assert.equal((await send(probe, formOf(Buffer.alloc(40_000_000)))).status, 200);
});

test('the file is removed when the handler fails, when the client goes, and when the form is over its limit', async (t) => {
  let failures = 0;
  const probe = await start(t, async (request) => {
    await show(request).catch((error: unknown) => {
      failures += 1;
      throw error;
    });
    throw new AppError('file_unreadable');
  });
  assert.equal((await send(probe, formOf(Buffer.alloc(3_000_000)))).status, 400);
  await eventually(() => readdirSync(probe.directory).length === 0);
  assert.equal((await send(probe, formOf(Buffer.alloc(50_000_001)))).status, 413);
  await eventually(() => readdirSync(probe.directory).length === 0);
  const client = await probe.client();
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
  client.request(
    'POST',
    '/form',
    { 'X-API-Key': GOOD_KEY, 'Content-Type': 'multipart/form-data; boundary=b', 'Content-Length': '9000000' },
    head + 'x'.repeat(3_000_000),
  );
  await eventually(() => readdirSync(probe.directory).length === 1);
  client.destroy();
  await eventually(() => readdirSync(probe.directory).length === 0);
  assert.equal(failures, 2);
  assert.deepEqual(probe.faults, []);
});

test('a folder that has gone is an internal error, a full disk 503', async (t) => {
  const probe = await start(t);
  rmSync(probe.directory, { recursive: true });
  const response = await send(probe, formOf(Buffer.alloc(3_000_000)));
  const text = await response.text();
  assert.equal(response.status, 500);
  assert.doesNotMatch(text, /ENOENT|tmp/);
  assert.equal(probe.faults.length, 1);
  const full = errorOf(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }));
  assert.ok(full instanceof AppError && full.code === 'storage_full');
});

test('a start empties the folder and makes it for this user alone', async (t) => {
  const directory = join(tempDirectory(), 'tmp');
  mkdirSync(join(directory, 'below'), { recursive: true });
  writeFileSync(join(directory, 'left'), 'x');
  await startProbe(t, [], { temporaryDirectory: directory });
  assert.ok(existsSync(directory));
  assert.deepEqual([readdirSync(directory), statSync(directory).mode & 0o777], [[], 0o700]);
});
