// Reads an ingest body of type application/json: `{docid?, metadata?, text | vector}`. Batch worker only.
// Called by prepare.ts; a wrong body is an AppError with the code of the contract.
import typia from 'typia';
import type { IngestBody } from '../../src/contract/api/documents.js';
import { AppError, invalidField } from '../../src/contract/errors.js';
import { assertExactNumbers } from '../../src/contract/exact-numbers.js';
import { isWellFormed } from '../../src/contract/ids.js';
import { checkJsonSize } from './json-size.js';
import type { IngestDocument } from './ingest-document.js';

const METADATA: ReadonlySet<string> = new Set(['metadata']);
const validate = typia.createValidateEquals<IngestBody>();

/**
 * Throws AppError `invalid_document_json` for malformed JSON or a wrong shape. `null` counts as absent.
 * `file_unreadable` over `memoryBytesMax`.
 */
export function readJsonDocument(bytes: Uint8Array, memoryBytesMax: number): IngestDocument {
  const json = decoded(bytes, memoryBytesMax);
  return readIngestBody(parse(json), json);
}

/** The same for JSON that has been parsed: an item of a batch, for one. */
export function readIngestBody(value: unknown, json: string): IngestDocument {
  const body = checked(value);
  const { docid, metadata, text, vector } = body;
  if ((text == null) === (vector == null))
    throw new AppError('invalid_document_json', 'Exactly one of `text` and `vector` is wanted.');
  if (text != null && !isWellFormed(text))
    throw new AppError('invalid_document_json', '`text` has a lone surrogate, which is no character.');
  if (vector?.length === 0) throw invalidField(['body', 'vector'], 'a vector has at least one number', 'too_short');
  assertExactNumbers(json, METADATA);
  return { docid: docid ?? '', metadata: metadata ?? {}, text: text ?? undefined, vector: vector ?? undefined };
}

function decoded(bytes: Uint8Array, memoryBytesMax: number): string {
  let json: string;
  try {
    json = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed();
  }
  checkJsonSize(json, memoryBytesMax);
  return json;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw malformed();
  }
}

const malformed = (): AppError => new AppError('invalid_document_json', 'The body is not well-formed JSON in UTF-8.');

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
