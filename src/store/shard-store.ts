// A shard's part of every collection in LMDB: documents, their members (chunk ordinals), chunks, texts, vectors; and
// the log of changes. Owned by one shard worker. Everything about one document changes in one transaction.
import type { Latch } from '../base/latch.js';
import type { CollectionId, DocId, Ordinal } from '../contract/ids.js';
import type { CollectionRef } from '../contract/messages.js';
import type { StoreMeter } from '../contract/shared-meters.js';
import { ChangeLog, type PartChange } from './change-log.js';
import { chunkKey, collectionPrefix, documentKey, vectorKey } from './keys.js';
import { Environment } from './lmdb.js';
import { areCounted, clearCounts, countAll, CountChanges } from './part-counts.js';
import { encodeChunk, encodeDocument, encodeMembers, encodeVector, type DocumentRecord } from './records.js';
import { SHARD_TABLES, ShardTxn } from './shard-txn.js';
import type { Table } from './tables.js';

/** A document as one transaction writes it. `vectors` holds one row of `ref.dim` floats a chunk. */
export interface StoredDocument {
  record: DocumentRecord;
  ordinals: Ordinal[];
  chunks: { path: string; metaJson: string; text?: string }[];
  vectors: Float32Array;
}

export class ShardStore {
  /** Of the rows that commits have changed since the last checkpoint. */
  readonly changes: ChangeLog;

  private constructor(private readonly env: Environment<(typeof SHARD_TABLES)[number]>) {
    this.changes = new ChangeLog(env);
  }

  static open(directory: string, takeOver: boolean, meter?: StoreMeter, latch?: Latch): ShardStore {
    const env = Environment.open(directory, SHARD_TABLES, takeOver, meter, latch);
    // Counts can be made again, so damage in them stops nobody.
    if (!env.read(({ counts }) => areCounted(counts))) env.write(countAll);
    return new ShardStore(env);
  }

  read<T>(work: (txn: ShardTxn) => T): T {
    return this.env.read((tables) => work(new ShardTxn(tables)));
  }

  /** One synced commit; what `work` throws aborts it whole. */
  write<T>(work: (txn: ShardWriteTxn) => T): T {
    const { result, changed } = this.env.write((tables) => {
      const txn = new ShardWriteTxn(tables);
      const result = work(txn);
      txn.countChanges.writeTo(tables.counts);
      return { result, changed: this.changes.append(tables.changes, txn.partChanges) };
    });
    this.changes.state = changed;
    return result;
  }

  close(): void {
    this.env.close();
  }
}

export class ShardWriteTxn extends ShardTxn {
  /** Of the documents that this transaction writes and removes. */
  readonly countChanges = new CountChanges();
  /** Of the rows that it changes: for the log. */
  readonly partChanges: PartChange[] = [];

  /** Writes a document whose older revision, if any, has been removed in the same transaction. */
  putDocument(ref: CollectionRef, { record, ordinals, chunks, vectors }: StoredDocument): void {
    const key = documentKey(ref.id, record.docid);
    this.countChanges.put(ref.id, record);
    this.tables.documents.put(key, encodeDocument(record));
    this.tables.members.put(key, encodeMembers({ ordinals, paths: chunks.map(({ path }) => path) }));
    chunks.forEach(({ path, metaJson, text }, index) => {
      const ordinal = ordinals[index] as Ordinal;
      const at = chunkKey(ref.id, ordinal);
      this.tables.chunks.put(at, encodeChunk({ docid: record.docid, path, index, metaJson }));
      if (text !== undefined) this.tables.texts.put(at, Buffer.from(text));
      this.tables.vectors.put(
        vectorKey(ref.id, ref.generation, ordinal),
        encodeVector(vectors.subarray(index * ref.dim, (index + 1) * ref.dim)),
      );
    });
  }

  /** Removes a document with all of its chunks, if it is there; answers the ordinals that fall free. */
  removeDocument(ref: CollectionRef, docid: DocId): Ordinal[] {
    const record = this.document(ref.id, docid);
    if (!record) return [];
    this.countChanges.remove(ref.id, record);
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

  /** Gives chunks other ordinals, which are free: [from, to]. Nothing else of their documents changes. */
  moveChunks(ref: CollectionRef, moves: ReadonlyMap<Ordinal, Ordinal>): void {
    const docids = new Set<string>();
    for (const [from, to] of moves) {
      docids.add(this.chunk(ref.id, from).docid);
      moveEntry(this.tables.chunks, chunkKey(ref.id, from), chunkKey(ref.id, to));
      moveEntry(this.tables.texts, chunkKey(ref.id, from), chunkKey(ref.id, to));
      moveEntry(this.tables.vectors, vectorKey(ref.id, ref.generation, from), vectorKey(ref.id, ref.generation, to));
    }
    for (const docid of docids) {
      const { ordinals, paths } = this.members(ref.id, docid);
      this.tables.members.put(
        documentKey(ref.id, docid),
        encodeMembers({ ordinals: ordinals.map((ordinal) => moves.get(ordinal as Ordinal) ?? ordinal), paths }),
      );
    }
  }

  /**
   * Removes up to `max` entries of a collection; true when none is left. Its counts go last: until then a restart finds
   * the rest.
   */
  purgeSome(id: CollectionId, max: number): boolean {
    let left = max;
    for (const name of ['vectors', 'texts', 'chunks', 'members', 'documents'] as const) {
      const keys = take(this.tables[name].keys(collectionPrefix(id)), left);
      for (const key of keys) this.tables[name].delete(key);
      left -= keys.length;
      if (left === 0) return false;
    }
    clearCounts(this.tables.counts, id);
    return true;
  }
}

function moveEntry(table: Table, from: Buffer, to: Buffer): void {
  const value = table.get(from);
  if (!value) return;
  table.put(to, value);
  table.delete(from);
}

function take<T>(items: Generator<T>, max: number): T[] {
  const taken: T[] = [];
  for (const item of items) {
    if (taken.push(item) === max) break;
  }
  return taken;
}
