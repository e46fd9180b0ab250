// Files that commands write: they appear completely or not at all, leave the files beside them alone, and an error
// names what is wrong where they cannot be written.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { LocalFailure, UsageError } from '../../../src/cli/errors.js';
import { init } from '../../../src/cli/init.js';
import { writeAtomically } from '../../../src/cli/files.js';
import { runInProcess } from '../../kit/cli.js';
import { startFakeServer } from '../../kit/fake-server.js';
import { tempDirectory } from '../../kit/temp.js';

const folder = tempDirectory();

test('files of others stay as they are, whatever their names end with', async (t) => {
  const { url } = await startFakeServer(t, () => ({ headers: { 'content-type': 'application/zip' }, text: 'PK' }));
  const strangers = ['a.zip.part', 'a.zip.new', 'b.yaml.new', 'b.yaml.part'];
  for (const name of strangers) writeFileSync(join(folder, name), 'not ours');
  const { code, stderr } = await runInProcess(['archive', join(folder, 'a.zip'), '--url', url]);
  assert.equal(code, 0, stderr);
  await init(
    join(folder, 'b.yaml'),
    { settings: [], replace: false },
    { stdout: process.stderr, stderr: process.stderr },
  );
  assert.deepEqual(readdirSync(folder).sort(), ['a.zip', 'b.yaml', ...strangers].sort());
  for (const name of strangers) assert.equal(readFileSync(join(folder, name), 'utf8'), 'not ours', name);
});

test("a disk that is full is the machine's fault, a place that is none the command line's; nothing is left", async () => {
  const file = join(tempDirectory(), 'x');
  const full = async (draft: string): Promise<void> => {
    await writeFile(draft, 'some', { flag: 'wx' });
    await writeFile('/dev/full', 'more');
  };
  await assert.rejects(
    writeAtomically(file, false, full),
    (error: Error) => error instanceof LocalFailure && error.message === `${file} cannot be written: the disk is full.`,
  );
  assert.deepEqual(readdirSync(join(file, '..')), []);
  await assert.rejects(
    writeAtomically(join(file, 'none'), false, (draft) => writeFile(draft, '')),
    UsageError,
  );
  await assert.rejects(
    writeAtomically(file, false, () => Promise.reject(new TypeError('a fault of ours'))),
    TypeError,
  );
});

test('a file that is there stays unless one says so, also one that comes meanwhile; what is no file is none', async () => {
  const place = tempDirectory();
  const file = join(place, 'x');
  const write =
    (text: string, meanwhile = (): void => undefined) =>
    async (draft: string) => {
      await writeFile(draft, text, { flag: 'wx' });
      meanwhile();
    };
  await writeAtomically(file, false, write('first'));
  await assert.rejects(
    writeAtomically(file, false, () => assert.fail('nothing is to be written')),
    (error: Error) => error instanceof UsageError && /already exists: .*--force/.test(error.message),
  );
  assert.equal(readFileSync(file, 'utf8'), 'first');
  await writeAtomically(file, true, write('second'));
  assert.equal(readFileSync(file, 'utf8'), 'second');
  const other = join(place, 'y');
  await assert.rejects(
    writeAtomically(
      other,
      false,
      write('ours', () => writeFileSync(other, 'theirs')),
    ),
    UsageError,
  );
  assert.equal(readFileSync(other, 'utf8'), 'theirs');
  const pipe = join(place, 'z');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  for (const none of [place, pipe, `${file}/below`])
    await assert.rejects(writeAtomically(none, true, write('x')), UsageError, none);
  assert.ok(statSync(pipe).isFIFO());
  assert.deepEqual(readdirSync(place).toSorted(), ['x', 'y', 'z']);
});
