// A document from an uploaded file: detects its type and extracts its text. Errors are AppError. Runs in batch workers
// only.
import { readFileSync } from 'node:fs';
import { AppError } from '../api/errors.js';
import { baseNameOf } from '../api/ids.js';
import { assertExactNumbers } from '../api/numbers.js';
import { extract } from './extract.js';
import { SNIFF_BYTES_MAX, kindOfFile } from './file-kind.js';
import type { IngestDocument } from './ingest-document.js';
import type { BatchWorkerStart, UploadedFile } from './messages.js';

/** Throws AppError if the file, its type or its metadata is invalid. */
export async function readFileDocument(body: UploadedFile, limits: BatchWorkerStart): Promise<IngestDocument> {
  const { name, type, docid, metadata, csv, ifVersion, expiresAtS } = body;
  const parsed = parseMetadata(metadata);
  const bytes = 'bytes' in body ? body.bytes : stored(body.path);
  const kind = kindOfFile(name, type, bytes.subarray(0, SNIFF_BYTES_MAX));
  if (kind === undefined) throw new AppError('unsupported_or_invalid_document');
  return {
    docid,
    filename: baseNameOf(name),
    metadata: parsed,
    content: await extract(bytes, kind, { csv, ...limits }),
    ...(ifVersion !== undefined && { ifVersion }),
    ...(expiresAtS !== undefined && { expiresAtS }),
  };
}

/** A failure to read the temporary file is an error of the disk, not of the file's content. */
function stored(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch {
    throw new AppError('storage_failed', 'The uploaded file cannot be read from disk.');
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
