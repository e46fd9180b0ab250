// The records of an archive, documents with their chunks and logged searches: how they are packed into segments and
// unpacked, and the checks of their contents. A record is invalid if no ingest or search could have produced it,
// because an archive may contain anything under valid digests. Pure functions.
import { Packr, Unpackr } from 'msgpackr';
import typia, { type tags } from 'typia';
import { parseFilter } from '../api/filter.js';
import { CONTROL_CHARACTERS, DOCID_BYTES_MAX, asNewDocId, isWellFormed } from '../api/ids.js';
import { CHUNK_SIZE_MAX, DIM_MAX, type K_MAX, METADATA_LEVELS_MAX, TIME_MAX_MS } from '../api/limits.js';
import type { ContentFilter, Fusion, K, Rerank, SearchParams } from '../api/search.js';
import { changedNumber, isDeeperThan } from '../base/json.js';
import { DamagedRecord } from '../storage/damage.js';
import type { LoggedQuery } from '../storage/query-log-commands.js';
import { decodeQuery } from '../storage/query-log-records.js';
import { ArchiveError } from './format.js';

export interface ArchivedChunk {
  path: string & tags.MinLength<1>;
  /** Chunk metadata as JSON text. */
  meta: string;
  /** Absent for chunks of vector documents. */
  text?: string;
}

export interface ArchivedDocument {
  docid: string;
  version: number & tags.Type<'uint32'> & tags.Minimum<1>;
  /** Milliseconds since 1970. */
  ingested_at_ms: number & tags.Type<'uint64'>;
  /** The document's metadata as JSON text. */
  metadata: string;
  priority: number & tags.Minimum<-1> & tags.Maximum<1>;
  /** Seconds since 1970; absent if the document does not expire. */
  expires_at_s?: number & tags.Type<'uint32'> & tags.Minimum<1>;
  chunks: ArchivedChunk[] & tags.MinItems<1>;
  /** Float32, little-endian, one row for each chunk. */
  vectors: Uint8Array;
}

/** `record` is a logged search in the server's own encoding. */
export interface ArchivedQuery {
  id: Uint8Array;
  record: Uint8Array;
}

/** Copies the numbers out of the bytes, which are not aligned in a segment. */
export function vectorsOf(bytes: Uint8Array): Float32Array {
  return new Float32Array(new Uint8Array(bytes).buffer);
}

/** The limits that the collection and this server set for documents. */
export interface DocumentRules {
  dim: number;
  /** False in a collection of vectors only. */
  takesTexts: boolean;
  /** The limits of an ingest: for the caller's fields of a document, and for the fields of a chunk. */
  metadataBytesMax: number;
}

const PATH_CHARACTERS_MAX = 512;
/** The size of fields that the server adds: the id and time of a document, and what an embedder adds to a chunk. */
const OWN_FIELDS_BYTES = 4096;
/** Tolerance for times without milliseconds, from servers whose archives are imported. */
const TIME_ROUNDED_MS = 1000;

type Json = Record<string, unknown>;

/** What is wrong with a document, as the end of a sentence that begins with the document; undefined if it is valid. */
export function problemOfDocument(document: ArchivedDocument, rules: DocumentRules): string | undefined {
  const { docid, ingested_at_ms: timeMs, chunks, vectors } = document;
  if (!isDocId(docid)) return 'its id is invalid';
  if (timeMs > TIME_MAX_MS) return 'its time is invalid';
  const ofMetadata = problemOfMetadata(document, rules.metadataBytesMax);
  if (ofMetadata !== undefined) return ofMetadata;
  if (vectors.length !== chunks.length * rules.dim * 4)
    return `${chunks.length} chunks of ${rules.dim} dimensions have ${vectors.length} bytes of vectors`;
  if (new Set(chunks.map(({ path }) => path)).size !== chunks.length) return 'two of its chunks have the same path';
  for (const chunk of chunks) {
    const why = problemOfChunk(chunk, rules);
    if (why !== undefined) return why;
  }
  return problemOfVectors(vectorsOf(vectors), chunks, rules.dim);
}

function isDocId(docid: string): boolean {
  try {
    return asNewDocId(docid) === docid;
  } catch {
    return false;
  }
}

function problemOfMetadata(
  { docid, ingested_at_ms: timeMs, metadata: json }: ArchivedDocument,
  bytesMax: number,
): string | undefined {
  const metadata = parsedFields(json, 2 * bytesMax + OWN_FIELDS_BYTES);
  if (typeof metadata === 'string') return `its metadata ${metadata}`;
  const { docid: ownDocid, ingested_at: ownTime, filename, ...fields } = metadata;
  if (ownDocid !== undefined && ownDocid !== docid) return 'its metadata has a different docid';
  if (ownTime !== undefined && !(Math.abs(Date.parse(String(ownTime)) - timeMs) <= TIME_ROUNDED_MS))
    return 'its metadata has a different ingested_at';
  return [fields, filename].some((part) => bytesOf(part) > bytesMax)
    ? `its metadata has more than ${bytesMax} bytes of JSON`
    : undefined;
}

function problemOfChunk(
  { path, meta, text }: ArchivedChunk,
  { takesTexts, metadataBytesMax }: DocumentRules,
): string | undefined {
  if (path.length > PATH_CHARACTERS_MAX || path.includes('::') || CONTROL_CHARACTERS.test(path) || !isWellFormed(path))
    return 'the path of a chunk is invalid';
  const fields = parsedFields(meta, metadataBytesMax + OWN_FIELDS_BYTES);
  if (typeof fields === 'string') return `metadata of a chunk ${fields}`;
  if (text === undefined) return undefined;
  if (!takesTexts) return 'a chunk has a text, but the collection holds vectors only';
  return isTooLong(text) ? `a chunk has more than ${CHUNK_SIZE_MAX} characters` : undefined;
}

/** The fields of a JSON object that may be stored, or what is wrong with it as the end of a sentence. */
function parsedFields(json: string, bytesMax: number): Json | string {
  if (Buffer.byteLength(json) > bytesMax) return `has more than ${bytesMax} bytes of JSON`;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return 'is not JSON';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is not a JSON object';
  if (isDeeperThan(METADATA_LEVELS_MAX, value)) return `has more than ${METADATA_LEVELS_MAX} levels`;
  return changedNumber(json) === undefined ? (value as Json) : 'has a number that a 64-bit float cannot represent';
}

const bytesOf = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

const isTooLong = (text: string): boolean =>
  text.length > 2 * CHUNK_SIZE_MAX || (text.length > CHUNK_SIZE_MAX && [...text].length > CHUNK_SIZE_MAX);

/** An embedder may have produced a zero vector; a caller may not supply one. */
function problemOfVectors(vectors: Float32Array, chunks: readonly ArchivedChunk[], dim: number): string | undefined {
  if (!vectors.every(Number.isFinite)) return 'a vector is not finite';
  const isZero = (row: number): boolean => vectors.subarray(row * dim, (row + 1) * dim).every((value) => value === 0);
  return chunks.some(({ text }, row) => text === undefined && isZero(row)) ? 'a vector is zero' : undefined;
}

// A segment is a sequence of records in msgpack. Documents are checked when a segment is unpacked.

/** The size at which a segment is full. A larger document has a segment of its own. */
export const SEGMENT_BYTES = 4 * 1024 * 1024;
/** The size from which on a segment may end, and how much more it has on average. */
export const SEGMENT_BYTES_MIN = 512 * 1024;
export const SEGMENT_BYTES_MORE = 1024 * 1024;
/** The maximum size of a segment that is read, which is large enough for the largest document with its vectors. */
export const SEGMENT_BYTES_MAX = 2 ** 31 - 1;

const packr = new Packr({ useRecords: false });
const unpackr = new Unpackr({ useRecords: false });
const isDocument = typia.createIs<ArchivedDocument>();
const isQuery = typia.createIs<ArchivedQuery>();

export const packDocument = (document: ArchivedDocument): Buffer => packr.pack(document);
export const packQuery = (query: ArchivedQuery): Buffer => packr.pack(query);

/** Unpacks and checks the documents of a segment. Their vectors are views of `bytes`. Throws `ArchiveError`. */
export function unpackDocuments(bytes: Uint8Array, rules: DocumentRules): ArchivedDocument[] {
  return unpacked(bytes).map((value, place) => {
    const why = !isDocument(value) ? 'it has a wrong shape' : problemOfDocument(value, rules);
    if (why !== undefined)
      throw new ArchiveError('document_invalid', `A document (${nameOf(value, place)}) is invalid: ${why}.`);
    return value as ArchivedDocument;
  });
}

/** The id of a document if it has a usable one, else its place. */
function nameOf(value: unknown, place: number): string {
  const docid: unknown = (value as { docid?: unknown } | null)?.docid;
  return typeof docid === 'string' && docid !== '' && docid.length <= DOCID_BYTES_MAX
    ? docid
    : `${place} of its segment`;
}

/** Unpacks the logged searches of a segment. Their records are checked by `problemOfRecord`. Throws `ArchiveError`. */
export function unpackQueries(bytes: Uint8Array): ArchivedQuery[] {
  return unpacked(bytes).map((value) => {
    if (!isQuery(value) || !isUuid7(value.id))
      throw new ArchiveError('query_invalid', 'A logged search has a wrong shape.');
    return value;
  });
}

/** True for a UUIDv7. The query log orders its entries by the time in their ids. */
const isUuid7 = (id: Uint8Array): boolean =>
  id.length === 16 && (id[6] as number) >> 4 === 7 && (id[8] as number) >> 6 === 2;

function unpacked(bytes: Uint8Array): unknown[] {
  try {
    return unpackr.unpackMultiple(bytes as Buffer) as unknown[];
  } catch {
    throw new ArchiveError('document_invalid', 'A segment is not valid msgpack.');
  }
}

/** The parameters of a search, as a log entry has them. */
interface Asked {
  k: K;
  replayOf: '' | (string & tags.Format<'uuid'>);
  requestId: string & tags.Pattern<'^[!-~]{0,128}$'>;
  actor: string & tags.MaxLength<1024>;
  latencyMs: number & tags.Minimum<0>;
  resultIds: (string & tags.MaxLength<2048>)[] & tags.MaxItems<typeof K_MAX>;
  rest: SearchParams & {
    content_filter?: ContentFilter;
    rerank?: Rerank;
    fusion?: Fusion;
    common_tenant?: string & tags.MaxLength<128>;
    common_collection?: string & tags.MaxLength<128>;
    sampled?: number & tags.Type<'uint32'>;
  };
}

const isAsked = typia.createIs<Asked>();

/**
 * What is wrong with a logged search, as the end of a sentence that begins with the search; undefined if it is valid.
 * It is invalid if no search could have produced it, since it will be listed, shown and replayed as a search.
 */
export function problemOfQuery(query: LoggedQuery): string | undefined {
  if (!isAsked(query)) return 'no search has these parameters';
  const { vector, rest } = query;
  if (vector && (vector.length > DIM_MAX || !vector.every(Number.isFinite))) return 'its vector is invalid';
  for (const filters of [rest.filters, rest.embedded_filters])
    if (filters && !areFilters(filters)) return 'its filters are invalid';
  return undefined;
}

function areFilters(filters: Readonly<Record<string, unknown>>): boolean {
  try {
    parseFilter(filters, { stringOperators: false });
    return changedNumber(JSON.stringify(filters)) === undefined;
  } catch {
    return false;
  }
}

/**
 * What is wrong with the record of a logged search, before it goes into an archive and after it comes out of one. The
 * end of a sentence that begins with the search; undefined if it is valid.
 */
export function problemOfRecord({ buffer, byteOffset, byteLength }: Uint8Array): string | undefined {
  try {
    return problemOfQuery(decodeQuery(Buffer.from(buffer, byteOffset, byteLength)));
  } catch (error) {
    if (error instanceof DamagedRecord) return `it does not decode: ${error.message}`;
    throw error;
  }
}
