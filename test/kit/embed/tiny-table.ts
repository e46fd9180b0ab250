// A small embedder table for tests: NumPy files as the packer reads them, written to a folder, and what packing them
// gives.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDirectory } from '../temp.js';

export const TINY = {
  vocabulary: ['[UNK]', 'wing', '##s', 'e', ','],
  width: 3,
  rows: Int8Array.from([0, 0, 0, 1, -2, 3, -128, 127, 0, 4, 5, 6, -7, -8, -9]),
  scales: Float32Array.from([0, 0.5, 0.25, 2, 1]),
  idfs: Float32Array.from([7, 6, 5, 4, 3]),
} as const;

/** A version 1.0 .npy file, which is what NumPy writes. */
function npyOf(type: string, shape: readonly number[], elements: Int8Array | Float32Array): Buffer {
  const header =
    `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`.padEnd(
      117,
    ) + '\n';
  const lead = Buffer.from('\x93NUMPY\x01\x00\0\0', 'latin1');
  lead.writeUInt16LE(header.length, 8);
  return Buffer.concat([lead, Buffer.from(header, 'latin1'), Buffer.from(elements.buffer)]);
}

/** Writes the tables of TINY, with `vocabulary` in place of its own where given, and returns the folder. */
export function writeTinyTables(vocabulary: readonly string[] = TINY.vocabulary): string {
  const folder = tempDirectory();
  const pieces = TINY.vocabulary.length;
  writeFileSync(join(folder, 'vocab.txt'), `${vocabulary.join('\n')}\n`);
  writeFileSync(join(folder, 'tokens-int8.npy'), npyOf('|i1', [pieces, TINY.width], TINY.rows));
  writeFileSync(join(folder, 'scale-f32.npy'), npyOf('<f4', [pieces], TINY.scales));
  writeFileSync(join(folder, 'idf-f32.npy'), npyOf('<f4', [pieces], TINY.idfs));
  return folder;
}

/** Runs the packer; throws with its message where it refuses. */
export function packTables(folder: string): Buffer {
  const out = join(tempDirectory(), 'embedder.bin');
  execFileSync(process.execPath, ['scripts/pack-builtin.mjs', folder, out], { stdio: 'pipe' });
  return readFileSync(out);
}
