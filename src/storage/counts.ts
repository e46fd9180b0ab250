// The number of documents and chunks of each collection in a shard, kept in the store so that it is known without
// loading anything. Counts change in the transaction that changes the documents, so no crash makes them wrong.
// Neighbouring collection ids share a record: the counts of ten thousand collections are read in a millisecond when a
// shard is opened. The owner writes; any thread that reads the environment may read them.
import type { CollectionId } from '../api/ids.js';
import { collectionOfKey, collectionPrefix } from './keys.js';
import { DamagedRecord } from './damage.js';
import { decodeDocument, RECORD_VERSION, type DocumentRecord } from './records.js';
import { ALL, type Table, isWhole, removeAll } from './table.js';

export interface CollectionCounts {
  documents: number;
  chunks: number;
  /** Number of documents whose priority is not 0. */
  prioritized: number;
}

const NAMES = ['documents', 'chunks', 'prioritized'] as const;
/** Collections that share a record, which then fits into half a page of LMDB. */
const PER_RECORD = 64;
const COUNT_BYTES = 6;
const ENTRY_BYTES = NAMES.length * COUNT_BYTES;
const RECORD_BYTES = 1 + PER_RECORD * ENTRY_BYTES;

/** The key of a marker that says that every collection is counted. It sorts before all records. */
const COMPLETE = Buffer.from([0]);
const FIRST_RECORD = Buffer.alloc(4);

/** The counts of a collection; zeros if it has no documents. */
export function readCounts(counts: Table, id: CollectionId): CollectionCounts {
  const record = counts.get(keyOf(id));
  return record ? countsIn(checked(record), id % PER_RECORD) : { documents: 0, chunks: 0, prioritized: 0 };
}

/** The counts of every collection that has documents, in ascending order of ids. */
export function* allCounts(counts: Table): Generator<CollectionCounts & { id: CollectionId }> {
  for (const { key, value } of counts.entries(ALL, FIRST_RECORD)) {
    const record = checked(value);
    for (let place = 0; place < PER_RECORD; place++) {
      const found = countsIn(record, place);
      if (found.documents > 0) yield { id: (key.readUInt32BE() * PER_RECORD + place) as CollectionId, ...found };
    }
  }
}

/** The count changes of one transaction, written once at its end. */
export class CountChanges {
  private readonly changes = new Map<CollectionId, CollectionCounts>();

  put(id: CollectionId, document: DocumentRecord): void {
    this.add(id, document, 1);
  }

  remove(id: CollectionId, document: DocumentRecord): void {
    this.add(id, document, -1);
  }

  writeTo(counts: Table): void {
    for (const [id, { documents, chunks, prioritized }] of this.changes) {
      const before = readCounts(counts, id);
      writeCounts(counts, id, {
        documents: before.documents + documents,
        chunks: before.chunks + chunks,
        prioritized: before.prioritized + prioritized,
      });
    }
  }

  private add(id: CollectionId, { chunkCount, priority }: DocumentRecord, sign: 1 | -1): void {
    const change = this.changes.get(id) ?? { documents: 0, chunks: 0, prioritized: 0 };
    change.documents += sign;
    change.chunks += sign * chunkCount;
    change.prioritized += priority === 0 ? 0 : sign;
    this.changes.set(id, change);
  }
}

/** Resets the counts of a collection whose documents have all been removed. */
export function clearCounts(counts: Table, id: CollectionId): void {
  if (counts.has(keyOf(id))) writeCounts(counts, id, { documents: 0, chunks: 0, prioritized: 0 });
}

/**
 * Whether every collection is counted and no record is damaged. A store from before there were counts has to be counted
 * first.
 */
export const areCounted = (counts: Table): boolean => counts.has(COMPLETE) && isWhole(counts);

/** Counts all documents by reading them; damaged ones are left out. */
export function countAll({ documents, counts }: Record<'documents' | 'counts', Table>): void {
  const found = new CountChanges();
  removeAll(counts);
  for (const { key, value } of documents.inspect(ALL))
    if (value) found.put(collectionOfKey(key), decodeDocument(value));
  found.writeTo(counts);
  counts.put(COMPLETE, Buffer.from([RECORD_VERSION]));
}

const keyOf = (id: CollectionId): Buffer => collectionPrefix(Math.floor(id / PER_RECORD) as CollectionId);

function writeCounts(counts: Table, id: CollectionId, changed: CollectionCounts): void {
  const record = checked(counts.get(keyOf(id)) ?? emptyRecord());
  NAMES.forEach((name, n) => record.writeUIntBE(changed[name], placeOf(id % PER_RECORD, n), COUNT_BYTES));
  counts.put(keyOf(id), record);
}

function countsIn(record: Buffer, place: number): CollectionCounts {
  const [documents, chunks, prioritized] = NAMES.map((_, n) => record.readUIntBE(placeOf(place, n), COUNT_BYTES)) as [
    number,
    number,
    number,
  ];
  return { documents, chunks, prioritized };
}

const placeOf = (place: number, n: number): number => 1 + place * ENTRY_BYTES + n * COUNT_BYTES;

function emptyRecord(): Buffer {
  const record = Buffer.alloc(RECORD_BYTES);
  record[0] = RECORD_VERSION;
  return record;
}

function checked(record: Buffer): Buffer {
  if (record[0] !== RECORD_VERSION || record.length !== RECORD_BYTES)
    throw new DamagedRecord(`counts: version ${record[0]}, ${record.length} bytes`);
  return record;
}
