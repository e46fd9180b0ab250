// A shard's part of every collection in LMDB: documents, their members (chunk ordinals), chunks, texts, vectors.
// Owned by one shard worker. Everything about one document changes in one transaction.
import type { CollectionId, DocId, Ordinal } from '../contract/ids.js';
import type { CollectionRef } from '../contract/messages.js';
import { chunkKey, collectionOfKey, collectionPrefix, documentKey, generationPrefix, ordinalOfVectorKey, vectorKey } from './keys.js';
import { Environment, type Tables } from './lmdb.js';
import { DamagedRecord, decodeChunk, decodeDocument, decodeMembers, decodeVector, encodeChunk, encodeDocument, encodeMembers, encodeVector } from './records.js';
import type { ChunkRecord, DocumentRecord, MembersRecord } from './records.js';

const TABLES = ['documents', 'members', 'chunks', 'texts', 'vectors'] as const;
type ShardTables = Tables<(typeof TABLES)[number]>;

/** A document as one transaction writes it. `vectors` holds one row of `ref.dim` floats a chunk. */
export interface StoredDocument {
  record: DocumentRecord;
  ordinals: Ordinal[];
  chunks: { path: string; metaJson: string; text?: string }[];
  vectors: Float32Array;
}

export class ShardStore {
  private constructor(private readonly env: Environment<(typeof TABLES)[number]>) {}

  static open(directory: string, takeOver: boolean): ShardStore {
    return new ShardStore(Environment.open(directory, TABLES, takeOver));
  }

  read<T>(work: (txn: ShardTxn) => T): T {
    return this.env.read((tables) => work(new ShardTxn(tables)));
  }

  /** One synced commit; what `work` throws aborts it whole. */
  write<T>(work: (txn: ShardWriteTxn) => T): T {
    return this.env.write((tables) => work(new ShardWriteTxn(tables)));
  }

  close(): void {
    this.env.close();
  }
}

export class ShardTxn {
  constructor(protected readonly tables: ShardTables) {}

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

  /** The ordinal of the chunk with this path; undefined when there is none. */
  ordinalOf(id: CollectionId, docid: string, path: string): Ordinal | undefined {
    const members = this.members(id, docid);
    const at = members.paths.indexOf(path);
    return at < 0 ? undefined : (members.ordinals[at] as Ordinal);
  }

  *documents(id: CollectionId): Generator<DocumentRecord> {
    for (const { value } of this.tables.documents.entries(collectionPrefix(id))) yield decodeDocument(value);
  }

  *vectors(ref: CollectionRef): Generator<{ ordinal: Ordinal; vector: Float32Array }> {
    for (const { key, value } of this.tables.vectors.entries(generationPrefix(ref.id, ref.generation))) {
      if (value.length !== ref.dim * 4) throw new DamagedRecord(`vector ${ref.id}/${ordinalOfVectorKey(key)} has ${value.length} bytes`);
      yield { ordinal: ordinalOfVectorKey(key), vector: decodeVector(value) };
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

export class ShardWriteTxn extends ShardTxn {
  /** Writes a document whose older revision, if any, has been removed in the same transaction. */
  putDocument(ref: CollectionRef, { record, ordinals, chunks, vectors }: StoredDocument): void {
    const key = documentKey(ref.id, record.docid);
    this.tables.documents.put(key, encodeDocument(record));
    this.tables.members.put(key, encodeMembers({ ordinals, paths: chunks.map(({ path }) => path) }));
    chunks.forEach(({ path, metaJson, text }, index) => {
      const ordinal = ordinals[index] as Ordinal;
      const at = chunkKey(ref.id, ordinal);
      this.tables.chunks.put(at, encodeChunk({ docid: record.docid, path, index, metaJson }));
      if (text !== undefined) this.tables.texts.put(at, Buffer.from(text));
      this.tables.vectors.put(vectorKey(ref.id, ref.generation, ordinal), encodeVector(vectors.subarray(index * ref.dim, (index + 1) * ref.dim)));
    });
  }

  /** Removes a document with all of its chunks; answers the ordinals that fall free. */
  removeDocument(ref: CollectionRef, docid: DocId): Ordinal[] {
    const ordinals = this.members(ref.id, docid).ordinals as Ordinal[];
    for (const ordinal of ordinals) {
      this.tables.chunks.delete(chunkKey(ref.id, ordinal));
      this.tables.texts.delete(chunkKey(ref.id, ordinal));
      this.tables.vectors.delete(vectorKey(ref.id, ref.generation, ordinal));
    }
    this.tables.members.delete(documentKey(ref.id, docid));
    this.tables.documents.delete(documentKey(ref.id, docid));
    return ordinals;
  }

  /** Removes up to `max` entries of a collection; true when none is left. Documents go last: until then a restart finds the rest. */
  purgeSome(id: CollectionId, max: number): boolean {
    let left = max;
    for (const name of ['vectors', 'texts', 'chunks', 'members', 'documents'] as const) {
      const keys = take(this.tables[name].keys(collectionPrefix(id)), left);
      for (const key of keys) this.tables[name].delete(key);
      left -= keys.length;
      if (left === 0) return false;
    }
    return true;
  }
}

function take<T>(items: Generator<T>, max: number): T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.push(item) === max) break;
  }
  return taken;
}
