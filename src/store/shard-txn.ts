// What can be read of a shard's part of every collection: one snapshot of its tables. Made by shard-store.ts, which adds the
// writing; used by the shard worker alone.
import type { CollectionId, Ordinal } from '../contract/ids.js';
import type { CollectionRef } from '../contract/messages.js';
import { chunkKey, collectionOfKey, collectionPrefix, documentKey, generationPrefix, ordinalOfChunkKey, ordinalOfVectorKey, vectorKey } from './keys.js';
import type { Tables } from './tables.js';
import { DamagedRecord, decodeChunk, decodeDocument, decodeMembers, decodeVector, type ChunkRecord, type DocumentRecord, type MembersRecord } from './records.js';

export const SHARD_TABLES = ['documents', 'members', 'chunks', 'texts', 'vectors'] as const;

export class ShardTxn {
  constructor(protected readonly tables: Tables<(typeof SHARD_TABLES)[number]>) {}

  document(id: CollectionId, docid: string): DocumentRecord | undefined {
    const bytes = this.tables.documents.get(documentKey(id, docid));
    return bytes && decodeDocument(bytes);
  }

  /** The chunks of a document; empty when it does not exist. */
  members(id: CollectionId, docid: string): MembersRecord {
    const bytes = this.tables.members.get(documentKey(id, docid));
    return bytes ? decodeMembers(bytes) : { ordinals: [], paths: [] };
  }

  chunk(id: CollectionId, ordinal: Ordinal): ChunkRecord {
    const bytes = this.tables.chunks.get(chunkKey(id, ordinal));
    if (!bytes) throw new DamagedRecord(`chunk ${id}/${ordinal} is missing`);
    return decodeChunk(bytes);
  }

  /** The text of a chunk as its UTF-8 bytes; undefined for chunks of vector documents. */
  text(id: CollectionId, ordinal: Ordinal): Buffer | undefined {
    return this.tables.texts.get(chunkKey(id, ordinal));
  }

  /** All texts of a collection from an ordinal on, in the order of ordinals. */
  *texts(id: CollectionId, from: Ordinal): Generator<{ ordinal: Ordinal; source: string }> {
    const entries = this.tables.texts.entries(collectionPrefix(id), chunkKey(id, from));
    for (const { key, value } of entries) yield { ordinal: ordinalOfChunkKey(key), source: value.toString() };
  }

  /** All chunks of a collection from an ordinal on, in the order of ordinals. */
  *chunks(id: CollectionId, from: Ordinal): Generator<{ ordinal: Ordinal; chunk: ChunkRecord }> {
    const entries = this.tables.chunks.entries(collectionPrefix(id), chunkKey(id, from));
    for (const { key, value } of entries) yield { ordinal: ordinalOfChunkKey(key), chunk: decodeChunk(value) };
  }

  /** The ordinal of the chunk with this path; undefined when there is none. */
  ordinalOf(id: CollectionId, docid: string, path: string): Ordinal | undefined {
    const members = this.members(id, docid);
    const at = members.paths.indexOf(path);
    return at < 0 ? undefined : (members.ordinals[at] as Ordinal);
  }

  /** In the order of their keys; those behind the document `after` where given, which need not exist. */
  *documents(id: CollectionId, after?: string): Generator<DocumentRecord> {
    const from = after === undefined ? collectionPrefix(id) : documentKey(id, after);
    for (const { value } of this.tables.documents.entries(collectionPrefix(id), from)) {
      const record = decodeDocument(value);
      if (record.docid !== after) yield record;
    }
  }

  /** The vector of a chunk in the collection's generation; undefined where it has none. */
  vector(ref: CollectionRef, ordinal: Ordinal): Float32Array | undefined {
    const bytes = this.tables.vectors.get(vectorKey(ref.id, ref.generation, ordinal));
    return bytes && vectorOf(ref, ordinal, bytes);
  }

  *vectors(ref: CollectionRef): Generator<{ ordinal: Ordinal; vector: Float32Array }> {
    for (const { key, value } of this.tables.vectors.entries(generationPrefix(ref.id, ref.generation))) {
      const ordinal = ordinalOfVectorKey(key);
      yield { ordinal, vector: vectorOf(ref, ordinal, value) };
    }
  }

  /** Ids of the collections that have anything here. */
  collections(): CollectionId[] {
    const ids: CollectionId[] = [];
    for (let from: Buffer = Buffer.alloc(4); ; ) {
      const first = this.tables.documents.entries(Buffer.alloc(0), from).next();
      if (first.done) return ids;
      const id = collectionOfKey(first.value.key);
      ids.push(id);
      from = collectionPrefix((id + 1) as CollectionId);
    }
  }
}

function vectorOf(ref: CollectionRef, ordinal: Ordinal, bytes: Buffer): Float32Array {
  if (bytes.length !== ref.dim * 4) throw new DamagedRecord(`vector ${ref.id}/${ordinal} has ${bytes.length} bytes`);
  return decodeVector(bytes);
}
