// The data directory: one process holds it, and an error explains why it cannot be used.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { openDataDirectory } from '../../../src/storage/data-directory.js';
import { tempDirectory } from '../../kit/temp.js';

test('the number of shards is fixed when the directory is made', async () => {
  const path = tempDirectory();
  const first = await openDataDirectory(path, 3);
  assert.equal(first.shards, 3);
  first.release();
  const second = await openDataDirectory(path, 8);
  assert.equal(second.shards, 3);
  second.release();
});

test('a directory of the layout before spreads keeps its shards, and gets the layout of today when it is served', async () => {
  const path = tempDirectory();
  const named = { magic: 'sheaf', layout: 2, shards: 3 };
  writeFileSync(join(path, 'sheaf.json'), JSON.stringify({ ...named, checksum: crc32('sheaf 2 3') }));
  const layoutAfter = async (shards?: number): Promise<unknown[]> => {
    const directory = await openDataDirectory(path, shards);
    directory.release();
    return [directory.shards, (JSON.parse(readFileSync(join(path, 'sheaf.json'), 'utf8')) as typeof named).layout];
  };
  assert.deepEqual(await layoutAfter(), [3, 2], 'a command that only reads');
  assert.deepEqual(await layoutAfter(8), [3, 3]);
  assert.deepEqual(await layoutAfter(8), [3, 3]);
});

test('a directory that another process holds is refused, and free once that process is killed', async () => {
  const path = tempDirectory();
  const module = new URL('../../../src/storage/data-directory.js', import.meta.url).href;
  const script = `import(${JSON.stringify(module)}).then((m) => m.openDataDirectory(${JSON.stringify(path)}, 1)).then(() => { console.log('held'); setInterval(() => {}, 1000); })`;
  const holder = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  await assert.rejects(openDataDirectory(path, 1), { name: 'DataDirectoryError', message: /in use by another/ });
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  (await openDataDirectory(path, 1)).release();
});

test('a path that cannot be written to is refused with its name', async () => {
  const file = join(tempDirectory(), 'file');
  writeFileSync(file, '');
  await assert.rejects(openDataDirectory(join(file, 'data'), 1), {
    name: 'DataDirectoryError',
    message: /not writable.*SHEAF_DATA_DIR/,
  });
});

for (const [what, text] of [
  ['no JSON', '{'],
  ["another program's", '{"magic":"other","layout":1,"shards":1}'],
  ['a layout from the future', '{"magic":"sheaf","layout":99,"shards":1}'],
  ['of the layout before checksums', '{"magic":"sheaf","layout":1,"shards":1}'],
  ['without its checksum', '{"magic":"sheaf","layout":2,"shards":1}'],
] as const) {
  test(`an identity file that is ${what} is refused`, async () => {
    const path = tempDirectory();
    writeFileSync(join(path, 'sheaf.json'), text);
    await assert.rejects(openDataDirectory(path, 1), { name: 'DataDirectoryError', message: /sheaf\.json/ });
    rmSync(join(path, 'sheaf.json'));
    (await openDataDirectory(path, 1)).release();
  });
}

/** Every file below a folder, with its bytes. */
const everythingIn = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .map(
      (entry) =>
        join(entry.parentPath, entry.name) +
        (entry.isFile() ? readFileSync(join(entry.parentPath, entry.name), 'utf8') : ''),
    )
    .sort();

test('a folder of somebody else is refused, and nothing in it is touched', async () => {
  const path = tempDirectory();
  for (const folder of ['tmp', 'query-log']) mkdirSync(join(path, folder));
  writeFileSync(join(path, 'tmp', 'thesis.tex'), 'years of work');
  const before = everythingIn(path);
  for (const shards of [3, undefined])
    await assert.rejects(openDataDirectory(path, shards), {
      name: 'DataDirectoryError',
      message: /not a data directory/,
    });
  assert.deepEqual(everythingIn(path), before);
});

test('a data directory without its identity file is rejected, and a command that only reads creates none', async () => {
  const path = tempDirectory();
  for (const folder of ['catalog', 'shard-0', 'shard-1']) mkdirSync(join(path, folder));
  await assert.rejects(openDataDirectory(path, 2), {
    name: 'DataDirectoryError',
    message: /has catalog, shard-0, shard-1, but no sheaf\.json: restore that file/,
  });
  assert.deepEqual(readdirSync(path).sort(), ['catalog', 'shard-0', 'shard-1']);
  const [empty, absent] = [tempDirectory(), join(tempDirectory(), 'absent')];
  for (const nothing of [empty, absent])
    await assert.rejects(openDataDirectory(nothing), {
      name: 'DataDirectoryError',
      message: /is not a data directory/,
    });
  assert.deepEqual([readdirSync(empty), existsSync(absent)], [[], false]);
});

test('files that an operator, a file system or an interrupted start has left are no hindrance', async () => {
  const path = tempDirectory();
  for (const name of ['admin.key', 'sheaf.json.new', '.probe-17']) writeFileSync(join(path, name), 'x');
  mkdirSync(join(path, 'lost+found'));
  (await openDataDirectory(path, 1)).release();
});
