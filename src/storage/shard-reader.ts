// What can be read of a shard: one snapshot of its tables, and the environment that a thread reads in without owning
// it. Any thread that has the environment or attaches to it.
import type { CollectionRef } from '../api/collections.js';
import type { CollectionId, Ordinal } from '../api/ids.js';
import { type PartCounts, allCounts, readCounts } from './counts.js';
import { DamagedRecord } from './damage.js';
import {
  chunkKey,
  collectionPrefix,
  documentKey,
  generationPrefix,
  ordinalOfChunkKey,
  ordinalOfVectorKey,
  vectorKey,
} from './keys.js';
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
import type { Tables } from './table.js';

export const SHARD_TABLES = [
  'documents',
  'members',
  'chunks',
  'texts',
  'vectors',
  'counts',
  'changes',
  'leaving',
] as const;

/** What can be read of a shard's part of every collection, in one snapshot of its tables. */
export class ShardTxn {
  /** Of the collections that were asked for. */
  protected readonly leavingIn = new Map<CollectionId, ReadonlySet<number>>();

  constructor(protected readonly tables: Tables<(typeof SHARD_TABLES)[number]>) {}

  /**
   * Ordinals of documents that are gone and whose chunks are still being removed (large-removal.ts): nothing here shows
   * these chunks any more.
   */
  leaving(id: CollectionId): ReadonlySet<number> {
    let ordinals = this.leavingIn.get(id);
    if (!ordinals) this.leavingIn.set(id, (ordinals = leavingIn(this.tables.leaving, id)));
    return ordinals;
  }

  document(id: CollectionId, docid: string): DocumentRecord | undefined {
    const bytes = this.tables.documents.get(documentKey(id, docid));
    return bytes && decodeDocument(bytes);
  }

  /** The chunks of a document; empty when it does not exist. */
  members(id: CollectionId, docid: string): MembersRecord {
    const bytes = this.tables.members.get(documentKey(id, docid));
    return bytes ? decodeMembers(bytes) : { ordinals: [], paths: [] };
  }

  /** Of a chunk that must be there. */
  chunk(id: CollectionId, ordinal: Ordinal): ChunkRecord {
    const chunk = this.findChunk(id, ordinal);
    if (!chunk) throw new DamagedRecord(`chunk ${id}/${ordinal} is missing`);
    return chunk;
  }

  /** Of a chunk that may have gone since its ordinal was known. */
  findChunk(id: CollectionId, ordinal: Ordinal): ChunkRecord | undefined {
    if (this.leaving(id).has(ordinal)) return undefined;
    const bytes = this.tables.chunks.get(chunkKey(id, ordinal));
    return bytes && decodeChunk(bytes);
  }

  /** The text of a chunk as its UTF-8 bytes; undefined for chunks of vector documents. */
  text(id: CollectionId, ordinal: Ordinal): Buffer | undefined {
    return this.tables.texts.get(chunkKey(id, ordinal));
  }

  /** All texts of a collection from an ordinal on, in the order of ordinals. */
  *texts(id: CollectionId, from: Ordinal): Generator<{ ordinal: Ordinal; source: string }> {
    const entries = this.tables.texts.entries(collectionPrefix(id), chunkKey(id, from));
    const leaving = this.leaving(id);
    for (const { key, value } of entries) {
      const ordinal = ordinalOfChunkKey(key);
      if (!leaving.has(ordinal)) yield { ordinal, source: value.toString() };
    }
  }

  /** All chunks of a collection from an ordinal on, in the order of ordinals. */
  *chunks(id: CollectionId, from: Ordinal): Generator<{ ordinal: Ordinal; chunk: ChunkRecord }> {
    const entries = this.tables.chunks.entries(collectionPrefix(id), chunkKey(id, from));
    const leaving = this.leaving(id);
    for (const { key, value } of entries) {
      const ordinal = ordinalOfChunkKey(key);
      if (!leaving.has(ordinal)) yield { ordinal, chunk: decodeChunk(value) };
    }
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

  /** In the order of ordinals, from one on. */
  *vectors(ref: CollectionRef, from = 0 as Ordinal): Generator<{ ordinal: Ordinal; vector: Float32Array }> {
    const prefix = generationPrefix(ref.id, ref.generation);
    const leaving = this.leaving(ref.id);
    for (const { key, value } of this.tables.vectors.entries(prefix, vectorKey(ref.id, ref.generation, from))) {
      const ordinal = ordinalOfVectorKey(key);
      if (leaving.has(ordinal)) continue;
      yield { ordinal, vector: vectorOf(ref, ordinal, value) };
    }
  }

  /** Documents and chunks of a collection. */
  counts(id: CollectionId): PartCounts {
    return readCounts(this.tables.counts, id);
  }

  /** Of every collection that has anything here. */
  allCounts(): Generator<PartCounts & { id: CollectionId }> {
    return allCounts(this.tables.counts);
  }
}

function vectorOf(ref: CollectionRef, ordinal: Ordinal, bytes: Buffer): Float32Array {
  if (bytes.length !== ref.dim * 4) throw new DamagedRecord(`vector ${ref.id}/${ordinal} has ${bytes.length} bytes`);
  return decodeVector(bytes);
}

/** Throws DamagedRecord where it is missing: chunks and their document are written in one transaction. */
export function readDocument(txn: ShardTxn, id: CollectionId, docid: string): DocumentRecord {
  const document = txn.document(id, docid);
  if (!document) throw new DamagedRecord(`document of a chunk is missing in collection ${id}`);
  return document;
}

type State = Pick<DocumentRecord, 'version' | 'ingestedAtMs'>;

/** Versions begin anew after a deletion: then the time tells them apart. */
export const isSameDocument = (record: State, other: State | undefined): boolean =>
  record.version === other?.version && record.ingestedAtMs === other.ingestedAtMs;

/** All that was committed before it was taken. It is ended once, by whoever took it. */
export interface Snapshot {
  readonly txn: ShardTxn;
  readonly end: () => void;
}

/**
 * Reads in the environment of a shard that another thread owns. The owner opens and closes it; between the two it keeps
 * the shard's memory open to readers, and these read here within that time only (Kernel.read).
 */
export class ShardReader {
  private env: Environment<(typeof SHARD_TABLES)[number]> | undefined;
  private incarnation = 0;

  constructor(private readonly directory: string) {}

  /**
   * `incarnation` names the owner who has the environment open now. The handle of an earlier one is left as it is: what
   * it led to was closed by the owner that came next.
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
