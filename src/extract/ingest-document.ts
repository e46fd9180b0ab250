// Reads the body of an ingest, whatever kind it is: application/json, `{docid?, metadata?, text | vector}`, or a
// multipart file, whose type is decided and whose text is taken out here. Checks what it says, and makes the metadata
// that is stored. A wrong body is an AppError. Batch worker only.
import { readFileSync } from 'node:fs';
import typia, { TypeGuardError } from 'typia';
import type { IngestBody } from '../api/documents.js';
import { AppError, invalidField } from '../api/errors.js';
import { type DocId, baseNameOf, isWellFormed } from '../api/ids.js';
import { DIM_MAX, METADATA_LEVELS_MAX } from '../api/limits.js';
import { assertExactNumbers } from '../api/numbers.js';
import { isDeeperThan } from '../base/json.js';
import { extract } from './extract.js';
import type { Extracted } from './extracted.js';
import { SNIFF_BYTES_MAX, kindOfFile } from './file-kind.js';
import type { BatchWorkerStart, UploadedFile } from './messages.js';

/** What an ingest body says once it is read. Exactly one of `text`, `content` and `vector` is there. */
export interface IngestDocument {
  docid?: string;
  filename?: string;
  metadata: Record<string, unknown>;
  text?: string;
  /** What was taken out of a file. */
  content?: Extracted;
  vector?: number[];
}

/** Those of the document itself, each given twice. */
const FIELDS_MAX = 8;
/** The least that a name or a value takes of the JSON that metadata is measured by: `"":0,` and `0,`. */
const NAME_BYTES = 5;
const VALUE_BYTES = 2;

/**
 * Looks at how much JSON an ingest holds beside its text before it is parsed: parsing what no document can have would
 * hold the thread for others. What is no JSON is left to the parser. Throws AppError `invalid_document_json` for more
 * fields than a document has or more values than a vector and metadata of `metadataBytesMax` can have,
 * `metadata_too_large` and `invalid_metadata` for more names or levels in it.
 */
export function checkIngestShape(text: string, metadataBytesMax: number): void {
  const valuesMax = DIM_MAX + metadataBytesMax / VALUE_BYTES;
  if (text.length < FIELDS_MAX) return;
  let [fields, names, values, level] = [0, 0, 1, 0];
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === ',') {
      if (++values > valuesMax) throw tooManyValues(valuesMax);
    } else if (character === ':') {
      if (level === 1 && ++fields > FIELDS_MAX) throw tooManyFields();
      if (level > 1 && ++names > metadataBytesMax / NAME_BYTES)
        throw new AppError('metadata_too_large', `Metadata has at most ${metadataBytesMax} bytes of JSON.`);
    } else if (character === '{' || character === '[') {
      // The document, and its metadata itself, are a level each.
      if (++level > METADATA_LEVELS_MAX + 2)
        throw new AppError('invalid_metadata', `Metadata has at most ${METADATA_LEVELS_MAX} levels.`);
    } else if (character === '}' || character === ']') level--;
  }
}

/** The closing quote of the string that begins at `start`, or the end of the text. */
function stringEnd(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes++;
    if (backslashes % 2 === 0) return quote;
  }
  return text.length;
}

const tooManyFields = (): AppError =>
  new AppError(
    'invalid_document_json',
    'A document has the fields `docid`, `metadata`, `text` and `vector`, and no others.',
  );

const tooManyValues = (valuesMax: number): AppError =>
  new AppError('invalid_document_json', `The JSON of a document has at most ${valuesMax} values.`);

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

/**
 * The metadata stored with a document: docid, filename (files) and ingested_at, then the caller's keys as they were
 * given. Throws AppError `invalid_metadata` for too many levels, `invalid_metadata_keys` where the caller contradicts
 * us, `metadata_too_large` over the bound.
 */
export function documentMetadata(
  input: IngestDocument,
  docid: DocId,
  nowMs: number,
  bytesMax: number,
): Record<string, unknown> {
  const { metadata, filename } = input;
  if (isDeeperThan(METADATA_LEVELS_MAX, metadata))
    throw new AppError('invalid_metadata', `Metadata has at most ${METADATA_LEVELS_MAX} levels.`);
  if (Buffer.byteLength(JSON.stringify(metadata)) > bytesMax) {
    throw new AppError('metadata_too_large', `Metadata has at most ${bytesMax} bytes of JSON.`);
  }
  const ours: Record<string, unknown> = {
    docid,
    ...(filename === undefined ? {} : { filename }),
    ingested_at: new Date(nowMs).toISOString(),
  };
  const contradicted = (['docid', 'ingested_at'] as const).filter(
    (key) => Object.hasOwn(metadata, key) && metadata[key] !== ours[key],
  );
  if (contradicted.length > 0) {
    throw new AppError('invalid_metadata_keys', `These metadata keys are the server's: ${contradicted.join(', ')}.`, {
      details: { keys: contradicted },
    });
  }
  return { ...ours, ...metadata };
}
