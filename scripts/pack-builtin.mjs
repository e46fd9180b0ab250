// Packs the tables of the built-in embedder into the single file that is shipped: node scripts/pack-builtin.mjs DIR OUT
// DIR holds vocab.txt, tokens-int8.npy, scale-f32.npy and idf-f32.npy; OUT is src/embedding/builtin/embedder.bin, which
// is committed, so this runs only when the tables change. src/embedding/builtin/table.ts describes the layout.
import { createHash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKED_START, HEADER_BYTES, MAGIC, OFFSETS, VERSION } from '../dist/src/embedding/builtin/table.js';

const ALIGNMENT_BYTES = 64;

/** Reads a C-ordered NumPy array of the given type: its shape and the bytes of its elements. */
function readNpy(path, type) {
  const file = readFileSync(path);
  const headerEnd = 10 + file.readUInt16LE(8);
  const header = file.toString('latin1', 10, headerEnd);
  const shape = /'shape': \(([\d, ]+)\)/
    .exec(header)?.[1]
    .split(',')
    .filter((part) => part.trim())
    .map(Number);
  const isNpy = file.toString('latin1', 0, 8) === '\x93NUMPY\x01\x00';
  const isTyped = header.includes(`'descr': '${type}'`) && header.includes("'fortran_order': False");
  if (!isNpy || !isTyped || !shape) throw new Error(`${path}: not a version 1.0 .npy file of ${type}`);
  return { shape, bytes: file.subarray(headerEnd) };
}

function readTables(folder) {
  const rows = readNpy(join(folder, 'tokens-int8.npy'), '|i1');
  const scales = readNpy(join(folder, 'scale-f32.npy'), '<f4');
  const idfs = readNpy(join(folder, 'idf-f32.npy'), '<f4');
  const vocabulary = readFileSync(join(folder, 'vocab.txt'), 'utf8').replace(/\n$/, '');
  const [pieces, width] = rows.shape;
  const counts = [scales.shape[0], idfs.shape[0], vocabulary.split('\n').length];
  if (counts.some((count) => count !== pieces))
    throw new Error(`${pieces} rows, but ${counts} scales, idfs and vocabulary entries`);
  return {
    pieces,
    width,
    vocabulary: Buffer.from(vocabulary),
    scales: scales.bytes,
    idfs: idfs.bytes,
    rows: rows.bytes,
  };
}

/**
 * Gives each section an aligned offset after the header. Returns [{ start, bytes }…] and the end of the last section.
 */
function place(sections) {
  let end = HEADER_BYTES;
  const placed = sections.map((bytes) => {
    const start = Math.ceil(end / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    end = start + bytes.length;
    return { start, bytes };
  });
  return { placed, end };
}

function pack({ pieces, width, vocabulary, scales, idfs, rows }) {
  const { placed, end } = place([vocabulary, scales, idfs, rows]);
  const file = Buffer.alloc(end);
  for (const { start, bytes } of placed) bytes.copy(file, start);
  const [vocabularyStart, scalesStart, idfsStart, rowsStart] = placed.map(({ start }) => start);
  const fields = {
    version: VERSION,
    fileBytes: end,
    pieces,
    width,
    vocabularyStart,
    vocabularyBytes: vocabulary.length,
    scalesStart,
    idfsStart,
    rowsStart,
  };
  file.write(MAGIC, OFFSETS.magic, 'latin1');
  for (const [name, value] of Object.entries(fields)) file.writeUInt32LE(value, OFFSETS[name]);
  createHash('sha256').update(file.subarray(CHECKED_START)).digest().copy(file, OFFSETS.sha256);
  return file;
}

const [folder, out] = process.argv.slice(2);
if (!folder || !out) {
  console.error('usage: node scripts/pack-builtin.mjs DIR OUT');
  process.exit(2);
}
const file = pack(readTables(folder));
writeFileSync(`${out}.tmp`, file);
renameSync(`${out}.tmp`, out);
console.log(`${out}: ${file.length} bytes`);
