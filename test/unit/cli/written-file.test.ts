// Files that commands write: whole or not at all, beside whatever others have there, and whose fault it is where they
// cannot be written.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { LocalFailure, UsageError } from '../../../src/cli/explain-error.js';
import { init } from '../../../src/cli/init.js';
import { writtenWhole } from '../../../src/cli/written-file.js';
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
    writtenWhole(file, full),
    (error: Error) => error instanceof LocalFailure && error.message === `${file} cannot be written: the disk is full.`,
  );
  assert.deepEqual(readdirSync(join(file, '..')), []);
  await assert.rejects(
    writtenWhole(join(file, 'none'), (draft) => writeFile(draft, '')),
    UsageError,
  );
  await assert.rejects(
    writtenWhole(file, () => Promise.reject(new TypeError('a fault of ours'))),
    TypeError,
  );
});
