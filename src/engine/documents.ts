// Reads of records for the listing and detail endpoints. Shard worker only.
// Called by commands.ts; each read sees one snapshot. Listings come in pages of ready JSON texts.
import { chunkIdOf, parseChunkId, type CollectionId, type Ordinal } from '../../src/contract/ids.js';
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import type { DocumentSummary } from '../../src/contract/resources.js';
import type { DocumentRecord } from '../../src/store/records.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import { mergedMetaJson } from './metadata.js';
import type { Shard } from './shard.js';

const iso = (timeMs: number): string => new Date(timeMs).toISOString();

function summaryOf(
  { docid, version, ingestedAtMs, chunkCount, metadataJson }: DocumentRecord,
  { filename } = JSON.parse(metadataJson) as Record<string, unknown>,
): DocumentSummary {
  const summary = { docid, version, ingested_at: iso(ingestedAtMs), chunk_count: chunkCount };
  return typeof filename === 'string' ? { ...summary, filename } : summary;
}

/** A page ends with the record that brings it to so many bytes: what was read of the store, and what goes out. */
const PAGE_BYTES = 256 * 1024;

export function listDocuments(
  shard: Shard,
  { collection, after, max }: ShardRequest<'listDocuments'>,
): ShardAnswer<'listDocuments'> {
  const page: ShardAnswer<'listDocuments'> = { docids: [], records: [], more: false };
  // A dropped collection may have a part of its records left.
  if (shard.isDropped(collection)) return page;
  return shard.store.read((txn) => {
    let bytes = 0;
    for (const record of txn.documents(collection, after)) {
      if (page.records.length === max || bytes >= PAGE_BYTES) return { ...page, more: true };
      const text = JSON.stringify(summaryOf(record));
      bytes += record.metadataJson.length + text.length;
      page.docids.push(record.docid);
      page.records.push(text);
    }
    return page;
  });
}

export function getDocument(
  shard: Shard,
  { collection, docid }: ShardRequest<'getDocument'>,
): ShardAnswer<'getDocument'> {
  return shard.store.read((txn) => {
    const record = txn.document(collection, docid);
    if (!record) return null;
    const { paths } = txn.members(collection, docid);
    const fields = { ...summaryOf(record), chunk_ids: paths.map((path) => chunkIdOf(docid, path)) };
    return withField(fields, 'metadata', record.metadataJson);
  });
}

export function listChunks(
  shard: Shard,
  { collection, docid, from, max }: ShardRequest<'listChunks'>,
): ShardAnswer<'listChunks'> {
  const page: ShardAnswer<'listChunks'> = { records: [], more: false };
  if (shard.isDropped(collection)) return page;
  return shard.store.read((txn) => {
    const document = txn.document(collection, docid);
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
  });
}

function chunkJson(txn: ShardTxn, id: CollectionId, document: DocumentRecord, ordinal: Ordinal): string {
  const { path, metaJson, docid } = txn.chunk(id, ordinal);
  const fields = { rid: chunkIdOf(docid, path), chunk_path: path, ingested_at: iso(document.ingestedAtMs) };
  return withField(fields, 'meta', mergedMetaJson(document.metadataJson, metaJson));
}

/** As JSON text; `json` is not parsed. */
const withField = (fields: object, name: string, json: string): string =>
  `${JSON.stringify(fields).slice(0, -1)},"${name}":${json}}`;

export function getChunk(shard: Shard, { collection, rid }: ShardRequest<'getChunk'>): ShardAnswer<'getChunk'> {
  return withChunk(shard, collection, rid, (txn, document, ordinal) => chunkDetail(txn, collection, document, ordinal));
}

export function getContent(shard: Shard, { collection, rid }: ShardRequest<'getContent'>): ShardAnswer<'getContent'> {
  return withChunk(shard, collection, rid, (txn, _, ordinal) => ({
    text: txn.text(collection, ordinal)?.toString() ?? null,
  }));
}

function withChunk<T>(
  shard: Shard,
  id: CollectionId,
  rid: string,
  read: (txn: ShardTxn, document: DocumentRecord, ordinal: Ordinal) => T,
): T | null {
  const parsed = parseChunkId(rid);
  if (!parsed) return null;
  return shard.store.read((txn) => {
    const document = txn.document(id, parsed.docid);
    const ordinal = document && txn.ordinalOf(id, parsed.docid, parsed.chunkPath);
    return document && ordinal !== undefined ? read(txn, document, ordinal) : null;
  });
}

function chunkDetail(txn: ShardTxn, id: CollectionId, document: DocumentRecord, ordinal: Ordinal): string {
  return `{"docid":${JSON.stringify(document.docid)},${chunkJson(txn, id, document, ordinal).slice(1)}`;
}
