// Turns a parsed document into its id, its metadata and its chunks, as they are embedded and stored. Errors are AppError.
// Pure but for new ids; any thread.
import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../api/errors.js';
import { type DocId, asDocId, asNewDocId, docIdFromFilename } from '../api/ids.js';
import { toVector } from '../api/numbers.js';
import { priorityOf } from '../ranking/scores.js';
import { DIGEST_BYTES, textDigest } from '../text/chunking.js';
import { type PreparedChunk, packDocument } from '../text/prepared-document.js';
import { cut } from './chunks.js';
import { type Extracted, flowOf } from './extracted.js';
import { type IngestDocument, documentMetadata, readJsonDocument, readMsgpackDocument } from './ingest-document.js';
import type { EncodedBody, PrepareAnswer, PrepareRequest } from './messages.js';

/** The settings of a request, without its body. */
type PrepareSettings = Omit<PrepareRequest, 'body'>;

/** Throws AppError with the code of the contract if the body is invalid. */
export function prepareBody({ kind, bytes }: EncodedBody, settings: PrepareSettings): PrepareAnswer {
  const read = kind === 'json' ? readJsonDocument : readMsgpackDocument;
  return prepareInput(read(bytes, settings.metadataBytesMax), settings);
}

/** Prepares a body that has been parsed, such as an item of a batch. */
export function prepareInput(input: IngestDocument, request: PrepareSettings): PrepareAnswer {
  const docid = docIdOf(input);
  const metadata = documentMetadata(input, docid, request.nowMs, request.metadataBytesMax);
  const vectors = input.vector && toVector(input.vector, request.space.dim);
  const content = input.text === undefined ? input.content : flowOf(input.text);
  const chunks = content === undefined ? [{ path: '0', metaJson: '{}' }] : textChunks(content, input.metadata, request);
  const document = packDocument({
    docid,
    ingestedAtMs: request.nowMs,
    metadataJson: JSON.stringify(metadata),
    priority: priorityOf(input.metadata, request.priorityKey),
    ...(input.ifVersion !== undefined && { ifVersion: input.ifVersion }),
    ...expiryOf(input, request),
    chunks,
  });
  const digests = request.withDigests && !vectors && joinedDigests(chunks);
  return { docid, chunks: chunks.length, document, ...(vectors && { vectors }), ...(digests && { digests }) };
}

/** A whole second: a document that is to live a number of seconds has them in full. */
function expiryOf({ expiresAtS }: IngestDocument, { ttlS, nowMs }: PrepareSettings): { expiresAtS?: number } {
  const second = expiresAtS ?? (ttlS === undefined ? 0 : Math.ceil(nowMs / 1000) + ttlS);
  return second === 0 ? {} : { expiresAtS: second };
}

function joinedDigests(chunks: readonly PreparedChunk[]): Uint8Array {
  const digests = new Uint8Array(chunks.length * DIGEST_BYTES);
  chunks.forEach(({ text = '' }, i) => digests.set(textDigest(text), i * DIGEST_BYTES));
  return digests;
}

/** An empty id counts as absent; the id then derives from the file name, or is a UUIDv7. */
function docIdOf({ docid, filename }: IngestDocument): DocId {
  if (docid) return asNewDocId(docid);
  return (filename === undefined ? undefined : docIdFromFilename(filename)) ?? asDocId(uuidv7());
}

function textChunks(
  content: Extracted,
  metadata: Record<string, unknown>,
  { space, chunking, metadataBytesMax }: PrepareSettings,
): PreparedChunk[] {
  if (space.embedder_type === 'identity') throw new AppError('vectors_only');
  const chunks = cut(content, chunking, metadata);
  const isTooLarge = chunks.some(
    ({ metaJson }) => metaJson.length * 3 > metadataBytesMax && Buffer.byteLength(metaJson) > metadataBytesMax,
  );
  if (isTooLarge)
    throw new AppError(
      'metadata_too_large',
      `The metadata of a chunk must have at most ${metadataBytesMax} bytes of JSON.`,
    );
  return chunks;
}
