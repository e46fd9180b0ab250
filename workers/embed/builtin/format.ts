// The layout of embedder.bin as plain constants, and the error for a file that breaks it. The table with meanings is in
// README.md beside this file; scripts/pack-builtin.mjs writes the file, open-table.ts reads it. Any thread.

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

export const SHA256_BYTES = 32;
export const HEADER_BYTES = 128;
/** The checksum covers everything after itself. */
export const CHECKED_START = OFFSETS.sha256 + SHA256_BYTES;

/** Which promise of the format the bytes break. */
export type EmbedderFileFault = 'length' | 'magic' | 'version' | 'checksum' | 'layout';

export class EmbedderFileError extends Error {
  override readonly name = 'EmbedderFileError';
  constructor(
    readonly fault: EmbedderFileFault,
    message: string,
  ) {
    super(`embedder.bin: ${message}`);
  }
}
