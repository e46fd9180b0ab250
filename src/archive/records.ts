// What is wrong with a document of an archive: whatever an ingest would have refused, for whoever wrote the archive may
// have written anything, with digests that fit. Pure; used where segments are read.
import { changedNumber } from '../base/exact-numbers.js';
import { isDeeperThan } from '../base/levels.js';
import { asNewDocId, CONTROL_CHARACTERS, isWellFormed } from '../contract/ids.js';
import { CHUNK_SIZE_MAX, METADATA_LEVELS_MAX, TIME_MAX_MS } from '../contract/limits.js';
import { vectorsOf, type ArchivedChunk, type ArchivedDocument } from './archived-records.js';

/** What the collection, and this server, allow. */
export interface DocumentRules {
  dim: number;
  /** False in a collection of vectors alone. */
  takesTexts: boolean;
  /** As of an ingest: of the caller's fields of a document, and of the fields of a chunk. */
  metadataBytesMax: number;
}

const PATH_CHARACTERS_MAX = 512;
/** The id of a document and its time, and what an embedder says of a chunk. */
const OWN_FIELDS_BYTES = 4096;
/** Servers that this one imports from tell times without milliseconds. */
const TIME_ROUNDED_MS = 1000;

type Json = Record<string, unknown>;

/** The end of a sentence that begins with the document; undefined where nothing is wrong. */
export function faultOfDocument(document: ArchivedDocument, rules: DocumentRules): string | undefined {
  const { docid, ingested_at_ms: timeMs, chunks, vectors } = document;
  if (!isDocId(docid)) return 'its id is none';
  if (timeMs > TIME_MAX_MS) return 'its time is none';
  const ofMetadata = faultOfMetadata(document, rules.metadataBytesMax);
  if (ofMetadata !== undefined) return ofMetadata;
  if (vectors.length !== chunks.length * rules.dim * 4)
    return `${chunks.length} chunks of ${rules.dim} dimensions have ${vectors.length} bytes of vectors`;
  if (new Set(chunks.map(({ path }) => path)).size !== chunks.length) return 'two of its chunks have one path';
  for (const chunk of chunks) {
    const why = faultOfChunk(chunk, rules);
    if (why !== undefined) return why;
  }
  return faultOfVectors(vectorsOf(vectors), chunks, rules.dim);
}

function isDocId(docid: string): boolean {
  try {
    return asNewDocId(docid) === docid;
  } catch {
    return false;
  }
}

function faultOfMetadata(
  { docid, ingested_at_ms: timeMs, metadata: json }: ArchivedDocument,
  bytesMax: number,
): string | undefined {
  const metadata = parsedFields(json, 2 * bytesMax + OWN_FIELDS_BYTES);
  if (typeof metadata === 'string') return `its metadata ${metadata}`;
  const { docid: ownDocid, ingested_at: ownTime, filename, ...fields } = metadata;
  if (ownDocid !== undefined && ownDocid !== docid) return 'its metadata has another docid';
  if (ownTime !== undefined && !(Math.abs(Date.parse(String(ownTime)) - timeMs) <= TIME_ROUNDED_MS))
    return 'its metadata has another ingested_at';
  return [fields, filename].some((part) => bytesOf(part) > bytesMax)
    ? `its metadata has more than ${bytesMax} bytes of JSON`
    : undefined;
}

function faultOfChunk(
  { path, meta, text }: ArchivedChunk,
  { takesTexts, metadataBytesMax }: DocumentRules,
): string | undefined {
  if (path.length > PATH_CHARACTERS_MAX || path.includes('::') || CONTROL_CHARACTERS.test(path) || !isWellFormed(path))
    return 'the path of a chunk is none';
  const fields = parsedFields(meta, metadataBytesMax + OWN_FIELDS_BYTES);
  if (typeof fields === 'string') return `metadata of a chunk ${fields}`;
  if (text === undefined) return undefined;
  if (!takesTexts) return 'a chunk has a text, and the collection holds vectors only';
  return isTooLong(text) ? `a chunk has more than ${CHUNK_SIZE_MAX} characters` : undefined;
}

/** The end of a sentence where it is no JSON object that may be stored. */
function parsedFields(json: string, bytesMax: number): Json | string {
  if (Buffer.byteLength(json) > bytesMax) return `has more than ${bytesMax} bytes of JSON`;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return 'is no JSON';
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'is no JSON object';
  if (isDeeperThan(METADATA_LEVELS_MAX, value)) return `has more than ${METADATA_LEVELS_MAX} levels`;
  return changedNumber(json) === undefined ? (value as Json) : 'has a number that a 64-bit float does not hold';
}

const bytesOf = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

const isTooLong = (text: string): boolean =>
  text.length > 2 * CHUNK_SIZE_MAX || (text.length > CHUNK_SIZE_MAX && [...text].length > CHUNK_SIZE_MAX);

/** What an embedder gave may be zero; the caller may give no such vector. */
function faultOfVectors(vectors: Float32Array, chunks: readonly ArchivedChunk[], dim: number): string | undefined {
  if (!vectors.every(Number.isFinite)) return 'a vector is not finite';
  const isZero = (row: number): boolean => vectors.subarray(row * dim, (row + 1) * dim).every((value) => value === 0);
  return chunks.some(({ text }, row) => text === undefined && isZero(row)) ? 'a vector is zero' : undefined;
}
