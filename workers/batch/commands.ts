// One ingest request, from the bytes of its body to a document cut into chunks: parsed, checked, decoded, chunked. Pure
// but for the UUID it makes where nothing names the document, and for the file it reads. Batch worker only.
import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../../src/contract/errors.js';
import { asDocId, asNewDocId, docIdFromFilename, type DocId } from '../../src/contract/ids.js';
import type { BatchWorkerStart, PrepareAnswer, PrepareRequest } from '../../src/contract/prepare-messages.js';
import { packDocument, type PreparedChunk } from '../../src/contract/prepared-document.js';
import { priorityOf } from '../../src/rank/priority.js';
import { DIGEST_BYTES, textDigest } from '../../src/text/text-digest.js';
import { cut } from './cut.js';
import { flowOf, type Extracted } from './extract/extracted.js';
import { readFileDocument } from './file-document.js';
import type { IngestDocument } from './ingest-document.js';
import { readJsonDocument } from './json-document.js';
import { documentMetadata } from './metadata.js';
import { toVector } from '../../src/contract/vector.js';

/** What the text of a document is prepared for: everything in a request but its body. */
export type PrepareSettings = Omit<PrepareRequest, 'body'>;

/** Throws AppError with the code the contract gives for what is wrong; nothing has been changed then. */
export async function prepareDocument(
  { body, ...settings }: PrepareRequest,
  limits: BatchWorkerStart,
): Promise<PrepareAnswer> {
  return prepareInput(
    body.kind === 'json'
      ? readJsonDocument(body.bytes, settings.metadataBytesMax)
      : await readFileDocument(body, limits),
    settings,
  );
}

/** The same for a body that has been read: an item of a batch, for one. */
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
    chunks,
  });
  const digests = request.withDigests && !vectors && digestsOf(chunks);
  return { docid, chunks: chunks.length, document, ...(vectors && { vectors }), ...(digests && { digests }) };
}

function digestsOf(chunks: readonly PreparedChunk[]): Uint8Array {
  const digests = new Uint8Array(chunks.length * DIGEST_BYTES);
  chunks.forEach(({ text = '' }, i) => digests.set(textDigest(text), i * DIGEST_BYTES));
  return digests;
}

/** An empty id counts as omitted; a file then gives its name, anything else gets a UUIDv7. */
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
    throw new AppError('metadata_too_large', `Metadata of a chunk has at most ${metadataBytesMax} bytes of JSON.`);
  return chunks;
}
