// Documents and chunks of a shard as JSON texts, listed or single. Each read uses one snapshot, and long answers come in
// pages. Any thread that reads the store of the shard.
import type { DocumentSummary } from '../api/documents.js';
import { type CollectionId, type Ordinal, chunkIdOf, parseChunkId } from '../api/ids.js';
import { nowSeconds } from '../base/clock.js';
import { isExpired } from '../storage/expiries.js';
import { type DocumentRecord, mergedMetaJson } from '../storage/records.js';
import type { ShardTxn } from '../storage/shard-reader.js';
import type { ShardAnswer, ShardCommands, ShardOp } from './write/commands.js';

const iso = (timeMs: number): string => new Date(timeMs).toISOString();

function summaryOf(
  { docid, version, ingestedAtMs, chunkCount, metadataJson, expiresAtS }: DocumentRecord,
  { filename } = JSON.parse(metadataJson) as Record<string, unknown>,
): DocumentSummary {
  const summary = {
    docid,
    version,
    ingested_at: iso(ingestedAtMs),
    chunk_count: chunkCount,
    ...(expiresAtS !== 0 && { expires_at: iso(1000 * expiresAtS) }),
  };
  return typeof filename === 'string' ? { ...summary, filename } : summary;
}

/**
 * A page ends with the record that brings it to this many bytes, counting bytes read and bytes returned. That takes
 * about a millisecond, so no search waits for long.
 */
export const PAGE_BYTES = 256 * 1024;

/** Reads in second `nowS`: what has expired by then is as if it were not stored. */
type Read<O extends ShardOp> = (txn: ShardTxn, request: ShardCommands[O]['request'], nowS: number) => ShardAnswer<O>;

/** Summaries of documents in the order of their keys. */
const listDocuments: Read<'listDocuments'> = (txn, { collection, after, max, metadata }, nowS) => {
  const page: ShardAnswer<'listDocuments'> = { docids: [], records: [], more: false };
  let bytes = 0;
  for (const record of txn.documents(collection, after)) {
    if (page.records.length === max || bytes >= PAGE_BYTES) return { ...page, more: true };
    page.after = record.docid;
    bytes += record.metadataJson.length;
    if (isExpired(record, nowS)) continue;
    const summary = summaryOf(record);
    const text = metadata ? withField(summary, 'metadata', record.metadataJson) : JSON.stringify(summary);
    bytes += text.length;
    page.docids.push(record.docid);
    page.records.push(text);
  }
  return page;
};

/** A document's summary, metadata and chunk ids as JSON text; null if it does not exist. */
const getDocument: Read<'getDocument'> = (txn, { collection, docid }, nowS) => {
  const record = present(txn, collection, docid, nowS);
  if (!record) return null;
  const { paths } = txn.members(collection, docid);
  const fields = { ...summaryOf(record), chunk_ids: paths.map((path) => chunkIdOf(docid, path)) };
  return withField(fields, 'metadata', record.metadataJson);
};

/** Chunks of a document from position `from` on; empty if the document does not exist. */
const listChunks: Read<'listChunks'> = (txn, { collection, docid, from, max }, nowS) => {
  const page: ShardAnswer<'listChunks'> = { records: [], more: false };
  const document = present(txn, collection, docid, nowS);
  if (!document) return page;
  const ordinals = (txn.members(collection, docid).ordinals as Ordinal[]).slice(from);
  for (
    let bytes = 0;
    page.records.length < Math.min(max, ordinals.length) && bytes < PAGE_BYTES;
    bytes += page.records.at(-1)?.length ?? 0
  ) {
    page.records.push(chunkJson(txn, collection, document, ordinals[page.records.length] as Ordinal));
  }
  return { ...page, more: page.records.length < ordinals.length };
};

function chunkJson(txn: ShardTxn, id: CollectionId, document: DocumentRecord, ordinal: Ordinal): string {
  const { path, metaJson, docid } = txn.chunk(id, ordinal);
  const fields = { rid: chunkIdOf(docid, path), chunk_path: path, ingested_at: iso(document.ingestedAtMs) };
  return withField(fields, 'meta', mergedMetaJson(document.metadataJson, metaJson));
}

/** A JSON object of `fields` and one more field, whose value `json` is inserted without being parsed. */
const withField = (fields: object, name: string, json: string): string =>
  `${JSON.stringify(fields).slice(0, -1)},"${name}":${json}}`;

/** A chunk without its text, as JSON text; null if it does not exist. */
const getChunk: Read<'getChunk'> = (txn, { collection, rid }, nowS) => {
  const found = findChunk(txn, collection, rid, nowS);
  if (!found) return null;
  const { document, ordinal } = found;
  return `{"docid":${JSON.stringify(document.docid)},${chunkJson(txn, collection, document, ordinal).slice(1)}`;
};

/** The text of a chunk; null if the chunk does not exist. */
const getContent: Read<'getContent'> = (txn, { collection, rid }, nowS) => {
  const found = findChunk(txn, collection, rid, nowS);
  return found && { text: txn.text(collection, found.ordinal)?.toString() ?? null };
};

function findChunk(
  txn: ShardTxn,
  id: CollectionId,
  rid: string,
  nowS: number,
): { document: DocumentRecord; ordinal: Ordinal } | null {
  const parsed = parseChunkId(rid);
  const document = parsed && present(txn, id, parsed.docid, nowS);
  const ordinal = document && txn.ordinalOf(id, parsed.docid, parsed.chunkPath);
  return document && ordinal !== undefined ? { document, ordinal } : null;
}

function present(txn: ShardTxn, id: CollectionId, docid: string, nowS: number): DocumentRecord | undefined {
  const record = txn.document(id, docid);
  return record && !isExpired(record, nowS) ? record : undefined;
}

/** The commands that read stored documents, by name. */
const DOCUMENT_READS = { listDocuments, getDocument, listChunks, getChunk, getContent };
export type DocumentRead = keyof typeof DOCUMENT_READS;

/** Runs a read on a snapshot, as of now. */
export function readStored<O extends DocumentRead>(
  txn: ShardTxn,
  op: O,
  request: ShardCommands[O]['request'],
): ShardAnswer<O> {
  return (DOCUMENT_READS[op] as unknown as Read<O>)(txn, request, nowSeconds());
}

/** What a read finds in a collection without documents. */
export const NOTHING_STORED: { readonly [O in DocumentRead]: ShardAnswer<O> } = {
  listDocuments: { docids: [], records: [], more: false },
  getDocument: null,
  listChunks: { records: [], more: false },
  getChunk: null,
  getContent: null,
};
