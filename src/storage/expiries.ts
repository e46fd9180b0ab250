// The index of expiring documents: which documents of a collection expire in which second, and how many they are. An
// entry (collection, second, document) names a document, and an entry (collection, second), which sorts before them,
// counts those of its second. A collection without expiring documents has no entry. Entries change in the transaction
// that changes their document. The owner writes; any thread that reads the environment may read the index.
import type { CollectionId, DocId } from '../api/ids.js';
import { DamagedRecord } from './damage.js';
import { collectionOfKey, collectionPrefix, documentKey } from './keys.js';
import { type DocumentRecord, decode, decodeDocument, encode } from './records.js';
import { ALL, type Table, removeAll } from './table.js';

/** Stands for a document that does not expire. Times are whole seconds since 1970 and fit into 32 bits. */
const NEVER = 0;

/** Whether a document has expired in second `nowS`: it is gone from then on, stored or not. */
export const isExpired = ({ expiresAtS }: Pick<DocumentRecord, 'expiresAtS'>, nowS: number): boolean =>
  expiresAtS !== NEVER && expiresAtS <= nowS;

/** Documents and chunks of one second, or of several. */
export interface ExpiryCounts {
  documents: number;
  chunks: number;
}

const PREFIX_BYTES = 8;

function secondKey(id: CollectionId, second: number): Buffer {
  const key = Buffer.allocUnsafe(PREFIX_BYTES);
  key.writeUInt32BE(id, 0);
  key.writeUInt32BE(second, 4);
  return key;
}

const secondOf = (key: Buffer): number => key.readUInt32BE(4);

/** As in the key of the document, a long id is cut and has its digest. */
const entryKey = (id: CollectionId, second: number, docid: DocId): Buffer =>
  Buffer.concat([secondKey(id, second), documentKey(id, docid).subarray(4)]);

function decodeCounts(value: Buffer): ExpiryCounts {
  const [documents, chunks] = decode(value, ['number', 'number'], 'expiring documents') as [number, number];
  return { documents, chunks };
}

/** The changes of the index by one transaction, written once at its end. */
export class ExpiryChanges {
  private readonly changes = new Map<string, { id: CollectionId; second: number } & ExpiryCounts>();

  constructor(private readonly table: Table) {}

  put(id: CollectionId, record: DocumentRecord): void {
    if (record.expiresAtS === NEVER) return;
    this.table.put(entryKey(id, record.expiresAtS, record.docid), Buffer.from(record.docid));
    this.count(id, record, 1);
  }

  remove(id: CollectionId, record: DocumentRecord): void {
    if (record.expiresAtS === NEVER) return;
    this.table.delete(entryKey(id, record.expiresAtS, record.docid));
    this.count(id, record, -1);
  }

  write(): void {
    for (const { id, second, documents, chunks } of this.changes.values()) {
      const key = secondKey(id, second);
      const value = this.table.get(key);
      const before = value ? decodeCounts(value) : { documents: 0, chunks: 0 };
      const after = { documents: before.documents + documents, chunks: before.chunks + chunks };
      if (after.documents > 0) this.table.put(key, encode([after.documents, after.chunks]));
      else if (value) this.table.delete(key);
    }
  }

  private count(id: CollectionId, { expiresAtS: second, chunkCount }: DocumentRecord, sign: 1 | -1): void {
    const name = `${id}/${second}`;
    const change = this.changes.get(name) ?? { id, second, documents: 0, chunks: 0 };
    change.documents += sign;
    change.chunks += sign * chunkCount;
    this.changes.set(name, change);
  }
}

/** The first second in which a document of the collection expires; NEVER if none does. */
export function firstExpiry(table: Table, id: CollectionId): number {
  for (const key of table.keys(collectionPrefix(id))) return secondOf(key);
  return NEVER;
}

/** Every collection behind `after` that has expiring documents, with the first second in which one expires. */
export function* collectionsExpiring(
  table: Table,
  after?: CollectionId,
): Generator<{ id: CollectionId; first: number }> {
  for (let from = after === undefined ? ALL : collectionPrefix((after + 1) as CollectionId); ; ) {
    const key = first(table.entries(ALL, from))?.key;
    if (!key) return;
    const id = collectionOfKey(key);
    yield { id, first: secondOf(key) };
    from = collectionPrefix((id + 1) as CollectionId);
  }
}

/** How many documents of the collection are stored though they have expired. Takes a step for each of their seconds. */
export function expiredCounts(table: Table, id: CollectionId, nowS: number): ExpiryCounts {
  const sum = { documents: 0, chunks: 0 };
  for (let from = collectionPrefix(id); ; ) {
    const { key, value } = first(table.entries(collectionPrefix(id), from)) ?? {};
    if (!key || !value || secondOf(key) > nowS) return sum;
    if (key.length > PREFIX_BYTES)
      throw new DamagedRecord(`the expiring documents of collection ${id} are not counted`);
    const { documents, chunks } = decodeCounts(value);
    sum.documents += documents;
    sum.chunks += chunks;
    from = secondKey(id, secondOf(key) + 1);
  }
}

/** A document in the order of the index. */
export interface ExpiringDocument {
  docid: DocId;
  second: number;
  /** Give it as `from` to go on behind this document. */
  key: Buffer;
}

/** The documents of a collection that expire, in the order of their seconds, behind the key `from`. */
export function* documentsExpiring(table: Table, id: CollectionId, from?: Buffer): Generator<ExpiringDocument> {
  for (const { key, value } of table.entries(collectionPrefix(id), from))
    if (key.length > PREFIX_BYTES && !(from && key.equals(from)))
      yield { docid: value.toString() as DocId, second: secondOf(key), key };
}

/** Makes the index again from the documents, after they have been repaired; damaged ones are left out. */
export function indexExpiries({ documents, expiries }: Record<'documents' | 'expiries', Table>): void {
  removeAll(expiries);
  const changes = new ExpiryChanges(expiries);
  for (const { key, value } of documents.inspect(ALL))
    if (value) changes.put(collectionOfKey(key), decodeDocument(value));
  changes.write();
}

/** What the index has of a collection, to be compared with its documents: the second of each document by its key. */
export function expiriesIn(table: Table, id: CollectionId): { seconds: Map<string, number>; areCountsRight: boolean } {
  const seconds = new Map<string, number>();
  const counts = new Map<number, number>();
  let areCountsRight = true;
  for (const { key, value } of table.inspect(collectionPrefix(id))) {
    if (!value || key.length < PREFIX_BYTES) areCountsRight = false;
    else if (key.length === PREFIX_BYTES) counts.set(secondOf(key), decodeCounts(value).documents);
    else {
      seconds.set(key.toString('hex', PREFIX_BYTES), secondOf(key));
      counts.set(secondOf(key), (counts.get(secondOf(key)) ?? 0) - 1);
    }
  }
  return { seconds, areCountsRight: areCountsRight && [...counts.values()].every((left) => left === 0) };
}

function first<T>(items: Generator<T>): T | undefined {
  for (const item of items) return item;
  return undefined;
}
