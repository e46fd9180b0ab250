// A file system that turns read-only under a running server, as one does after a disk error: a real one, in a file that
// is mounted through a loop device. The test needs root, mount and mkfs.ext4, and is skipped elsewhere; disk-faults
// tests the same over the fault layer.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ask, DOCS, docids, killed, put, statusOf } from '../../kit/faulty-server.js';
import { startServe } from '../../kit/process.js';
import { fileForm } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';

const BYTES = 256 * 2 ** 20;

const run = (command: string, ...args: string[]): boolean => spawnSync(command, args, { stdio: 'ignore' }).status === 0;

class Disk {
  private readonly image: string;
  readonly folder: string;

  constructor() {
    const base = tempDirectory();
    this.image = join(base, 'disk');
    this.folder = join(base, 'mounted');
    mkdirSync(this.folder);
    writeFileSync(this.image, '');
    truncateSync(this.image, BYTES);
  }

  make(): boolean {
    return run('mkfs.ext4', '-q', '-F', this.image) && this.mount();
  }

  mount(): boolean {
    return run('mount', '-o', 'loop', this.image, this.folder);
  }

  /** Does what ext4 does by itself when it cannot write its journal: files stay open, and nothing more is written. */
  turnReadOnly(): void {
    // After a sync, pages that are mapped for writing are clean, so that the next write to one has to ask the file
    // system.
    run('sync', '-f', this.folder);
    assert.ok(run('mount', '-o', 'remount,abort', this.folder), 'the mount turns read-only');
  }

  unmount(): boolean {
    return run('umount', this.folder);
  }

  mend(): boolean {
    return run('e2fsck', '-p', this.image) || run('e2fsck', '-y', this.image);
  }
}

const start = (dataDir: string): ReturnType<typeof startServe> => startServe({ SHEAF_DATA_DIR: dataDir });

test('a real remount: writes are refused with storage_failed, reads go on, and what was acknowledged is there when the disk is mended', async (t: TestContext) => {
  const disk = new Disk();
  if (!disk.make()) return t.skip('no file system can be mounted here');
  t.after(() => disk.unmount());
  const dataDir = join(disk.folder, 'data');
  const server = await start(dataDir);
  for (const docid of ['A', 'B', 'C']) assert.equal((await put(server, docid)).status, 201);
  disk.turnReadOnly();
  for (const docid of ['D', 'E', 'A'])
    assert.deepEqual(await put(server, docid), { status: 503, code: 'storage_failed' });
  assert.deepEqual(
    [
      await statusOf(server, `${DOCS}/documents/A`),
      await statusOf(server, `${DOCS}/search?q=text`),
      await statusOf(server, '/health/live'),
    ],
    [200, 200, 200],
  );
  assert.deepEqual(
    await ask(server, 'POST', '/v1/collections/acme/other/archive', fileForm('archive.zip', 'PK')).then(
      ({ status, json }) => [status, json.code],
    ),
    [503, 'storage_failed'],
  );
  await killed(server);
  assert.ok(disk.unmount() && disk.mend());
  assert.ok(disk.mount());
  const again = await start(dataDir);
  assert.deepEqual((await docids(again)).slice(0, 3), ['A', 'B', 'C']);
  for (const docid of ['A', 'B', 'C'])
    assert.equal((await ask(again, 'GET', `${DOCS}/documents/${docid}`)).json.version, 1, 'nothing that was refused');
  assert.equal((await put(again, 'D')).status, 201);
  await killed(again);
});
