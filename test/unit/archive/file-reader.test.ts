// Reads an uploaded file at any offset on a real disk: complete where the file has the bytes, an internal error where
// it was cut short meanwhile.
import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FileReader } from '../../../src/archive/reader.js';
import { tempDirectory } from '../../kit/temp.js';

const BYTES = 200_000;
const content = Buffer.from(Array.from({ length: BYTES }, (_, i) => i % 251));

async function opened(): Promise<{ file: FileReader; path: string }> {
  const path = join(tempDirectory(), 'upload');
  writeFileSync(path, content);
  return { file: await FileReader.open(path), path };
}

const read = (file: FileReader, position: number, length: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const buffer = Buffer.alloc(length);
    file.read(buffer, 0, length, position, (error, bytes = 0) =>
      error ? reject(error) : resolve(buffer.subarray(0, bytes)),
    );
  });

test('pieces and streams have the bytes of the file, up to its end', async () => {
  const { file } = await opened();
  assert.equal(file.size, BYTES);
  assert.deepEqual(await read(file, 1000, 70_000), content.subarray(1000, 71_000));
  assert.deepEqual(await read(file, BYTES - 5, 10), content.subarray(-5));
  const pieces = await file.createReadStream({ start: 10, end: BYTES }).toArray();
  assert.deepEqual(Buffer.concat(pieces as Buffer[]), content.subarray(10));
});

test('a file that has become shorter is an error of the disk', async () => {
  const { file, path } = await opened();
  truncateSync(path, 1000);
  await assert.rejects(read(file, 500, 1000), { code: 'storage_failed' });
  await assert.rejects(file.createReadStream({ start: 0, end: BYTES }).toArray(), { code: 'storage_failed' });
  await assert.rejects(FileReader.open(`${path}-none`), { code: 'storage_failed' });
});
