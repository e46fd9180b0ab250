// Flips bits in the files of a stopped server: in a stored value wherever the file has it, or at an offset.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PageScan, type ScannedEntry } from '../../src/storage/lmdb-file.js';

/** The data file of an LMDB environment, such as `shard-0`. */
export const environmentFile = (dataDir: string, environment: string): string => join(dataDir, environment, 'data.mdb');

export const entriesOf = (path: string): ScannedEntry[] =>
  [...PageScan.over(path)].flatMap((found) => ('damage' in found ? [] : [found]));

/** Flips a bit in the middle of a value, on every page that contains it. */
export function flipValue(path: string, { sealed }: ScannedEntry): void {
  const bytes = readFileSync(path);
  let found = 0;
  for (let at = bytes.indexOf(sealed); at >= 0; at = bytes.indexOf(sealed, at + 1), found++)
    bytes.writeUInt8(bytes.readUInt8(at + (sealed.length >> 1)) ^ 4, at + (sealed.length >> 1));
  assert.ok(found > 0, 'the value is in the file');
  writeFileSync(path, bytes);
}

/** Flips a bit of the byte at `at`; a negative offset counts from the end. */
export function flipByte(path: string, at: number): void {
  const bytes = readFileSync(path);
  const place = at < 0 ? bytes.length + at : at;
  bytes.writeUInt8(bytes.readUInt8(place) ^ 0x10, place);
  writeFileSync(path, bytes);
}
