// The commands of a batch worker. A body becomes a document cut into chunks: parsed, checked, decoded, chunked. A slice
// of a batch becomes documents grouped by shard; what is wrong with one item is the result of that item and harms no
// other. The body of a JSON batch becomes slices. Pure but for the UUID where nothing names a document, and for the
// file read.
import { v7 as uuidv7 } from 'uuid';
import { AppError, type ErrorCode, invalidField } from '../../src/api/errors.js';
import { type DocId, asDocId, asNewDocId, docIdFromFilename, shardOf } from '../../src/api/ids.js';
import { toVector } from '../../src/api/numbers.js';
import { faultOf } from '../../src/base/thread.js';
import { type SplitBatch, sliceItems, splitBatch, textsOfLines } from '../../src/extract/batch-body.js';
import { cut } from '../../src/extract/chunks.js';
import { type Extracted, flowOf } from '../../src/extract/extracted.js';
import {
  type IngestDocument,
  checkIngestShape,
  documentMetadata,
  readFileDocument,
  readIngestBody,
  readJsonDocument,
} from '../../src/extract/ingest-document.js';
import type {
  BatchWorkerStart,
  LineSlice,
  PrepareAnswer,
  PrepareLinesRequest,
  PrepareRequest,
  PreparedGroup,
  PreparedItem,
  PreparedLines,
  SplitBatchRequest,
} from '../../src/extract/messages.js';
import { priorityOf } from '../../src/ranking/scores.js';
import { DIGEST_BYTES, textDigest } from '../../src/text/chunking.js';
import { type PreparedChunk, joinDocuments, packDocument } from '../../src/text/prepared-document.js';

/** What the text of a document is prepared for: everything in a request but its body. */
type PrepareSettings = Omit<PrepareRequest, 'body'>;

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
function prepareInput(input: IngestDocument, request: PrepareSettings): PrepareAnswer {
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
  const digests = request.withDigests && !vectors && joinedDigests(chunks);
  return { docid, chunks: chunks.length, document, ...(vectors && { vectors }), ...(digests && { digests }) };
}

function joinedDigests(chunks: readonly PreparedChunk[]): Uint8Array {
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

/**
 * Chunks of a group, where it is not one larger document: a part of what a shard commits at a time (`costMax` of its
 * writes in src/pool/shard-pool.ts).
 */
const GROUP_CHUNKS_MAX = 32;

interface OpenGroup {
  shard: number;
  chunkCount: number;
  members: { place: number; prepared: PrepareAnswer }[];
}

/** Collects the prepared documents of a slice into groups by shard, each in buffers that move to other threads as one. */
class GroupBuilder {
  private readonly groups: OpenGroup[] = [];
  /** The group of a shard that still takes documents. */
  private readonly open = new Map<number, OpenGroup>();

  constructor(private readonly dim: number) {}

  add(shard: number, place: number, prepared: PrepareAnswer): void {
    let group = this.open.get(shard);
    if (!group || group.chunkCount + prepared.chunks > GROUP_CHUNKS_MAX) {
      this.groups.push((group = { shard, chunkCount: 0, members: [] }));
      this.open.set(shard, group);
    }
    group.members.push({ place, prepared });
    group.chunkCount += prepared.chunks;
  }

  /** The groups of each shard in the order in which their documents were added. */
  finish(): PreparedGroup[] {
    return this.groups.map((group) => this.pack(group));
  }

  private pack({ shard, chunkCount, members }: OpenGroup): PreparedGroup {
    const vectors = new Float32Array(chunkCount * this.dim);
    let row = 0;
    for (const { prepared } of members) {
      if (prepared.vectors) vectors.set(prepared.vectors, row * this.dim);
      row += prepared.chunks;
    }
    const joined = joinDocuments(members.map(({ prepared }) => prepared.document));
    const hasTexts = members.some(({ prepared }) => prepared.vectors === undefined);
    const places = members.map(({ place }) => place);
    const docids = members.map(({ prepared }) => prepared.docid);
    const group = {
      shard,
      places,
      docids,
      hasTexts,
      ...joined,
      chunks: members.map(({ prepared }) => prepared.chunks),
      vectors,
    };
    return members.some(({ prepared }) => prepared.digests)
      ? { ...group, digests: digestsOfChunks(members, chunkCount) }
      : group;
  }
}

function digestsOfChunks(members: OpenGroup['members'], chunkCount: number): Uint8Array {
  const digests = new Uint8Array(chunkCount * DIGEST_BYTES);
  let row = 0;
  for (const { prepared } of members) {
    if (prepared.digests) digests.set(prepared.digests, row * DIGEST_BYTES);
    row += prepared.chunks;
  }
  return digests;
}

/** What a document of its own is refused with, in the words of an item. */
const ITEM_CODES: Partial<Record<ErrorCode, ErrorCode>> = {
  invalid_json: 'invalid_item',
  invalid_document_json: 'invalid_item',
  invalid_metadata: 'invalid_item',
  validation_error: 'invalid_item',
};

/** Throws AppError `invalid_json` for a line that is no JSON, where that refuses the whole batch. */
export function prepareLines(request: PrepareLinesRequest): PreparedLines {
  const groups = new GroupBuilder(request.space.dim);
  const faults: string[] = [];
  const items = textsOfLines(request.bytes).map((line, place): PreparedItem => {
    const prepared = prepareItem(line, request, faults);
    if ('error' in prepared) return prepared;
    groups.add(shardOf(prepared.docid, request.shards), place, prepared);
    return { docid: prepared.docid, chunks: prepared.chunks };
  });
  return { items, groups: groups.finish(), faults };
}

/** A fault of ours is told in `faults`, and fails this item alone. */
function prepareItem(
  line: string | undefined,
  request: PrepareLinesRequest,
  faults: string[],
): PrepareAnswer | Extract<PreparedItem, { error: unknown }> {
  let value: unknown;
  try {
    if (line !== undefined) checkIngestShape(line, request.metadataBytesMax);
    value = parsed(line);
    if (line === undefined || value === undefined)
      throw new AppError('invalid_json', 'The item is not well-formed JSON in UTF-8.');
    return prepareInput(readIngestBody(value, line), request);
  } catch (error) {
    const refusal = error instanceof AppError ? error : new AppError('ingest_failed');
    if (refusal.code === 'invalid_json' && request.malformed === 'batch') throw new AppError('invalid_json');
    if (refusal !== error) faults.push(faultOf(error));
    return { ...docidIn(value), error: { code: ITEM_CODES[refusal.code] ?? refusal.code, message: refusal.message } };
  }
}

/** JSON has no undefined: it stands for what is no JSON. */
function parsed(line: string | undefined): unknown {
  try {
    return line === undefined ? undefined : JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** The id that a refused item gave itself, where it is one. */
function docidIn(value: unknown): { docid?: DocId } {
  const docid = (value as { docid?: unknown } | null | undefined)?.docid;
  try {
    return typeof docid === 'string' ? { docid: asDocId(docid) } : {};
  } catch {
    return {};
  }
}

/** Of a name that the caller has made up, as it is told back. */
const NAME_CHARACTERS_MAX = 100;

/**
 * The body of a JSON batch, checked as far as it can be without its items. Its slices are prepared one by one, in turn
 * with what other tenants ask. Throws `invalid_json`, 422 where the body is no `{documents: [at least one]}`, 413 for
 * more than `itemsMax`.
 */
export function sliceBatch({ bytes, itemsMax }: SplitBatchRequest): LineSlice[] {
  const { skeleton, count, items } = split(bytes, itemsMax);
  if (typeof skeleton !== 'object' || skeleton === null || Array.isArray(skeleton))
    throw invalidField(['body'], 'Should be an object.', 'type_error');
  const { documents, ...others } = skeleton as Record<string, unknown>;
  const [extra] = Object.keys(others);
  if (extra !== undefined)
    throw invalidField(['body', extra.slice(0, NAME_CHARACTERS_MAX)], 'There is no such field.', 'extra_forbidden');
  if (documents === undefined) throw invalidField(['body', 'documents'], 'Field required.', 'missing');
  if (!Array.isArray(documents)) throw invalidField(['body', 'documents'], 'Should be a list.', 'list_type');
  if (count === 0) throw invalidField(['body', 'documents'], 'Should have at least one item.', 'too_short');
  if (count > itemsMax) {
    throw new AppError('request_too_large', `A batch has at most ${itemsMax} documents; NDJSON has no bound.`, {
      details: { limit_items: itemsMax, items: count },
    });
  }
  return sliceItems(items);
}

function split(bytes: Uint8Array, itemsMax: number): SplitBatch {
  try {
    return splitBatch(bytes, itemsMax);
  } catch (error) {
    if (error instanceof RangeError)
      throw invalidField(
        ['body'],
        'Should be an object with the list `documents` and nothing else.',
        'extra_forbidden',
      );
    throw new AppError('invalid_json');
  }
}
