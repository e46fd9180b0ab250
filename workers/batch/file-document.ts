// Reads an ingest body that came as a multipart file: decides its type, has its text taken out, parses the form's
// metadata. Batch worker only.
import { readFileSync } from 'node:fs';
import { AppError } from '../../src/contract/errors.js';
import { assertExactNumbers } from '../../src/contract/exact-numbers.js';
import { baseNameOf } from '../../src/contract/ids.js';
import type { BatchWorkerStart, UploadedFile } from '../../src/contract/prepare-messages.js';
import { kindOfFile } from '../../src/text/kind.js';
import { SNIFF_BYTES_MAX } from '../../src/text/sniff.js';
import { extract } from './extract/extract.js';
import type { IngestDocument } from './ingest-document.js';

/** Throws AppError with the code of what is wrong with the file, its type or its metadata. */
export async function readFileDocument(body: UploadedFile, limits: BatchWorkerStart): Promise<IngestDocument> {
  const { name, type, docid, metadata, csv } = body;
  const parsed = parseMetadata(metadata);
  const bytes = 'bytes' in body ? body.bytes : stored(body.path);
  const kind = kindOfFile(name, type, bytes.subarray(0, SNIFF_BYTES_MAX));
  if (kind === undefined) throw new AppError('unsupported_or_invalid_document');
  return {
    docid,
    filename: baseNameOf(name),
    metadata: parsed,
    content: await extract(bytes, kind, { csv, ...limits }),
  };
}

/** A disk that does not give it back says nothing of the file. */
function stored(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    throw new AppError('storage_failed', 'The disk does not give back what was uploaded.');
  }
}

function parseMetadata(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AppError('invalid_metadata_json');
  }
  assertExactNumbers(text);
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw new AppError('invalid_metadata');
  return value as Record<string, unknown>;
}
