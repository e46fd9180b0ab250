// Vectors that took a model minutes, kept in the temporary folder from one load program to the next: a file for each
// embedder and list of texts, float32 rows one after another. Used by load/embed-quality.ts,
// embedded-sets.ts and kept-embedder.ts.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

const FOLDER = `${tmpdir()}/sheaf-load-vectors`;

/** The kept rows of the texts, or undefined where the embedder has not yet embedded just these. */
export function keptRows(embedder: string, texts: readonly string[]): Float32Array[] | undefined {
  const file = fileOf(embedder, texts);
  if (!existsSync(file)) return undefined;
  const bytes = readFileSync(file);
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const width = all.length / texts.length;
  return texts.map((_, i) => all.subarray(i * width, (i + 1) * width));
}

/** Keeps the rows for the next program, and gives them back. */
export function keepRows(embedder: string, texts: readonly string[], rows: Float32Array[]): Float32Array[] {
  const file = fileOf(embedder, texts);
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(
    `${file}.new`,
    Buffer.concat(rows.map((row) => Buffer.from(row.buffer, row.byteOffset, row.byteLength))),
  );
  renameSync(`${file}.new`, file);
  return rows;
}

function fileOf(embedder: string, texts: readonly string[]): string {
  return `${FOLDER}/${embedder}-${createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 16)}.f32`;
}
