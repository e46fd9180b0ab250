// Scheduled backups of a real server: when one is made, which are kept, what a failure leaves, and that one restores.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
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
): ScheduledBackups {
  const backups = new ScheduledBackups({
    backups: { folder, s3: NO_BUCKET, everyMs: 24 * HOUR_MS, keep: 2 },
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
