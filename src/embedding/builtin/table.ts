// The layout of embedder.bin and its loader. The loader makes all checks, so that the embedding loops need none.
// docs/internals/embedding.md describes the format; scripts/pack-builtin.mjs writes the file.
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

export const MAGIC = 'SHEAFEMB';
export const VERSION = 1;

/** Byte offsets of the header fields; all numbers are little-endian uint32. */
export const OFFSETS = {
  magic: 0,
  version: 8,
  fileBytes: 12,
  sha256: 16,
  pieces: 48,
  width: 52,
  vocabularyStart: 56,
  vocabularyBytes: 60,
  scalesStart: 64,
  idfsStart: 68,
  rowsStart: 72,
} as const;

const SHA256_BYTES = 32;
export const HEADER_BYTES = 128;
/** The checksum covers everything after itself. */
export const CHECKED_START = OFFSETS.sha256 + SHA256_BYTES;

/**
 * The packed file beside this module, in memory that can be shared with other threads, so that a process has its 8 MB
 * once. Blocks. Throws the error of `node:fs`.
 */
export function readEmbedderFile(): Uint8Array {
  const file = openSync(new URL('./embedder.bin', import.meta.url), 'r');
  try {
    const bytes = new Uint8Array(new SharedArrayBuffer(fstatSync(file).size));
    for (let at = 0, read = -1; at < bytes.length && read !== 0; at += read)
      read = readSync(file, bytes, at, bytes.length - at, null);
    return bytes;
  } finally {
    closeSync(file);
  }
}

/** The property of the format that a file violates. */
export type EmbedderFileProblem = 'length' | 'magic' | 'version' | 'checksum' | 'layout';

export class EmbedderFileError extends Error {
  override readonly name = 'EmbedderFileError';
  constructor(
    readonly problem: EmbedderFileProblem,
    message: string,
  ) {
    super(`embedder.bin: ${message}`);
  }
}

export interface EmbedderTable {
  /** WordPiece vocabulary; a piece's id is its index. */
  readonly vocabulary: readonly string[];
  /** Numbers per token row. */
  readonly width: number;
  /** pieces x width: row `id` starts at `id * width` and is scaled by `scales[id]`. */
  readonly rows: Int8Array;
  readonly scales: Float32Array;
  /** ln((N + 1) / (df + 1)) of each piece over the training sentences. */
  readonly idfs: Float32Array;
}

/**
 * Opens the table. Token rows stay a view of `bytes`; the rest is copied. Throws EmbedderFileError, whose `fault` is
 * the violated property.
 */
export function openEmbedderTable(bytes: Uint8Array): EmbedderTable {
  check(
    bytes.byteLength >= HEADER_BYTES,
    'length',
    `${bytes.byteLength} bytes are less than the header of ${HEADER_BYTES}`,
  );
  const header = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  const field = (name: keyof typeof OFFSETS): number => header.getUint32(OFFSETS[name], true);
  checkEnvelope(bytes, field('version'), field('fileBytes'));

  const [pieces, width] = [field('pieces'), field('width')];
  const section = (name: string, start: number, length: number): Uint8Array => {
    check(
      start >= HEADER_BYTES && start + length <= bytes.byteLength,
      'layout',
      `${name} [${start}, +${length}) lies outside the file`,
    );
    return bytes.subarray(start, start + length);
  };
  const rows = section('rows', field('rowsStart'), pieces * width);
  const vocabulary = decodeLines(section('vocabulary', field('vocabularyStart'), field('vocabularyBytes')));
  check(vocabulary.length === pieces, 'layout', `${vocabulary.length} vocabulary entries for ${pieces} pieces`);
  return {
    vocabulary,
    width,
    rows: new Int8Array(rows.buffer, rows.byteOffset, rows.byteLength),
    scales: decodeFloats(section('scales', field('scalesStart'), pieces * 4)),
    idfs: decodeFloats(section('idfs', field('idfsStart'), pieces * 4)),
  };
}

function checkEnvelope(bytes: Uint8Array, version: number, fileBytes: number): void {
  const magic = decodeText(bytes.subarray(OFFSETS.magic, OFFSETS.version));
  check(magic === MAGIC, 'magic', `starts with ${JSON.stringify(magic)}, not ${MAGIC}`);
  check(version === VERSION, 'version', `is of version ${version}; this program reads version ${VERSION}`);
  check(fileBytes === bytes.byteLength, 'length', `has ${bytes.byteLength} bytes; its header says ${fileBytes}`);
  const stored = Buffer.from(bytes.subarray(OFFSETS.sha256, OFFSETS.sha256 + SHA256_BYTES));
  const actual = createHash('sha256').update(bytes.subarray(CHECKED_START)).digest();
  check(stored.equals(actual), 'checksum', 'its bytes do not match its checksum');
}

function check(condition: boolean, problem: EmbedderFileProblem, message: string): void {
  if (!condition) throw new EmbedderFileError(problem, message);
}

// The decoders copy first: the bytes may be shared memory, which TextDecoder rejects, and floats require alignment.
// (`slice()` would not do, because that of a Buffer is a view.)
function decodeText(bytes: Uint8Array): string {
  return new TextDecoder().decode(new Uint8Array(bytes));
}

function decodeLines(bytes: Uint8Array): string[] {
  return bytes.byteLength === 0 ? [] : decodeText(bytes).split('\n');
}

function decodeFloats(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}
