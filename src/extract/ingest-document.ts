// Parses and validates the body of an ingest, `{docid?, metadata?, text | vector}` in JSON or MessagePack, and builds the
// metadata to store. Errors are AppError. Pure; any thread.
import typia, { TypeGuardError } from 'typia';
import type { IngestBody } from '../api/documents.js';
import { AppError, invalidField } from '../api/errors.js';
import { type DocId, isWellFormed } from '../api/ids.js';
import { DIM_MAX, METADATA_LEVELS_MAX } from '../api/limits.js';
import { readMsgpack } from '../api/msgpack.js';
import { assertExactNumbers, expirySecond, vectorOfBase64 } from '../api/numbers.js';
import { hasNumber, isDeeperThan } from '../base/json.js';
import type { Extracted } from './extracted.js';

/** A parsed ingest body. Exactly one of `text`, `content` and `vector` is set. */
export interface IngestDocument {
  docid?: string;
  filename?: string;
  metadata: Record<string, unknown>;
  /** The version that the stored document must have, 0 for none. */
  ifVersion?: number;
  /** The second from which on the document is gone; 0: never; absent: as the collection has it. */
  expiresAtS?: number;
  text?: string;
  /** The content extracted from a file. */
  content?: Extracted;
  vector?: number[] | Float32Array;
}

/** Maximum number of top-level fields: each known one, twice. */
const FIELDS_MAX = 14;
/** Minimum JSON size of a named value, `"":0,`, and of a value, `0,`, in the metadata. */
const NAME_BYTES = 5;
const VALUE_BYTES = 2;

/**
 * Scans the JSON of an ingest before it is parsed, because parsing a body that exceeds the limits would block the
 * thread for others. Invalid JSON is left to the parser. Throws AppError `invalid_document_json` for more fields than a
 * document has, or more values than a vector and metadata of `metadataBytesMax` bytes can have; `metadata_too_large`
 * for too many names in the metadata; and `invalid_metadata` for too many levels.
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
        throw new AppError('metadata_too_large', `Metadata must have at most ${metadataBytesMax} bytes of JSON.`);
    } else if (character === '{' || character === '[') {
      // The document and the metadata object are one level each.
      if (++level > METADATA_LEVELS_MAX + 2)
        throw new AppError('invalid_metadata', `Metadata must have at most ${METADATA_LEVELS_MAX} levels.`);
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
    'A document has the fields `docid`, `metadata`, `text`, `vector`, `v_base64`, `if_version` and `expires_at`, and no others.',
  );

const tooManyValues = (valuesMax: number): AppError =>
  new AppError('invalid_document_json', `The JSON of a document must have at most ${valuesMax} values.`);

const METADATA: ReadonlySet<string> = new Set(['metadata']);
/** Stops at the first error, so the cost does not depend on the number of errors. */
const assertBody: (value: unknown) => IngestBody = typia.createAssertEquals<IngestBody>();

/** Length to which an unknown field name is cut in an error. */
const FIELD_CHARACTERS_MAX = 100;

/**
 * Throws AppError `invalid_document_json` for malformed JSON or a wrong shape, and other codes for metadata that cannot
 * fit into `metadataBytesMax`. null counts as absent.
 */
export function readJsonDocument(bytes: Uint8Array, metadataBytesMax: number): IngestDocument {
  const json = decoded(bytes);
  checkIngestShape(json, metadataBytesMax);
  return readIngestBody(parse(json), json);
}

/** The same for MessagePack; malformed MessagePack is `invalid_msgpack`. */
export function readMsgpackDocument(bytes: Uint8Array, metadataBytesMax: number): IngestDocument {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return readIngestBody(readMsgpackValue(body, metadataBytesMax), '');
}

/** The value of a document in MessagePack, with the bounds of one in JSON. Throws as `readMsgpack` does. */
export function readMsgpackValue(bytes: Buffer, metadataBytesMax: number): unknown {
  const shape = {
    namesMax: Math.floor(metadataBytesMax / NAME_BYTES) + FIELDS_MAX,
    valuesMax: DIM_MAX + Math.floor(metadataBytesMax / VALUE_BYTES),
    levelsMax: METADATA_LEVELS_MAX + 2,
  };
  return readMsgpack(bytes, shape, 'vector');
}

/** Validates a parsed document, such as an item of a batch; `json` is its text, and '' for MessagePack. */
export function readIngestBody(value: unknown, json: string): IngestDocument {
  const { packed, rest } = withoutPacked(value);
  const { docid, metadata, text, vector: numbers, v_base64: base64, if_version: ifVersion, expires_at } = checked(rest);
  if ([text, numbers, base64, packed].filter((given) => given != null).length !== 1)
    throw new AppError('invalid_document_json', 'Provide exactly one of `text`, `vector` and `v_base64`.');
  const vector = base64 == null ? (packed ?? numbers) : vectorOfBase64(base64, ['body', 'v_base64']);
  if (text != null && !isWellFormed(text))
    throw new AppError('invalid_document_json', '`text` contains a lone surrogate, which is not a character.');
  if (vector?.length === 0)
    throw invalidField(['body', 'vector'], 'The vector must have at least one number.', 'too_short');
  // The check reads the whole text, most of which is the vector's.
  if (hasNumber(metadata)) assertExactNumbers(json, METADATA);
  return {
    docid: docid ?? '',
    metadata: metadata ?? {},
    text: text ?? undefined,
    vector: vector ?? undefined,
    ...(ifVersion != null && { ifVersion }),
    ...(expires_at != null && { expiresAtS: expirySecond(expires_at) }),
  };
}

/** A vector that came as bytes, and the document without it, which is checked as one in JSON is. */
function withoutPacked(value: unknown): { packed?: Float32Array; rest: unknown } {
  const { vector } = (value ?? {}) as { vector?: unknown };
  if (!(vector instanceof Float32Array)) return { rest: value };
  return { packed: vector, rest: { ...(value as object), vector: null } };
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

/** Metadata that is not an object has an error code of its own. */
const isBad = (metadata: unknown): boolean =>
  metadata != null && (typeof metadata !== 'object' || Array.isArray(metadata));

/**
 * The metadata to store: docid, filename (for files) and ingested_at, then the caller's keys unchanged. Throws AppError
 * `invalid_metadata` for too many levels, `invalid_metadata_keys` if the caller's values contradict the server's, and
 * `metadata_too_large` over the limit.
 */
export function documentMetadata(
  input: IngestDocument,
  docid: DocId,
  nowMs: number,
  bytesMax: number,
): Record<string, unknown> {
  const { metadata, filename } = input;
  if (isDeeperThan(METADATA_LEVELS_MAX, metadata))
    throw new AppError('invalid_metadata', `Metadata must have at most ${METADATA_LEVELS_MAX} levels.`);
  if (Buffer.byteLength(JSON.stringify(metadata)) > bytesMax) {
    throw new AppError('metadata_too_large', `Metadata must have at most ${bytesMax} bytes of JSON.`);
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
    throw new AppError(
      'invalid_metadata_keys',
      `These metadata keys are reserved for the server: ${contradicted.join(', ')}.`,
      {
        details: { keys: contradicted },
      },
    );
  }
  return { ...ours, ...metadata };
}
