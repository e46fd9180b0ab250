// The naive version of the built-in embedder: follows the published reference line by line. It shares only
// splitting and WordPiece with the real one; those have tests against fixed expectations.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { EmbedderTable } from '../../../src/embedding/builtin/table.js';
import { createPieceEncoder, plainWords } from '../../../src/embedding/builtin/word-pieces.js';
import { tempDirectory } from '../temp.js';

const SHARE = 0.5;
const BUCKETS = 256;
const GRAM = 0.3;

function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return ~crc >>> 0;
}

function unit(vector: readonly number[]): number[] {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return vector.map((value) => (length > 0 ? value / length : value));
}

export function createNaiveEmbedder({
  vocabulary,
  width,
  rows,
  scales,
  idfs,
}: EmbedderTable): (text: string) => number[] {
  const encode = createPieceEncoder(vocabulary);

  const semantic = (text: string): number[] => {
    const ids = encode(text);
    return unit(
      Array.from({ length: width }, (_, i) => ids.reduce((sum, id) => sum + rows[id * width + i]! * scales[id]!, 0)),
    );
  };
  const lexical = (text: string): number[] => {
    const counts = new Map<string, number>();
    for (const word of plainWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
    const sum = new Array<number>(BUCKETS).fill(0);
    const add = (feature: string, weight: number): void => {
      const hash = crc32(feature);
      sum[Math.floor(hash / 2) % BUCKETS]! += hash % 2 === 1 ? weight : -weight;
    };
    for (const [word, count] of counts) {
      const weight = Math.log1p(count) * Math.max(0, ...encode(word).map((id) => idfs[id]!));
      const marked = [...`^${word}$`];
      add(word, weight);
      for (let at = 0; at + 4 <= marked.length; at++) add(`#${marked.slice(at, at + 4).join('')}`, GRAM * weight);
    }
    return unit(sum);
  };
  return (text) =>
    unit([
      ...semantic(text).map((value) => value * Math.sqrt(1 - SHARE * SHARE)),
      ...lexical(text).map((value) => value * SHARE),
    ]);
}

// A small embedder table for tests: NumPy files as the packer reads them, and the file that the packer makes of them.

export const TINY = {
  vocabulary: ['[UNK]', 'wing', '##s', 'e', ','],
  width: 3,
  rows: Int8Array.from([0, 0, 0, 1, -2, 3, -128, 127, 0, 4, 5, 6, -7, -8, -9]),
  scales: Float32Array.from([0, 0.5, 0.25, 2, 1]),
  idfs: Float32Array.from([7, 6, 5, 4, 3]),
} as const;

/** A .npy file of version 1.0, which is the version that NumPy writes. */
function npyOf(type: string, shape: readonly number[], elements: Int8Array | Float32Array): Buffer {
  const header =
    `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`.padEnd(
      117,
    ) + '\n';
  const lead = Buffer.from('\x93NUMPY\x01\x00\0\0', 'latin1');
  lead.writeUInt16LE(header.length, 8);
  return Buffer.concat([lead, Buffer.from(header, 'latin1'), Buffer.from(elements.buffer)]);
}

/**
 * Writes the tables of TINY into a folder, with `vocabulary` in place of TINY's own where given, and returns the
 * folder.
 */
export function writeTinyTables(vocabulary: readonly string[] = TINY.vocabulary): string {
  const folder = tempDirectory();
  const pieces = TINY.vocabulary.length;
  writeFileSync(join(folder, 'vocab.txt'), `${vocabulary.join('\n')}\n`);
  writeFileSync(join(folder, 'tokens-int8.npy'), npyOf('|i1', [pieces, TINY.width], TINY.rows));
  writeFileSync(join(folder, 'scale-f32.npy'), npyOf('<f4', [pieces], TINY.scales));
  writeFileSync(join(folder, 'idf-f32.npy'), npyOf('<f4', [pieces], TINY.idfs));
  return folder;
}

/** Runs the packer; throws with the packer's message where it rejects the tables. */
export function packTables(folder: string): Buffer {
  const out = join(tempDirectory(), 'embedder.bin');
  execFileSync(process.execPath, ['scripts/pack-builtin.mjs', folder, out], { stdio: 'pipe' });
  return readFileSync(out);
}
