// What a file becomes: its chunks as tests compare them, by the way the batch worker goes.
import { kindOfFile } from '../../../src/text/kind.js';
import { cut } from '../../../workers/batch/cut.js';
import { extract } from '../../../workers/batch/extract/extract.js';
import type { CsvOptions } from '../../../src/contract/prepare-messages.js';
import type { Chunking } from '../../../src/contract/resources.js';

export interface ReadOptions {
  csv?: Partial<CsvOptions>;
  chunking?: Chunking;
  textBytesMax?: number;
}

export interface ReadChunk {
  path: string;
  text: string;
  meta: Record<string, unknown>;
}

/** Rejects with AppError as an ingest of the file would. */
export async function read(
  name: string,
  content: string | Uint8Array,
  { csv, chunking, textBytesMax = 2 ** 24 }: ReadOptions = {},
): Promise<ReadChunk[]> {
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : Uint8Array.from(content);
  const kind = kindOfFile(name, '', bytes.subarray(0, 8192));
  if (kind === undefined) throw new Error(`${name} is of no type`);
  const options = {
    csv: { header: 'auto' as const, metaColumns: '', includeColumns: '', ...csv },
    textBytesMax,
    memoryBytesMax: 2 ** 27,
  };
  const chunks = cut(
    await extract(bytes, kind, options),
    chunking ?? { strategy: 'fixed', size: 1000, overlap: 200 },
    {},
  );
  return chunks.map(({ path, text = '', metaJson }) => ({
    path,
    text,
    meta: JSON.parse(metaJson) as Record<string, unknown>,
  }));
}

export const texts = (chunks: ReadChunk[]): string[] => chunks.map(({ text }) => text);
