// One ingest request, from the bytes of its body to a document cut into chunks: parsed, checked, decoded, chunked. Pure but
// for the UUID it makes where nothing names the document. Batch worker only.
import { v7 as uuidv7 } from 'uuid';
import { AppError } from '../../src/contract/errors.js';
import { asDocId, docIdFromFilename, type DocId } from '../../src/contract/ids.js';
import { CHUNK_SIZE_MAX } from '../../src/contract/limits.js';
import type { PrepareAnswer, PrepareRequest } from '../../src/contract/messages.js';
import { packDocument, type PreparedChunk } from '../../src/contract/prepared-document.js';
import { priorityOf } from '../../src/rank/priority.js';
import { chunkText } from '../../src/text/chunk.js';
import { readFileDocument } from './file-document.js';
import type { IngestDocument } from './ingest-document.js';
import { readJsonDocument } from './json-document.js';
import { documentMetadata } from './metadata.js';
import { toVector } from '../../src/contract/vector.js';

/** What the text of a document is prepared for: everything in a request but its body. */
export type PrepareSettings = Omit<PrepareRequest, 'body'>;

/** Throws AppError with the code the contract gives for what is wrong; nothing has been changed then. */
export function prepareDocument({ body, ...settings }: PrepareRequest): PrepareAnswer {
  return prepareInput(body.kind === 'json' ? readJsonDocument(body.bytes) : readFileDocument(body), settings);
}

/** The same for a body that has been read: an item of a batch, for one. */
export function prepareInput(input: IngestDocument, request: PrepareSettings): PrepareAnswer {
  const docid = docIdOf(input);
  const metadata = documentMetadata(input, docid, request.nowMs, request.metadataBytesMax);
  const vectors = input.vector && toVector(input.vector, request.space.dim);
  const chunks = input.text === undefined ? [{ path: '0', metaJson: '{}' }] : textChunks(input.text, request);
  const document = packDocument({
    docid,
    ingestedAtMs: request.nowMs,
    metadataJson: JSON.stringify(metadata),
    priority: priorityOf(input.metadata, request.priorityKey),
    chunks,
  });
  return { docid, chunks: chunks.length, document, ...(vectors && { vectors }) };
}

/** An empty id counts as omitted; a file then gives its name, anything else gets a UUIDv7. */
function docIdOf({ docid, filename }: IngestDocument): DocId {
  if (docid) return asDocId(docid);
  return (filename === undefined ? undefined : docIdFromFilename(filename)) ?? asDocId(uuidv7());
}

function textChunks(text: string, { space, chunking }: PrepareSettings): PreparedChunk[] {
  if (space.embedder_type === 'identity') throw new AppError('vectors_only');
  if (text.trim() === '') throw new AppError('no_text_extracted');
  if (chunking.strategy === 'none' && codePointsOver(text, CHUNK_SIZE_MAX)) {
    throw new AppError('chunk_too_large', `A text of a collection with chunking \`none\` has at most ${CHUNK_SIZE_MAX} characters.`);
  }
  return chunkText(text, chunking).map((chunk, i) => ({ path: `chunk_${i}`, metaJson: JSON.stringify({ offset: chunk.offset }), text: chunk.text }));
}

function codePointsOver(text: string, max: number): boolean {
  if (text.length <= max) return false;
  return text.length > 2 * max || [...text].length > max;
}
