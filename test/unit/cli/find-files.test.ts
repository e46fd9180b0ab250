// Walks over real folders: the order of files, their ids, links and loops, what is left out and why.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { findFiles, type FindOptions } from '../../../src/cli/files.js';
import { tempDirectory } from '../../kit/temp.js';

const ALL: FindOptions = { accepts: () => true, skipFolders: new Set(['.git', 'node_modules']) };

function folderWith(...paths: string[]): string {
  const root = tempDirectory();
  for (const path of paths) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), path);
  }
  return root;
}

test('one folder: ids are relative to it, in the order of names', async () => {
  const root = folderWith('b.md', 'a/z.md', 'a/b/c.md', '.hidden/x.md');
  const { files, leftOut } = await findFiles([root], ALL);
  assert.deepEqual(
    files.map(({ id }) => id),
    ['.hidden/x.md', 'a/b/c.md', 'a/z.md', 'b.md'],
  );
  assert.deepEqual(
    files.map(({ path }) => path),
    files.map(({ id }) => join(root, id)),
  );
  assert.deepEqual(leftOut, []);
});

test('several roots: ids are relative to the deepest folder that holds them all', async () => {
  const root = folderWith('x/docs/a.md', 'x/notes/a.md', 'x/top.md', 'y.md');
  const ids = async (...roots: string[]) =>
    (
      await findFiles(
        roots.map((path) => join(root, path)),
        ALL,
      )
    ).files.map(({ id }) => id);
  assert.deepEqual(await ids('x/docs', 'x/notes'), ['docs/a.md', 'notes/a.md']);
  assert.deepEqual(await ids('x/docs/a.md', 'x/notes/a.md'), ['docs/a.md', 'notes/a.md']);
  assert.deepEqual(await ids('x/docs', 'y.md'), ['x/docs/a.md', 'y.md']);
  assert.deepEqual(await ids('x/top.md'), ['top.md']);
  assert.deepEqual(await ids('x', 'x/docs'), ['docs/a.md', 'notes/a.md', 'top.md']);
});

test('a file named twice is taken once', async () => {
  const root = folderWith('a.md', 'b/c.md');
  const { files } = await findFiles([join(root, 'a.md'), root, join(root, 'a.md')], ALL);
  assert.deepEqual(
    files.map(({ id }) => id),
    ['a.md', 'b/c.md'],
  );
});

test('only what is accepted is taken', async () => {
  const root = folderWith('a.md', 'a.txt', 'b/b.md');
  const { files, leftOut } = await findFiles([root], { ...ALL, accepts: (id) => id.endsWith('.md') });
  assert.deepEqual(
    files.map(({ id }) => id),
    ['a.md', 'b/b.md'],
  );
  assert.deepEqual(leftOut, []);
});

test('.git and node_modules are left out by name, but read when they are the root', async () => {
  const root = folderWith('.git/config', 'node_modules/p/README.md', 'p/node_modules/q/README.md', 'src/a.md');
  const { files, leftOut } = await findFiles([root], ALL);
  assert.deepEqual(
    files.map(({ id }) => id),
    ['src/a.md'],
  );
  assert.deepEqual(
    leftOut.map(({ id }) => id),
    ['.git', 'node_modules', 'p/node_modules'],
  );
  const inside = await findFiles([join(root, 'node_modules')], ALL);
  assert.deepEqual(
    inside.files.map(({ id }) => id),
    ['p/README.md'],
  );
});

test('links to files are taken; links to folders are left out, so no loop arises', async () => {
  const root = folderWith('real/a.md', 'real/deep/b.md', 'z.md');
  symlinkSync(root, join(root, 'real/up'));
  symlinkSync('..', join(root, 'above'));
  symlinkSync('self', join(root, 'self'));
  symlinkSync('../../z.md', join(root, 'real/deep/link.md'));
  symlinkSync('nowhere', join(root, 'broken'));
  const { files, leftOut } = await findFiles([root], ALL);
  assert.deepEqual(
    files.map(({ id }) => id),
    ['real/a.md', 'real/deep/b.md', 'real/deep/link.md', 'z.md'],
  );
  assert.deepEqual(leftOut, [
    { id: 'above', reason: 'link to a folder' },
    { id: 'broken', reason: 'link to nowhere (no such file or folder)' },
    { id: 'real/up', reason: 'link to a folder' },
    { id: 'self', reason: 'link to nowhere (ELOOP)' },
  ]);
});

test('a link to a folder is read when it is the root', async () => {
  const root = folderWith('real/a.md');
  symlinkSync('real', join(root, 'alias'));
  const { files } = await findFiles([join(root, 'alias')], ALL);
  assert.deepEqual(
    files.map(({ id }) => id),
    ['a.md'],
  );
});

test('what is no regular file is left out', { skip: process.platform === 'win32' }, async () => {
  const root = folderWith('a.md');
  execFileSync('mkfifo', [join(root, 'pipe')]);
  const { files, leftOut } = await findFiles([root], ALL);
  assert.deepEqual(
    files.map(({ id }) => id),
    ['a.md'],
  );
  assert.deepEqual(leftOut, [{ id: 'pipe', reason: 'not a regular file' }]);
});

test('a root that is not there is refused before anything is read', async () => {
  await assert.rejects(findFiles([tempDirectory(), '/no/such/folder'], ALL), {
    name: 'UsageError',
    message: /\/no\/such\/folder: no such file or folder/,
  });
});
