// Scheduled backups of a real server in a bucket, over the protocol of S3 (moto): they are made, the oldest go, what
// fails leaves nothing, and one restores everything.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { S3mini } from 's3mini';
import { BackupBucket } from '../../../src/service/archive/backup-store.js';
import { upload } from '../../kit/archives.js';
import { freePort } from '../../../load/kit/server.js';
import { pythonWith } from '../../kit/python.js';
import { startTestServer } from '../../kit/server.js';
import { spawnServe } from '../../kit/process.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const { python, skip } = pythonWith('moto[s3,server]==5.2.5');
const KEYS = { region: 'auto', accessKeyId: 'key', secretAccessKey: 'secret' };
const port = await freePort();
const url = `http://127.0.0.1:${port}/backups`;
const client = new S3mini({ endpoint: url, ...KEYS });
// It logs every request, and would stop at a pipe that nobody reads.
const moto = skip
  ? undefined
  : spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
after(() => void moto?.kill());

before(async () => {
  if (skip) return;
  const answers = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  await until(answers, 'moto does not start');
  assert.ok(await client.createBucket());
});

const namesIn = async (prefix: string): Promise<string[]> =>
  ((await client.listObjects('/', prefix)) ?? []).map(({ Key }) => Key).sort();

async function* bytesOf(pieces: readonly Uint8Array[], error?: Error): AsyncGenerator<Uint8Array> {
  yield* pieces;
  if (error) throw error;
}

test('large archives arrive byte for byte, in several pieces; one that fails leaves nothing', { skip }, async () => {
  const bucket = new BackupBucket({ url, prefix: 'pieces/', ...KEYS });
  const pieces = Array.from({ length: 5 }, () => randomBytes(9_000_000));
  await bucket.put('whole.zip', bytesOf(pieces));
  assert.deepEqual(await bucket.list(), [{ name: 'whole.zip', bytes: 45_000_000 }]);
  const stored = Buffer.from((await client.getObjectArrayBuffer('pieces/whole.zip')) as ArrayBuffer);
  assert.ok(stored.equals(Buffer.concat(pieces)));
  await assert.rejects(bucket.put('half.zip', bytesOf(pieces, new Error('the archive process died'))), /process died/);
  assert.deepEqual(await namesIn('pieces/'), ['pieces/whole.zip']);
  const temporary = tempDirectory();
  const [taken, path] = await bucket.withFile(
    'whole.zip',
    temporary,
    async (file) => [readFileSync(file), file] as const,
  );
  assert.ok(taken.equals(Buffer.concat(pieces)));
  assert.ok(!existsSync(path), 'the copy is deleted');
  await assert.rejects(bucket.withFile('other.zip', temporary, async () => undefined));
  assert.deepEqual(readdirSync(temporary), []);
  await bucket.remove('whole.zip');
  assert.deepEqual(await bucket.list(), []);
});

test('entries of incremental backups are beside the backups, and come back as they were', { skip }, async () => {
  const bucket = new BackupBucket({ url, prefix: 'shared/', ...KEYS });
  const entries = Array.from({ length: 30 }, (_, i) => randomBytes(100_000 + i));
  const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
  for (const bytes of entries) await bucket.putEntry(digestOf(bytes), bytes);
  await bucket.put('one.json', bytesOf([Buffer.from('{}')]));
  assert.deepEqual(await bucket.list(), [{ name: 'one.json', bytes: 2 }]);
  const stored = await bucket.entries();
  assert.deepEqual([...stored.keys()].sort(), entries.map(digestOf).sort());
  for (const storedAtMs of stored.values()) assert.ok(Math.abs(storedAtMs - Date.now()) < 600_000);
  for (const bytes of entries) assert.ok(bytes.equals(await bucket.readEntry(digestOf(bytes))));
  await bucket.removeEntry(digestOf(entries[0] as Buffer));
  assert.equal((await bucket.entries()).size, 29);
  await assert.rejects(bucket.readEntry(digestOf(entries[0] as Buffer)));
});

test('a server makes incremental backups in a bucket, and is restored from the latest', { skip }, async (t) => {
  const settings = {
    SHEAF_BACKUPS__S3__URL: url,
    SHEAF_BACKUPS__S3__PREFIX: 'increments/',
    SHEAF_BACKUPS__S3__ACCESS_KEY_ID: 'key',
    SHEAF_BACKUPS__S3__SECRET_ACCESS_KEY: 'secret',
    SHEAF_BACKUPS__INCREMENTAL: 'true',
  };
  const server = await startTestServer(settings);
  t.after(() => server.stop());
  const documents = Array.from({ length: 200 }, (_, i) => ({ docid: `d${i}`, text: `Captain Nemo, number ${i}.` }));
  await server.call('POST', '/v1/collections/acme/docs/documents:batch', { documents });
  const list = async (): Promise<{ name: string }[]> => (await server.call('GET', '/v1/admin/backups')).json.backups;
  await until(async () => (await list()).length === 1);
  const [first] = await list();
  await until(async () => {
    await server.call('POST', '/v1/admin/backups');
    return (await list()).some(({ name }) => name !== first?.name);
  });
  await server.call('DELETE', '/v1/collections/acme/docs');
  const [latest] = await list();
  const restored = await server.call('POST', `/v1/admin/backups/${latest?.name}/restore`);
  assert.equal(restored.status, 200, JSON.stringify(restored.json));
  assert.equal((await server.call('GET', '/v1/collections/acme/docs/detail')).json.doc_count, 200);
});

test('a bucket that is not there, or a server that does not answer, is said', { skip }, async () => {
  const missing = new BackupBucket({ url: url.replace('backups', 'missing'), prefix: '', ...KEYS });
  await assert.rejects(missing.list(), /bucket/i);
  const silent = new BackupBucket({ url: `http://127.0.0.1:${await freePort()}/b`, prefix: '', ...KEYS });
  await assert.rejects(silent.list());
});

test('settings that cannot work are refused at the start', async () => {
  for (const [env, message] of [
    [{ URL: 'not an address' }, /backups\.s3\.url should be the address of a bucket/],
    [{ URL: 'https://s3.example.com/' }, /should be the address of a bucket/],
    [{ URL: 'https://s3.example.com/b' }, /needs backups\.s3\.access_key_id/],
  ] as const) {
    const set = Object.fromEntries(Object.entries(env).map(([name, value]) => [`SHEAF_BACKUPS__S3__${name}`, value]));
    const { ended, output } = spawnServe({ SHEAF_DATA_DIR: tempDirectory(), ...set });
    assert.equal(await ended, 1);
    assert.match(output(), message);
  }
});

test('a server backs itself up into a bucket, keeps the latest, and another one is restored from it', {
  skip,
}, async (t) => {
  for (const month of ['01', '02', '03']) await client.putObject(`own/sheaf-2026-${month}-01T00-00-00Z.zip`, 'old');
  await client.putObject('own/notes.txt', 'not a backup');
  const server = spawnServe({
    SHEAF_DATA_DIR: tempDirectory(),
    SHEAF_BACKUPS__S3__URL: url,
    SHEAF_BACKUPS__S3__PREFIX: 'own/',
    SHEAF_BACKUPS__S3__ACCESS_KEY_ID: 'key',
    SHEAF_BACKUPS__S3__SECRET_ACCESS_KEY: 'secret',
    SHEAF_BACKUPS__KEEP: '2',
  });
  t.after(() => server.child.kill());
  await until(async () => (await namesIn('own/')).length === 3, `the old ones stay: ${(await namesIn('own/')).join()}`);
  const [notes, old, latest] = await namesIn('own/');
  assert.deepEqual([notes, old], ['own/notes.txt', 'own/sheaf-2026-03-01T00-00-00Z.zip']);
  const archive = Buffer.from((await client.getObjectArrayBuffer(latest as string)) as ArrayBuffer);
  const other = await startTestServer();
  const restored = await upload(other, 'PUT', '/v1/admin/archive', archive);
  assert.equal(restored.status, 200, JSON.stringify(restored.json));
  assert.doesNotMatch(server.output(), /secret/);
});

// Without an answer a request ends after five minutes.
test('a server stops while a bucket does not answer', { timeout: 120_000 }, async (t) => {
  const silent = createServer(() => undefined);
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const asked = once(silent, 'connection');
  const { child, ended } = spawnServe({
    SHEAF_DATA_DIR: tempDirectory(),
    SHEAF_BACKUPS__S3__URL: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/backups`,
    SHEAF_BACKUPS__S3__ACCESS_KEY_ID: 'key',
    SHEAF_BACKUPS__S3__SECRET_ACCESS_KEY: 'secret',
  });
  await asked;
  child.kill();
  assert.equal(await ended, 0);
});
