// Reads an ingest body that came as a multipart file: decides its type, decodes its text, parses the form's metadata.
// Batch worker only.
import { readFileSync } from 'node:fs';
import { extname } from 'node:path/posix';
import { AppError } from '../../src/contract/errors.js';
import type { PrepareRequest } from '../../src/contract/messages.js';
import { decodeText } from '../../src/text/decode.js';
import { looksBinary, SNIFF_BYTES_MAX } from '../../src/text/sniff.js';
import type { IngestDocument } from './ingest-document.js';

type FileBody = Extract<PrepareRequest['body'], { kind: 'file' }>;

/** Types of the contract that want a parser; they come with the issue of the file types, and are no plain text till then. */
const PARSED_EXTENSIONS: ReadonlySet<string> = new Set(['.html', '.htm', '.csv', '.tsv', '.json', '.jsonl', '.pdf', '.docx', '.pptx', '.xlsx', '.odt', '.epub', '.eml']);
/** Their media types, for files without a telling extension. */
const PARSED_TYPES = /^(text\/(html|csv|tab-separated-values)|application\/(json|pdf|epub\+zip|vnd\.|msword)|message\/rfc822)/;
const PLAIN_EXTENSIONS: ReadonlySet<string> = new Set(['.txt', '.md']);

export function readFileDocument(body: FileBody): IngestDocument {
  const { name, type, docid, metadata } = body;
  const bytes = 'bytes' in body ? body.bytes : readFileSync(body.path);
  const parsed = parseMetadata(metadata);
  if (!isPlainText(bytes, name, type)) throw new AppError('unsupported_or_invalid_document', 'Files other than plain text and Markdown are not supported.');
  return { docid, filename: name, metadata: parsed, text: decodeText(bytes) };
}

/** By extension, then by declared type; a file that neither names is what its content looks like. Binary bytes never are text. */
function isPlainText(bytes: Uint8Array, name: string, type: string): boolean {
  const extension = extname(name).toLowerCase();
  if (looksBinary(bytes.subarray(0, SNIFF_BYTES_MAX)) || PARSED_EXTENSIONS.has(extension)) return false;
  const declared = (type.split(';')[0] ?? '').trim().toLowerCase();
  return PLAIN_EXTENSIONS.has(extension) || !PARSED_TYPES.test(declared);
}

function parseMetadata(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new AppError('invalid_metadata_json');
  }
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw new AppError('invalid_metadata');
  return value as Record<string, unknown>;
}
