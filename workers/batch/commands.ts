// The commands of a batch worker. `prepareDocument` parses, validates and chunks one body. `prepareLines` turns a slice
// of a batch into documents grouped by shard; an invalid item gets an error of its own and does not affect the others.
// `sliceBatch` cuts the body of a batch into slices. Without side effects, except for reading files and generating
// UUIDs.
import { AppError, type ErrorCode } from '../../src/api/errors.js';
import { type DocId, asDocId } from '../../src/api/ids.js';
import { msgpackValues } from '../../src/api/msgpack.js';
import { slotOf } from '../../src/api/placement.js';
import { internalErrorOf } from '../../src/base/thread.js';
import { batchItems, sliceItems, textsOfLines } from '../../src/extract/batch-body.js';
import { readFileDocument } from '../../src/extract/file-document.js';
import { checkIngestShape, readIngestBody, readMsgpackValue } from '../../src/extract/ingest-document.js';
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
import { prepareBody, prepareInput } from '../../src/extract/prepare.js';
import { fingerprintOf } from '../../src/storage/kept-answers.js';
import { DIGEST_BYTES } from '../../src/text/chunking.js';
import { joinDocuments } from '../../src/text/prepared-document.js';

/** Throws AppError with the code of the contract if the body is invalid. */
export async function prepareDocument(request: PrepareRequest, limits: BatchWorkerStart): Promise<PrepareAnswer> {
  const { body, ...settings } = request;
  if (body.kind !== 'file') return prepareBody(body, settings);
  return prepareInput(await readFileDocument(body, limits), settings);
}

/**
 * Maximum number of chunks in a group, unless a single document has more. It is a fraction of what a shard commits at a
 * time (`costMax` of its writes in src/pool/shard-pool.ts).
 */
const GROUP_CHUNKS_MAX = 32;

interface OpenGroup {
  slot: number;
  chunkCount: number;
  members: { place: number; prepared: PrepareAnswer }[];
}

/** Collects the prepared documents of a slice into groups by shard, each in a few buffers that can be transferred. */
class GroupBuilder {
  private readonly groups: OpenGroup[] = [];
  /** The group of each shard that can take more documents. */
  private readonly open = new Map<number, OpenGroup>();

  constructor(
    private readonly dim: number,
    private readonly spread: number,
  ) {}

  add(slot: number, place: number, prepared: PrepareAnswer): void {
    let group = this.open.get(slot);
    if (!group || group.chunkCount + prepared.chunks > GROUP_CHUNKS_MAX) {
      this.groups.push((group = { slot, chunkCount: 0, members: [] }));
      this.open.set(slot, group);
    }
    group.members.push({ place, prepared });
    group.chunkCount += prepared.chunks;
  }

  /** The groups; those of a shard are in the order in which their documents were added. */
  finish(): PreparedGroup[] {
    return this.groups.map((group) => this.pack(group));
  }

  private pack({ slot, chunkCount, members }: OpenGroup): PreparedGroup {
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
      slot,
      spread: this.spread,
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

/** Error codes of a document request, translated to those of a batch item. */
const ITEM_CODES: Partial<Record<ErrorCode, ErrorCode>> = {
  invalid_json: 'invalid_item',
  invalid_msgpack: 'invalid_item',
  invalid_document_json: 'invalid_item',
  invalid_metadata: 'invalid_item',
  validation_error: 'invalid_item',
};

/** Prepares the items of a slice. Throws AppError `invalid_json` for a malformed line if `malformed` is `batch`. */
export function prepareLines(request: PrepareLinesRequest): PreparedLines {
  const groups = new GroupBuilder(request.space.dim, request.spread);
  const internalErrors: string[] = [];
  const items = itemsOf(request).map((item, place): PreparedItem => {
    const fingerprint = request.kept && fingerprintOf(item ?? '');
    const kept = request.kept?.get(place);
    if (kept !== undefined)
      return kept === fingerprint ? { isKept: true } : { error: new AppError('idempotency_key_reused').toWire() };
    const prepared = prepareItem(item, request, internalErrors);
    if ('error' in prepared) return prepared;
    groups.add(slotOf(prepared.docid, request.spread), place, prepared);
    return { docid: prepared.docid, chunks: prepared.chunks, ...(fingerprint !== undefined && { fingerprint }) };
  });
  return { items, groups: groups.finish(), internalErrors };
}

/** An item of a slice: JSON text, MessagePack, or undefined for a line with invalid UTF-8. */
type Item = string | Buffer | undefined;

const itemsOf = ({ bytes, isMsgpack }: PrepareLinesRequest): Item[] =>
  isMsgpack ? msgpackValues(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)) : textsOfLines(bytes);

/** Prepares one item. An internal error is reported in `faults`, and fails only this item. */
function prepareItem(
  item: Item,
  request: PrepareLinesRequest,
  internalErrors: string[],
): PrepareAnswer | Extract<PreparedItem, { error: unknown }> {
  let value: unknown;
  try {
    value = valueOf(item, request.metadataBytesMax);
    return prepareInput(readIngestBody(value, typeof item === 'string' ? item : ''), request);
  } catch (error) {
    const clientError = error instanceof AppError ? error : new AppError('ingest_failed');
    if (clientError.code === 'invalid_json' && request.malformed === 'batch') throw new AppError('invalid_json');
    if (clientError !== error) internalErrors.push(internalErrorOf(error));
    return {
      ...docidIn(value),
      error: { code: ITEM_CODES[clientError.code] ?? clientError.code, message: clientError.message },
    };
  }
}

/** The value of an item. Throws `invalid_json`, `invalid_msgpack`, and as `checkIngestShape` does. */
function valueOf(item: Item, metadataBytesMax: number): unknown {
  if (typeof item === 'object') return readMsgpackValue(item, metadataBytesMax);
  try {
    if (item !== undefined) {
      checkIngestShape(item, metadataBytesMax);
      return JSON.parse(item);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
  }
  throw new AppError('invalid_json', 'The item is not well-formed JSON in UTF-8.');
}

/** The id of a rejected item, if it has a valid one. */
function docidIn(value: unknown): { docid?: DocId } {
  const docid = (value as { docid?: unknown } | null | undefined)?.docid;
  try {
    return typeof docid === 'string' ? { docid: asDocId(docid) } : {};
  } catch {
    return {};
  }
}

/**
 * Validates the body of a batch without its items, and cuts the items into slices, which are prepared one by one, in turn
 * with the requests of other tenants. Throws as `batchItems` does.
 */
export function sliceBatch({ bytes, itemsMax, isMsgpack = false }: SplitBatchRequest): LineSlice[] {
  return sliceItems(batchItems(bytes, { field: 'documents', itemsMax, isMsgpack }), isMsgpack);
}
