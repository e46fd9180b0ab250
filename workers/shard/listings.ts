// Reads of records for the listing and detail endpoints. Shard worker only.
// Called by commands.ts; each read sees one snapshot.
import { chunkIdOf, parseChunkId, type CollectionId, type Ordinal } from '../../src/contract/ids.js';
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import type { ChunkDetail, DocumentSummary } from '../../src/contract/resources.js';
import type { DocumentRecord } from '../../src/store/records.js';
import type { ShardTxn } from '../../src/store/shard-store.js';
import { mergedMetaJson } from './metadata.js';
import type { Shard } from './shard.js';

const iso = (timeMs: number): string => new Date(timeMs).toISOString();

function summaryOf({ docid, version, ingestedAtMs, chunkCount }: DocumentRecord): DocumentSummary {
  return { docid, version, ingested_at: iso(ingestedAtMs), chunk_count: chunkCount };
}

export function listDocuments(shard: Shard, { collection }: ShardRequest<'listDocuments'>): ShardAnswer<'listDocuments'> {
  return shard.store.read((txn) => Array.from(txn.documents(collection), summaryOf));
}

export function getDocument(shard: Shard, { collection, docid }: ShardRequest<'getDocument'>): ShardAnswer<'getDocument'> {
  return shard.store.read((txn) => {
    const record = txn.document(collection, docid);
    if (!record) return null;
    const { paths } = txn.members(collection, docid);
    const metadata = JSON.parse(record.metadataJson) as Record<string, unknown>;
    return { ...summaryOf(record), metadata, chunk_ids: paths.map((path) => chunkIdOf(docid, path)) };
  });
}

export function listChunks(shard: Shard, { collection, docid }: ShardRequest<'listChunks'>): ShardAnswer<'listChunks'> {
  return shard.store.read((txn) => {
    const document = txn.document(collection, docid);
    if (!document) return [];
    return (txn.members(collection, docid).ordinals as Ordinal[]).map((ordinal) => {
      const { docid: _, ...summary } = chunkDetail(txn, collection, document, ordinal);
      return summary;
    });
  });
}

export function getChunk(shard: Shard, { collection, rid }: ShardRequest<'getChunk'>): ShardAnswer<'getChunk'> {
  return withChunk(shard, collection, rid, (txn, document, ordinal) => chunkDetail(txn, collection, document, ordinal));
}

export function getContent(shard: Shard, { collection, rid }: ShardRequest<'getContent'>): ShardAnswer<'getContent'> {
  return withChunk(shard, collection, rid, (txn, _, ordinal) => ({ text: txn.text(collection, ordinal)?.toString() ?? null }));
}

function withChunk<T>(shard: Shard, id: CollectionId, rid: string, read: (txn: ShardTxn, document: DocumentRecord, ordinal: Ordinal) => T): T | null {
  const parsed = parseChunkId(rid);
  if (!parsed) return null;
  return shard.store.read((txn) => {
    const document = txn.document(id, parsed.docid);
    const ordinal = document && txn.ordinalOf(id, parsed.docid, parsed.chunkPath);
    return document && ordinal !== undefined ? read(txn, document, ordinal) : null;
  });
}

function chunkDetail(txn: ShardTxn, id: CollectionId, document: DocumentRecord, ordinal: Ordinal): ChunkDetail {
  const { path, metaJson, docid } = txn.chunk(id, ordinal);
  const meta = JSON.parse(mergedMetaJson(document.metadataJson, metaJson)) as Record<string, unknown>;
  return { rid: chunkIdOf(docid, path), docid, chunk_path: path, ingested_at: iso(document.ingestedAtMs), meta };
}
