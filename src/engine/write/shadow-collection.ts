// What a shadow collection lacks of its source: pages of documents to embed again, and copies with vectors if the
// vector space is the same; and whole documents for a shadow collection in other shards. All walk the source in the order
// of its keys, a bounded number of documents at a time. Owner only.
import { assert } from '../../base/assert.js';
import type { CollectionId, DocId, Ordinal } from '../../api/ids.js';
import { slotOf } from '../../api/placement.js';
import { concat } from '../../base/bytes.js';
import type { ShardAnswer, ShardRequest, DocumentWrite } from './commands.js';
import { AppError } from '../../api/errors.js';
import type { CollectionRef } from '../../api/collections.js';
import {
  type DocumentBatch,
  joinDocuments,
  packDocument,
  type PreparedDocument,
} from '../../text/prepared-document.js';
import type { DocumentRecord } from '../../storage/records.js';
import { type ShardTxn, isSameDocument } from '../../storage/shard-reader.js';
import type { Shard } from '../shard.js';
import { applyWrites, assertStored } from './write.js';

/** A page looks at no more than this many documents, which takes some milliseconds. */
const DOCUMENTS_MAX = 512;
const PAGE_BYTES = 128 * 1024;
/** Number of chunks at which a copy commits. */
const COPY_CHUNKS_MAX = 64;
/** Metadata field in which the embedder of the source notes that it has cut a text. */
const TRUNCATED_NOTE = 'embedding_truncated';

interface Scan {
  missing: DocumentRecord[];
  scanned: number;
  after: string | null;
}

/** Implements `listMissing`. Throws AppError `collection_not_found`. */
export function listMissing(
  shard: Shard,
  { collection, shadow, after }: ShardRequest<'listMissing'>,
): ShardAnswer<'listMissing'> {
  if (shard.isDropped(collection) || shard.isDropped(shadow)) throw new AppError('collection_not_found');
  return shard.store.read((txn) => {
    let bytes = 0;
    const packed: Uint8Array[] = [];
    let hasTextless = false;
    const {
      missing,
      scanned,
      after: next,
    } = scanDocuments(txn, collection, shadow, after, (record) => {
      const prepared = preparedOf(txn, collection, record, true);
      hasTextless ||= prepared.chunks.some(({ text }) => text === undefined);
      const document = packDocument(prepared);
      packed.push(document);
      return (bytes += document.length) < PAGE_BYTES;
    });
    return {
      ...joinDocuments(packed),
      chunks: missing.map(({ chunkCount }) => chunkCount),
      versions: missing.map(({ version }) => version),
      scanned,
      after: next,
      hasTextless,
    };
  });
}

/** Implements `findTextless`. A document has text in all its chunks or in none, so the first chunk decides. */
export function findTextless(
  shard: Shard,
  { collection, after }: ShardRequest<'findTextless'>,
): ShardAnswer<'findTextless'> {
  if (shard.isDropped(collection)) return { after: null, docid: null };
  return shard.store.read((txn) => {
    let looked = 0;
    for (const { docid, chunkCount } of txn.documents(collection, after)) {
      const [first] = txn.members(collection, docid).ordinals as Ordinal[];
      if (chunkCount > 0 && first !== undefined && !txn.text(collection, first)) return { after: docid, docid };
      if (++looked === DOCUMENTS_MAX) return { after: docid, docid: null };
    }
    return { after: null, docid: null };
  });
}

/**
 * Implements `copyShadow` in one commit. Throws AppError `collection_not_found`, or the error of a document that could
 * not be written.
 */
export function copyShadow(
  shard: Shard,
  { collection: ref, source, after }: ShardRequest<'copyShadow'>,
): ShardAnswer<'copyShadow'> {
  if (shard.isDropped(ref.id) || shard.isDropped(source.id)) throw new AppError('collection_not_found');
  const { writes, scanned, next } = shard.store.read((txn) => {
    const writes: DocumentWrite[] = [];
    let chunks = 0;
    const { scanned, after: next } = scanDocuments(txn, source.id, ref.id, after, (record) => {
      const document = packDocument(preparedOf(txn, source.id, record, false));
      writes.push({
        op: 'putShadow',
        collection: ref,
        source: source.id,
        document,
        version: record.version,
        vectors: vectorsOf(txn, source, record),
      });
      return (chunks += record.chunkCount) < COPY_CHUNKS_MAX;
    });
    return { writes, scanned, next };
  });
  if (writes.length > 0) assertStored(applyWrites(shard, writes));
  return { after: next, scanned, missing: writes.length };
}

/** Chunks of a page of `exportDocuments`, unless it has a single document. */
const READ_CHUNKS_MAX = 256;

/** Implements `exportDocuments`. Throws AppError `collection_not_found`. */
export function exportDocuments(
  shard: Shard,
  { collection: ref, spread, after, docids }: ShardRequest<'exportDocuments'>,
): ShardAnswer<'exportDocuments'> {
  if (shard.isDropped(ref.id)) throw new AppError('collection_not_found');
  return shard.store.read((txn) => {
    const absent: DocId[] = [];
    const slots = new Map<number, DocumentRecord[]>();
    const [page, scanned, last] = docids
      ? takePage(docids, (docid) => txn.document(ref.id, docid) ?? void absent.push(docid))
      : takePage(txn.documents(ref.id, after), (record) => record);
    for (const record of page) {
      const slot = slotOf(record.docid, spread);
      const records = slots.get(slot);
      if (records) records.push(record);
      else slots.set(slot, [record]);
    }
    const batches = Array.from(slots, ([slot, records]): DocumentBatch => {
      const packed = records.map((record) => packDocument(preparedOf(txn, ref.id, record, false)));
      return {
        slot,
        ...joinDocuments(packed),
        chunks: records.map(({ chunkCount }) => chunkCount),
        versions: records.map(({ version }) => version),
        vectors: concat(
          records.map((record) => vectorsOf(txn, ref, record)),
          (numbers) => new Float32Array(numbers),
        ),
      };
    });
    return { batches, absent, scanned, after: last };
  });
}

/** The records of a page, the number of their chunks, and the id of the last item; null at the end. */
function takePage<T extends DocId | DocumentRecord>(
  items: Iterable<T>,
  recordOf: (item: T) => DocumentRecord | undefined,
): [DocumentRecord[], number, string | null] {
  const records: DocumentRecord[] = [];
  let looked = 0;
  let chunks = 0;
  let last: string | null = null;
  for (const item of items) {
    if (looked++ === DOCUMENTS_MAX) return [records, chunks, last];
    const record = recordOf(item);
    if (record && records.length > 0 && chunks + record.chunkCount > READ_CHUNKS_MAX) return [records, chunks, last];
    if (record) records.push(record);
    chunks += record?.chunkCount ?? 0;
    last = typeof item === 'string' ? item : item.docid;
  }
  return [records, chunks, null];
}

/** Walks the source and collects missing documents. `take` returns whether the page has space for another one. */
function scanDocuments(
  txn: ShardTxn,
  source: CollectionId,
  shadow: CollectionId,
  after: string | undefined,
  take: (record: DocumentRecord) => boolean,
): Scan {
  const found: Scan = { missing: [], scanned: 0, after: null };
  let documents = 0;
  for (const record of txn.documents(source, after)) {
    found.scanned += record.chunkCount;
    found.after = record.docid;
    if (!isSameDocument(record, txn.document(shadow, record.docid))) {
      found.missing.push(record);
      if (!take(record)) return found;
    }
    if (++documents === DOCUMENTS_MAX) return found;
  }
  return { ...found, after: null };
}

function preparedOf(
  txn: ShardTxn,
  id: CollectionId,
  { docid, ingestedAtMs, metadataJson, priority, expiresAtS }: DocumentRecord,
  isToEmbed: boolean,
): PreparedDocument {
  const { ordinals } = txn.members(id, docid);
  const chunks = (ordinals as Ordinal[]).map((ordinal) => {
    const { path, metaJson } = txn.chunk(id, ordinal);
    return { path, metaJson: isToEmbed ? withoutNote(metaJson) : metaJson, text: txn.text(id, ordinal)?.toString() };
  });
  return { docid, ingestedAtMs, metadataJson, priority, ...(expiresAtS !== 0 && { expiresAtS }), chunks };
}

/**
 * Removes the note that the text was cut. The next embedder may read more of the text or less, and adds its own note.
 */
function withoutNote(metaJson: string): string {
  if (!metaJson.includes(TRUNCATED_NOTE)) return metaJson;
  const { [TRUNCATED_NOTE]: _, ...meta } = JSON.parse(metaJson) as Record<string, unknown>;
  return JSON.stringify(meta);
}

function vectorsOf(txn: ShardTxn, source: CollectionRef, { docid, chunkCount }: DocumentRecord): Float32Array {
  const vectors = new Float32Array(chunkCount * source.dim);
  (txn.members(source.id, docid).ordinals as Ordinal[]).forEach((ordinal, i) => {
    const vector = txn.vector(source, ordinal);
    assert(vector, 'a stored chunk has a vector');
    vectors.set(vector, i * source.dim);
  });
  return vectors;
}
