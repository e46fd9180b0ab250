// Read access to a shard: a snapshot of its tables, and the environment that a thread reads without owning it. Any
// thread that has the environment or attaches to it.
import type { CollectionRef } from '../api/collections.js';
import type { CollectionId, Ordinal } from '../api/ids.js';
import { type CollectionCounts, allCounts, readCounts } from './counts.js';
import { DamagedRecord } from './damage.js';
import {
  type ExpiringDocument,
  type ExpiryCounts,
  collectionsExpiring,
  documentsExpiring,
  expiredCounts,
  firstExpiry,
} from './expiries.js';
import {
  chunkKey,
  collectionOfKey,
  collectionPrefix,
  documentKey,
  generationPrefix,
  ordinalOfChunkKey,
  ordinalOfVectorKey,
  vectorKey,
} from './keys.js';
import { type JournalRecord, readRecords } from './journal.js';
import { type KeptAnswer, keptAnswers } from './kept-answers.js';
import { leavingIn } from './large-removal.js';
import { Environment } from './lmdb.js';
import {
  type ChunkRecord,
  type DocumentRecord,
  type MembersRecord,
  decodeChunk,
  decodeDocument,
  decodeMembers,
  decodeVector,
} from './records.js';
import { ALL, type Tables } from './table.js';

export const SHARD_TABLES = [
  'documents',
  'members',
  'chunks',
  'texts',
  'vectors',
  'counts',
  'changes',
  'leaving',
  'expiries',
  'journal',
  'dropped',
  'answers',
  'followers',
] as const;

/** One snapshot of a shard's tables, with what the shard has of every collection. */
export class ShardTxn {
  /** Cache of `leaving`, by collection. */
  protected readonly leavingIn = new Map<CollectionId, ReadonlySet<number>>();

  constructor(protected readonly tables: Tables<(typeof SHARD_TABLES)[number]>) {}

  /**
   * Ordinals of chunks that belong to removed documents and are still being deleted (large-removal.ts). No other method
   * shows these chunks.
   */
  leaving(id: CollectionId): ReadonlySet<number> {
    let ordinals = this.leavingIn.get(id);
    if (!ordinals) this.leavingIn.set(id, (ordinals = leavingIn(this.tables.leaving, id)));
    return ordinals;
  }

  /** Up to `max` answers that are kept of the items of a keyed request from `from` on. */
  keptAnswers(request: { log: CollectionId; key: string; from: number; max: number }): KeptAnswer[] {
    return keptAnswers(this.tables.answers, request);
  }

  document(id: CollectionId, docid: string): DocumentRecord | undefined {
    const bytes = this.tables.documents.get(documentKey(id, docid));
    return bytes && decodeDocument(bytes);
  }

  /** The chunks of a document; empty if it does not exist. */
  members(id: CollectionId, docid: string): MembersRecord {
    const bytes = this.tables.members.get(documentKey(id, docid));
    return bytes ? decodeMembers(bytes) : { ordinals: [], paths: [] };
  }

  /** A chunk that must exist. Throws DamagedRecord if it does not. */
  chunk(id: CollectionId, ordinal: Ordinal): ChunkRecord {
    const chunk = this.findChunk(id, ordinal);
    if (!chunk) throw new DamagedRecord(`chunk ${id}/${ordinal} is missing`);
    return chunk;
  }

  /** A chunk that may have been removed since its ordinal was read. */
  findChunk(id: CollectionId, ordinal: Ordinal): ChunkRecord | undefined {
    if (this.leaving(id).has(ordinal)) return undefined;
    const bytes = this.tables.chunks.get(chunkKey(id, ordinal));
    return bytes && decodeChunk(bytes);
  }

  /** The text of a chunk in UTF-8; undefined for chunks of vector documents. */
  text(id: CollectionId, ordinal: Ordinal): Buffer | undefined {
    return this.tables.texts.get(chunkKey(id, ordinal));
  }

  /** All texts of a collection from an ordinal on, in ascending order. */
  *texts(id: CollectionId, from: Ordinal): Generator<{ ordinal: Ordinal; source: string }> {
    const entries = this.tables.texts.entries(collectionPrefix(id), chunkKey(id, from));
    const leaving = this.leaving(id);
    for (const { key, value } of entries) {
      const ordinal = ordinalOfChunkKey(key);
      if (!leaving.has(ordinal)) yield { ordinal, source: value.toString() };
    }
  }

  /** All chunks of a collection from an ordinal on, in ascending order. */
  *chunks(id: CollectionId, from: Ordinal): Generator<{ ordinal: Ordinal; chunk: ChunkRecord }> {
    const entries = this.tables.chunks.entries(collectionPrefix(id), chunkKey(id, from));
    const leaving = this.leaving(id);
    for (const { key, value } of entries) {
      const ordinal = ordinalOfChunkKey(key);
      if (!leaving.has(ordinal)) yield { ordinal, chunk: decodeChunk(value) };
    }
  }

  /** The ordinal of the chunk with this path; undefined if there is none. */
  ordinalOf(id: CollectionId, docid: string, path: string): Ordinal | undefined {
    const members = this.members(id, docid);
    const at = members.paths.indexOf(path);
    return at < 0 ? undefined : (members.ordinals[at] as Ordinal);
  }

  /** Documents in the order of their keys, from the first one after the document `after` on, which need not exist. */
  *documents(id: CollectionId, after?: string): Generator<DocumentRecord> {
    const from = after === undefined ? collectionPrefix(id) : documentKey(id, after);
    for (const { value } of this.tables.documents.entries(collectionPrefix(id), from)) {
      const record = decodeDocument(value);
      if (record.docid !== after) yield record;
    }
  }

  /** Documents in descending order of their keys, from the last one before the document `before` on. */
  *documentsBelow(id: CollectionId, before?: string): Generator<DocumentRecord> {
    const end = before === undefined ? collectionPrefix((id + 1) as CollectionId) : documentKey(id, before);
    for (const { value } of this.tables.documents.entriesBelow(collectionPrefix(id), end)) yield decodeDocument(value);
  }

  /** The vector of a chunk in the collection's generation; undefined if it has none. */
  vector(ref: CollectionRef, ordinal: Ordinal): Float32Array | undefined {
    const bytes = this.tables.vectors.get(vectorKey(ref.id, ref.generation, ordinal));
    return bytes && vectorOf(ref, ordinal, bytes);
  }

  /** Vectors from an ordinal on, in ascending order of ordinals. */
  *vectors(ref: CollectionRef, from = 0 as Ordinal): Generator<{ ordinal: Ordinal; vector: Float32Array }> {
    const prefix = generationPrefix(ref.id, ref.generation);
    const leaving = this.leaving(ref.id);
    for (const { key, value } of this.tables.vectors.entries(prefix, vectorKey(ref.id, ref.generation, from))) {
      const ordinal = ordinalOfVectorKey(key);
      if (leaving.has(ordinal)) continue;
      yield { ordinal, vector: vectorOf(ref, ordinal, value) };
    }
  }

  /** The ordinals of all chunks of a collection from an ordinal on, in ascending order. */
  *ordinals(ref: CollectionRef, from: Ordinal): Generator<Ordinal> {
    const prefix = generationPrefix(ref.id, ref.generation);
    const leaving = this.leaving(ref.id);
    for (const key of this.tables.vectors.keys(prefix, vectorKey(ref.id, ref.generation, from))) {
      const ordinal = ordinalOfVectorKey(key);
      if (!leaving.has(ordinal)) yield ordinal;
    }
  }

  /**
   * The last ordinal of a collection, or the last one below another; perhaps of a document that is being removed.
   * Undefined if it has none.
   */
  lastOrdinal(ref: CollectionRef, below?: Ordinal): Ordinal | undefined {
    const prefix = generationPrefix(ref.id, ref.generation);
    const end = generationPrefix(ref.id, ref.generation + 1);
    const [key] = this.tables.vectors.keysBelow(
      prefix,
      below === undefined ? end : vectorKey(ref.id, ref.generation, below),
    );
    return key && ordinalOfVectorKey(key);
  }

  /** Counts of documents and chunks of a collection. */
  counts(id: CollectionId): CollectionCounts {
    return readCounts(this.tables.counts, id);
  }

  /** How many documents of a collection are stored though they have expired. */
  expiredCounts(id: CollectionId, nowS: number): ExpiryCounts {
    return expiredCounts(this.tables.expiries, id, nowS);
  }

  /** The first second in which a document of the collection expires; 0 if none does. */
  firstExpiry(id: CollectionId): number {
    return firstExpiry(this.tables.expiries, id);
  }

  /** Every collection behind `after` that has expiring documents, with the first second in which one expires. */
  collectionsExpiring(after?: CollectionId): Generator<{ id: CollectionId; first: number }> {
    return collectionsExpiring(this.tables.expiries, after);
  }

  /** The documents of a collection that expire, in the order of their seconds, behind the key `from`. */
  documentsExpiring(id: CollectionId, from?: Buffer): Generator<ExpiringDocument> {
    return documentsExpiring(this.tables.expiries, id, from);
  }

  /** The records of the journal from the one that begins with this command on. Throws DamagedRecord. */
  journal(first: number): Generator<JournalRecord> {
    return readRecords(this.tables.journal, first);
  }

  /** The dropped collections whose commands the journal still has. */
  *dropped(): Generator<CollectionId> {
    for (const key of this.tables.dropped.keys(ALL)) yield collectionOfKey(key);
  }

  /** The collections whose writes have to be made to another one as well, with that one. */
  *followers(): Generator<[CollectionId, CollectionId]> {
    for (const { key, value } of this.tables.followers.entries(ALL))
      yield [collectionOfKey(key), collectionOfKey(value)];
  }

  /** Counts of every collection that has documents in this shard. */
  allCounts(): Generator<CollectionCounts & { id: CollectionId }> {
    return allCounts(this.tables.counts);
  }
}

function vectorOf(ref: CollectionRef, ordinal: Ordinal, bytes: Buffer): Float32Array {
  if (bytes.length !== ref.dim * 4) throw new DamagedRecord(`vector ${ref.id}/${ordinal} has ${bytes.length} bytes`);
  return decodeVector(bytes);
}

/**
 * The document of a chunk. Throws DamagedRecord if it is missing, since chunks and their document are written in one
 * transaction.
 */
export function readDocument(txn: ShardTxn, id: CollectionId, docid: string): DocumentRecord {
  const document = txn.document(id, docid);
  if (!document) throw new DamagedRecord(`document of a chunk is missing in collection ${id}`);
  return document;
}

type State = Pick<DocumentRecord, 'version' | 'ingestedAtMs'>;

/**
 * Whether both records are the same version of a document. Versions start again after a deletion, so the time of ingest
 * is compared too.
 */
export const isSameDocument = (record: State, other: State | undefined): boolean =>
  record.version === other?.version && record.ingestedAtMs === other.ingestedAtMs;

/** A snapshot of all that was committed before it was taken. Whoever takes it must call `end` once. */
export interface Snapshot {
  readonly txn: ShardTxn;
  readonly end: () => void;
}

/**
 * Reads the environment of a shard that another thread owns. The owner opens and closes it, and keeps the shard's
 * memory open to readers only in between; all reads here happen within that time (Kernel.read).
 */
export class ShardReader {
  private env: Environment<(typeof SHARD_TABLES)[number]> | undefined;
  private incarnation = 0;

  constructor(private readonly directory: string) {}

  /**
   * Takes a snapshot. `incarnation` names the owner that has the environment open now. The handle to an earlier owner's
   * environment is abandoned with its kept transactions, without closing or ending them, since the next owner has closed
   * that environment.
   */
  snapshot(incarnation: number): Snapshot {
    if (!this.env || incarnation !== this.incarnation) {
      this.env = Environment.attach(this.directory, SHARD_TABLES);
      this.incarnation = incarnation;
    }
    const { tables, end } = this.env.snapshot();
    return { txn: new ShardTxn(tables), end };
  }
}
