// Scheduled backups of a real server: when one is made, which are kept, what a failure leaves, and that one restores.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { EntryStream } from '../../../src/archive/entry-stream.js';
import { createPrng } from '../../../src/base/prng.js';
import { BackupFolder } from '../../../src/service/archive/backup-store.js';
import { storeIncrement } from '../../../src/service/archive/incremental-backup.js';
import { ScheduledBackups } from '../../../src/service/archive/scheduled-backups.js';
import { upload } from '../../kit/archives.js';
import { SILENT } from '../../kit/log.js';
import { type TestServer, startTestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const HOUR_MS = 3_600_000;
const START_MS = Date.parse('2026-03-01T12:00:00Z');

const NO_BUCKET = { url: '', region: 'auto', prefix: '', accessKeyId: '', secretAccessKey: '' };

interface Clock {
  nowMs: number;
}

/** Backups of the server into a folder, by a clock of the test that they look at all the time. */
function startBackups(
  t: TestContext,
  { services }: TestServer,
  folder: string,
  clock: Clock,
  isOwn = true,
  incremental = false,
): ScheduledBackups {
  const backups = new ScheduledBackups({
    backups: { folder, s3: NO_BUCKET, everyMs: 24 * HOUR_MS, keep: 2, incremental },
    archive: services.archive,
    temporary: tempDirectory(),
    isOwn: () => isOwn,
    nowMs: () => clock.nowMs,
    log: SILENT,
  });
  t.after(() => backups.close());
  backups.start(20);
  return backups;
}

const zipsIn = (folder: string): string[] => readdirSync(folder).sort();

test('a backup is made when it is due, the latest are kept, and one restores everything', async (t) => {
  const server = await startTestServer();
  await server.call('POST', '/v1/collections/acme/docs/documents', { docid: 'nemo', text: 'Captain Nemo.' });
  const folder = join(tempDirectory(), 'backups');
  mkdirSync(folder);
  writeFileSync(join(folder, 'notes.txt'), 'not a backup');
  writeFileSync(join(folder, 'sheaf-2026-02-01T00-00-00Z.zip.partial'), 'left by a server that was killed');
  const clock = { nowMs: START_MS };
  const backups = startBackups(t, server, folder, clock);
  await until(() => zipsIn(folder).join() === 'notes.txt,sheaf-2026-03-01T12-00-00Z.zip', 'no backup is made');
  await until(() => backups.latestAtMs === START_MS);
  assert.ok(backups.latestBytes > 100);
  assert.equal(statSync(join(folder, 'sheaf-2026-03-01T12-00-00Z.zip')).mode & 0o777, 0o600);

  clock.nowMs += 23 * HOUR_MS;
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(zipsIn(folder).length, 2);
  for (const [hours, expected] of [
    [1, ['notes.txt', 'sheaf-2026-03-01T12-00-00Z.zip', 'sheaf-2026-03-02T12-00-00Z.zip']],
    [24, ['notes.txt', 'sheaf-2026-03-02T12-00-00Z.zip', 'sheaf-2026-03-03T12-00-00Z.zip']],
  ] as const) {
    clock.nowMs += hours * HOUR_MS;
    await until(() => zipsIn(folder).join() === expected.join(), `${zipsIn(folder).join()} after ${hours} hours`);
  }

  // Another server on the same folder has nothing to do, and one that does not lead never has.
  const again = startBackups(t, server, folder, clock);
  await until(() => again.latestAtMs === clock.nowMs);
  startBackups(t, server, folder, { nowMs: clock.nowMs + 100 * HOUR_MS }, false);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(zipsIn(folder).length, 3);

  const other = await startTestServer();
  const archive = readFileSync(join(folder, 'sheaf-2026-03-03T12-00-00Z.zip'));
  const restored = await upload(other, 'PUT', '/v1/admin/archive', archive);
  assert.equal(restored.status, 200, JSON.stringify(restored.json));
  assert.equal((await other.call('GET', '/v1/collections/acme/docs/documents/nemo')).status, 200);
});

test('a backup that fails is tried again later, and leaves nothing half', async (t) => {
  const server = await startTestServer();
  const folder = join(tempDirectory(), 'a-file');
  writeFileSync(folder, 'there is a file in place of the folder');
  const clock = { nowMs: START_MS };
  const backups = startBackups(t, server, folder, clock);
  await until(() => backups.failed === 1);
  await new Promise((resolve) => setTimeout(resolve, 200));
  assert.equal(backups.failed, 1);
  clock.nowMs += HOUR_MS;
  await until(() => backups.failed === 2);
  assert.equal(backups.latestAtMs, 0);
});

test('a server makes backups by its configuration, and tells of them in its metrics', async () => {
  const folder = join(tempDirectory(), 'backups');
  const server = await startTestServer({ SHEAF_BACKUPS__FOLDER: folder, SHEAF_BACKUPS__EVERY_HOURS: '1' });
  await until(() => server.services.backups.latestAtMs > 0, 'no backup is made');
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  const latest = Number(/^sheaf_backup_latest_timestamp_seconds (\d+)$/m.exec(metrics)?.[1]);
  assert.ok(Math.abs(latest - Date.now() / 1000) < 60);
  assert.match(metrics, /^sheaf_backups_failed_total 0$/m);
});

test('the admin lists the backups, makes one, and restores everything from it', async () => {
  const folder = join(tempDirectory(), 'backups');
  const server = await startTestServer({ SHEAF_BACKUPS__FOLDER: folder, SHEAF_BACKUPS__EVERY_HOURS: '1' });
  const docs = '/v1/collections/acme/docs';
  const list = async (): Promise<{ backups: { name: string }[]; running: boolean; failed_at: string | null }> =>
    (await server.call('GET', '/v1/admin/backups')).json as never;
  await until(async () => (await list()).backups.length === 1);
  await server.call('POST', `${docs}/documents`, { docid: 'nemo', text: 'Captain Nemo.' });
  // Names are to the second.
  await sleep(1100);
  assert.equal((await server.call('POST', '/v1/admin/backups')).status, 202);
  await until(async () => (await list()).backups.length === 2);
  await until(async () => !(await list()).running);
  const { json } = await server.call('GET', '/v1/admin/backups');
  const [latest] = json.backups as { name: string; made_at: string; bytes: number }[];
  assert.deepEqual(
    { store: json.store, every_hours: json.every_hours, failed_at: json.failed_at, count: json.count },
    { store: 'folder', every_hours: 1, failed_at: null, count: 2 },
  );
  assert.equal(statSync(join(folder, latest?.name as string)).size, latest?.bytes);
  assert.ok(Math.abs(Date.parse(latest?.made_at as string) - Date.now()) < 60_000);

  await server.call('DELETE', docs);
  const path = `/v1/admin/backups/${latest?.name}/restore`;
  const dry = await server.call('POST', `${path}?dry_run=true`);
  assert.deepEqual([dry.json.dry_run, dry.json.counts.documents], [true, 1]);
  assert.equal((await server.call('GET', `${docs}/documents/nemo`)).status, 404);
  const restored = await server.call('POST', path);
  assert.equal(restored.status, 200, JSON.stringify(restored.json));
  assert.equal((await server.call('GET', `${docs}/documents/nemo`)).status, 200);

  for (const name of ['sheaf-2020-01-01T00-00-00Z.zip', '..%2Fcatalog', 'x'])
    assert.equal((await server.call('POST', `/v1/admin/backups/${name}/restore`)).json.code, 'backup_not_found');
  writeFileSync(join(folder, 'sheaf-2020-01-01T00-00-00Z.zip'), 'no archive');
  const broken = await server.call('POST', '/v1/admin/backups/sheaf-2020-01-01T00-00-00Z.zip/restore');
  assert.equal(broken.json.code, 'archive_invalid');
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'a file in its place');
  const away = await server.call('GET', '/v1/admin/backups');
  assert.deepEqual([away.status, away.json.code], [503, 'backup_failed']);
  assert.ok(!JSON.stringify(away.json).includes(folder));
  await server.call('POST', '/v1/admin/backups');
  await until(() => server.services.backups.failed === 1);
  rmSync(folder);
  assert.notEqual((await list()).failed_at, null);
});

test('where no backups are made, that is said', async () => {
  const server = await startTestServer();
  const { json } = await server.call('GET', '/v1/admin/backups');
  assert.deepEqual([json.store, json.count], [null, 0]);
  for (const path of ['/v1/admin/backups', '/v1/admin/backups/x/restore'])
    assert.equal((await server.call('POST', path)).json.code, 'backups_off');
});

/** The entries that backups in a folder share. */
const entriesIn = (folder: string): string[] =>
  readdirSync(join(folder, 'entries'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.length > 64)
    .sort();

const DIM = 512;

test('an incremental backup stores what has changed alone, and each restores what was there', async (t) => {
  const server = await startTestServer();
  const docs = '/v1/collections/acme/docs';
  await server.call('POST', docs, { embedder_type: 'identity', embedder_config: { dim: DIM } });
  const prng = createPrng(1);
  const documentOf = (n: number): object => ({
    docid: `d${String(n).padStart(5, '0')}`,
    vector: Array.from({ length: DIM }, () => Math.round(prng.normal() * 1000) / 1000),
    metadata: { n },
  });
  for (let from = 0; from < 6000; from += 500) {
    const documents = Array.from({ length: 500 }, (_, i) => documentOf(2 * (from + i)));
    assert.equal((await server.call('POST', `${docs}/documents:batch`, { documents })).status, 201);
  }
  const folder = join(tempDirectory(), 'backups');
  const clock = { nowMs: START_MS };
  const backups = startBackups(t, server, folder, clock, true, true);
  const made = async (): Promise<string> => {
    await until(() => backups.latestAtMs === clock.nowMs, 'no backup is made');
    return zipsIn(folder).at(-1) as string;
  };
  const first = await made();
  assert.match(first, /^sheaf-2026-03-01T12-00-00Z\.json$/);
  const before = entriesIn(folder);
  assert.ok(before.length >= 6, `${before.length} entries`);
  assert.equal(statSync(join(folder, 'entries', before[0] as string)).mode & 0o777, 0o600);
  assert.ok(backups.latestBytes > 12_000_000, 'the size is that of the archive');

  // One in the middle is new, one is another, one is gone.
  await server.call('POST', `${docs}/documents`, documentOf(5001));
  await server.call('POST', `${docs}/documents`, { ...documentOf(8000), metadata: { n: -1 } });
  await server.call('DELETE', `${docs}/documents/d02000`);
  clock.nowMs += 24 * HOUR_MS;
  const second = await made();
  const after = entriesIn(folder);
  const added = after.filter((name) => !before.includes(name)).length;
  assert.ok(added >= 1 && added <= 3, `${added} of ${after.length} entries are new`);

  // As on a machine that has the folder alone.
  const other = await startTestServer({ SHEAF_BACKUPS__FOLDER: folder, SHEAF_BACKUPS__EVERY_HOURS: '8784' });
  const restore = (name: string, dry = ''): ReturnType<typeof other.call> =>
    other.call('POST', `/v1/admin/backups/${name}/restore${dry}`);
  const dry = await restore(first, '?dry_run=true');
  assert.deepEqual([dry.status, dry.json.counts?.documents], [200, 6000]);
  for (const [name, nAt8000, at2000, at5001] of [
    [first, 8000, 200, 404],
    [second, -1, 404, 200],
  ] as const) {
    assert.equal((await restore(name)).status, 200);
    assert.equal((await other.call('GET', `${docs}/documents/d08000`)).json.metadata.n, nAt8000);
    assert.equal((await other.call('GET', `${docs}/documents/d02000`)).status, at2000);
    assert.equal((await other.call('GET', `${docs}/documents/d05001`)).status, at5001);
    const [restored, original] = await Promise.all(
      [other, server].map((each) => each.call('GET', `${docs}/documents/d00004`)),
    );
    assert.deepEqual(restored?.json.metadata, original?.json.metadata);
  }

  // What only the first has stays for a day, and goes with a later backup.
  clock.nowMs = START_MS + 1000 * 24 * HOUR_MS;
  await made();
  await until(() => zipsIn(folder).length === 3 && entriesIn(folder).length < after.length, 'the unused stay');
  assert.equal((await restore(second, '?dry_run=true')).status, 200);

  // A backup with a damaged entry is refused, and changes nothing.
  const damaged = join(folder, 'entries', entriesIn(folder)[0] as string);
  const bytes = readFileSync(damaged);
  bytes[1000] = (bytes[1000] as number) ^ 1;
  writeFileSync(damaged, bytes);
  const refused = await restore(zipsIn(folder).at(-1) as string);
  assert.deepEqual([refused.status, refused.json.code], [503, 'backup_failed']);
  assert.equal((await other.call('GET', `${docs}/detail`)).json.doc_count, 6000);
});

test('backups can be listed at any moment of one that is being stored', async () => {
  const folder = tempDirectory();
  const store = new BackupFolder(folder);
  let isOver = false as boolean;
  const storing = (async () => {
    for (let i = 0; i < 300; i++) await store.put(`sheaf-${i}.zip`, Readable.from([Buffer.from('an archive')]));
    isOver = true;
  })();
  let lists = 0;
  while (!isOver) {
    for (const { name, bytes } of await store.list()) assert.ok(bytes === 10 || name.endsWith('.partial'));
    lists++;
  }
  await storing;
  assert.ok(lists > 10, `${lists} lists`);
  assert.equal((await store.list()).length, 300);
});

test('an incremental backup whose storage fails is none, and the next one goes on with what is there', async () => {
  const folder = tempDirectory();
  const store = new BackupFolder(folder);
  const contents = Array.from({ length: 12 }, (_, i) => Buffer.alloc(20_000 + i, i));
  const stream = (): AsyncIterable<Uint8Array> => {
    const entries = new EntryStream();
    const write = async (): Promise<void> => {
      for (const [i, content] of contents.entries()) await entries.add(`entry ${i}`, content);
      entries.end();
    };
    write().catch(() => undefined);
    return entries.output;
  };
  const put = store.putEntry.bind(store);
  let puts = 0;
  store.putEntry = async (...entry) => {
    if (++puts === 7) throw new Error('no room');
    return put(...entry);
  };
  await assert.rejects(storeIncrement(store, 'sheaf-x.json', stream()), /no room/);
  assert.ok(!readdirSync(folder).includes('sheaf-x.json'));
  const there = await store.entries();
  assert.ok(there.size >= 5 && there.size < 12, String(there.size));
  const stored = await storeIncrement(store, 'sheaf-x.json', stream());
  assert.equal(stored.entries, 12);
  assert.equal((await store.entries()).size, 12);
  assert.ok(stored.storedBytes < stored.bytes - 20_000 * (there.size - 1), 'what is there is not stored again');
  await assert.rejects(
    storeIncrement(
      store,
      'sheaf-y.json',
      (async function* () {
        yield Buffer.from([9, 0, 0, 0, 1]);
      })(),
    ),
    /ends within an entry/,
  );
});
