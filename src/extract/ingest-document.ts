// Reads an ingest body of type application/json: `{docid?, metadata?, text | vector}`. Batch worker only.
// Called by prepare.ts; a wrong body is an AppError with the code of the contract.
import typia, { TypeGuardError } from 'typia';
import type { IngestBody } from '../../src/contract/api/documents.js';
import { AppError, invalidField } from '../../src/contract/errors.js';
import { assertExactNumbers } from '../../src/contract/exact-numbers.js';
import { isWellFormed } from '../../src/contract/ids.js';
import type { IngestDocument } from './ingest-document.js';
import { checkIngestShape } from './ingest-shape.js';

const METADATA: ReadonlySet<string> = new Set(['metadata']);
/** Ends at the first thing that does not fit, however many there are. */
const assertBody: (value: unknown) => IngestBody = typia.createAssertEquals<IngestBody>();

/** Of a field that the caller has made up, as it is told back. */
const FIELD_CHARACTERS_MAX = 100;

/**
 * Throws AppError `invalid_document_json` for malformed JSON or a wrong shape. `null` counts as absent.
 * Other codes for more metadata than `metadataBytesMax` can hold.
 */
export function readJsonDocument(bytes: Uint8Array, metadataBytesMax: number): IngestDocument {
  const json = decoded(bytes);
  checkIngestShape(json, metadataBytesMax);
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

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw malformed();
  }
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
  try {
    return assertBody(value);
  } catch (error) {
    if (!(error instanceof TypeGuardError)) throw error;
    const field = (error.path ?? '').replace(/^\$input\.?/, '').slice(0, FIELD_CHARACTERS_MAX) || 'body';
    throw new AppError('invalid_document_json', `\`${field}\` should be ${error.expected}.`, { details: { field } });
  }
}

/** Metadata of another type than object has a code of its own. */
const isBad = (metadata: unknown): boolean =>
  metadata != null && (typeof metadata !== 'object' || Array.isArray(metadata));
