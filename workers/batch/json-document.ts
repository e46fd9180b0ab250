// Reads an ingest body of type application/json: `{docid?, metadata?, text | vector}`. Batch worker only.
// Called by prepare.ts; a wrong body is an AppError with the code of the contract.
import typia from 'typia';
import type { IngestBody } from '../../src/contract/api/documents.js';
import { AppError, invalidField } from '../../src/contract/errors.js';
import { isWellFormed } from '../../src/contract/ids.js';
import { checkJsonSize } from './json-size.js';
import type { IngestDocument } from './ingest-document.js';

const validate = typia.createValidateEquals<IngestBody>();

/**
 * Throws AppError `invalid_document_json` for malformed JSON or a wrong shape. `null` counts as absent.
 * `file_unreadable` over `memoryBytesMax`.
 */
export function readJsonDocument(bytes: Uint8Array, memoryBytesMax: number): IngestDocument {
  return readIngestBody(parse(bytes, memoryBytesMax));
}

/** The same for JSON that has been parsed: an item of a batch, for one. */
export function readIngestBody(value: unknown): IngestDocument {
  const body = checked(value);
  const { docid, metadata, text, vector } = body;
  if ((text == null) === (vector == null))
    throw new AppError('invalid_document_json', 'Exactly one of `text` and `vector` is wanted.');
  if (text != null && !isWellFormed(text))
    throw new AppError('invalid_document_json', '`text` has a lone surrogate, which is no character.');
  if (vector?.length === 0) throw invalidField(['body', 'vector'], 'a vector has at least one number', 'too_short');
  return { docid: docid ?? '', metadata: metadata ?? {}, text: text ?? undefined, vector: vector ?? undefined };
}

function parse(bytes: Uint8Array, memoryBytesMax: number): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    checkJsonSize(text, memoryBytesMax);
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('invalid_document_json', 'The body is not well-formed JSON in UTF-8.');
  }
}

function checked(value: unknown): IngestBody {
  if (typeof value === 'object' && value !== null && isBad((value as IngestBody).metadata))
    throw new AppError('invalid_metadata');
  const result = validate(value);
  if (result.success) return result.data;
  const [first] = result.errors;
  const field = first?.path.replace(/^\$input\.?/, '') || 'body';
  throw new AppError('invalid_document_json', `\`${field}\` should be ${first?.expected ?? 'of another type'}.`, {
    details: { field },
  });
}

/** Metadata of another type than object has a code of its own. */
const isBad = (metadata: unknown): boolean =>
  metadata != null && (typeof metadata !== 'object' || Array.isArray(metadata));
