// The store of one shard in LMDB: documents, their members (chunk ordinals), chunks, texts, vectors, counts, the log of
// changes, and the journal. Everything about one document changes in one transaction. Owner only.
import type { ReadGate } from '../base/read-gate.js';
import { AppError } from '../api/errors.js';
import type { CollectionId, DocId, Ordinal } from '../api/ids.js';
import type { CollectionRef } from '../api/collections.js';
import type { StoreMeter } from '../base/meters.js';
import { ChangeLog, type SegmentChange } from './change-log.js';
import { chunkKey, collectionPrefix, documentKey, vectorKey } from './keys.js';
import { DamagedRecord } from './damage.js';
import { ExpiryChanges } from './expiries.js';
import {
  type AppliedLog,
  Journal,
  type JournalOptions,
  type LogPosition,
  keyOfSequence,
  sequenceOf,
} from './journal.js';
import { Environment } from './lmdb.js';
import { type AnswerToKeep, forgetAnswers, keepAnswer, keptAnswer } from './kept-answers.js';
import { areCounted, clearCounts, countAll, CountChanges } from './counts.js';
import { blockKey, firstBlocks, putBlocks, type LeavingBlock } from './large-removal.js';
import {
  decodeChunk,
  encodeChunk,
  encodeDocument,
  encodeMembers,
  encodeVector,
  type ChunkRecord,
  type DocumentRecord,
} from './records.js';
import { SHARD_TABLES, ShardTxn } from './shard-reader.js';
import { ALL, type Table, type Tables, take } from './table.js';

const BLOCKS_PER_COMMIT = 32;
const NO_JOURNAL: JournalOptions = { bytesMax: 0 };

interface StoreOptions {
  meter?: StoreMeter;
  gate?: ReadGate;
  /** Without it the store keeps no journal. */
  journal?: JournalOptions;
}

/** A document as one transaction writes it. `vectors` holds `ref.dim` floats for each chunk. */
export interface StoredDocument {
  record: DocumentRecord;
  ordinals: Ordinal[];
  chunks: { path: string; metaJson: string; text?: string }[];
  vectors: Float32Array;
}

/** The store of a shard as its owner has it. */
export class ShardStore {
  /** The log of rows changed since the last checkpoint. */
  readonly changes: ChangeLog;

  private constructor(
    private readonly env: Environment<(typeof SHARD_TABLES)[number]>,
    /** The journal of the shard, if it keeps one. */
    readonly journal: Journal | undefined,
  ) {
    this.changes = new ChangeLog(env);
  }

  static open(directory: string, takeOver: boolean, { meter, gate, journal }: StoreOptions = {}): ShardStore {
    const env = Environment.open(directory, SHARD_TABLES, takeOver, meter, gate);
    // Counts can be computed again, so damage in them does not keep the store from opening.
    if (!env.read(({ counts }) => areCounted(counts))) env.write(countAll);
    const opened = new ShardStore(env, Journal.open(env, journal ?? NO_JOURNAL));
    opened.forgetDropped();
    return opened;
  }

  /** Forgets which collections were dropped by commands that the journal no longer has. */
  private forgetDropped(): void {
    const first = this.journal?.head.first ?? Infinity;
    const old = this.env.read(({ dropped }) =>
      Array.from(dropped.entries(ALL)).filter(({ value }) => sequenceOf(value) < first),
    );
    if (old.length > 0) this.env.write(({ dropped }) => old.forEach(({ key }) => dropped.delete(key)));
  }

  read<T>(work: (txn: ShardTxn) => T): T {
    return this.env.read((tables) => work(new ShardTxn(tables)));
  }

  /** Runs `work` in one synced commit. An exception aborts the whole transaction. */
  write<T>(work: (txn: ShardWriteTxn) => T): T {
    const { result, changed, head } = this.env.write((tables) => {
      const txn = new ShardWriteTxn(tables, this.journal !== undefined);
      const result = work(txn);
      txn.countChanges.writeTo(tables.counts);
      txn.expiryChanges.write();
      return {
        result,
        changed: this.changes.append(tables.changes, txn.segmentChanges),
        head: this.journal?.append(tables.journal, txn.commands),
      };
    });
    this.changes.state = changed;
    if (head) this.journal?.committed(head);
    return result;
  }

  /** Copies the environment into a folder (lmdb.ts). */
  copyTo(directory: string): Promise<void> {
    return this.env.copyTo(directory);
  }

  appliedLog(): AppliedLog | null {
    return this.journal?.appliedLog(this.env) ?? null;
  }

  /** Takes note that everything up to this position of the command log has been applied. */
  advance(position: LogPosition): void {
    const { journal } = this;
    if (!journal) return;
    journal.applying = position;
    try {
      this.write(() => undefined);
    } finally {
      journal.applying = undefined;
    }
  }

  /**
   * Deletes the chunks of removed documents that the previous owner had not finished. Requires that no segment is in
   * memory. A damaged block stays, and is reported when its collection is used.
   */
  finishLeaving(): void {
    try {
      for (;;) {
        const blocks = this.env.read(({ leaving }) => firstBlocks(leaving, BLOCKS_PER_COMMIT));
        if (blocks.length === 0) return;
        this.write((txn) => blocks.forEach((block) => txn.removeBlock(block)));
      }
    } catch (error) {
      // A full disk does not accept deletions either; they wait for the next start.
      if (!(error instanceof DamagedRecord) && !(error instanceof AppError)) throw error;
    }
  }

  close(): void {
    this.env.close();
  }
}

/** A write transaction of a shard. */
export class ShardWriteTxn extends ShardTxn {
  /** Count changes by the documents that this transaction writes and removes. */
  readonly countChanges = new CountChanges();
  /** Changes of the index of expiring documents by the same documents. */
  readonly expiryChanges = new ExpiryChanges(this.tables.expiries);
  /** Rows that this transaction changes, for the log. */
  readonly segmentChanges: SegmentChange[] = [];
  /** The commands that this transaction applies, for the journal. */
  readonly commands: Buffer[] = [];

  constructor(
    tables: Tables<(typeof SHARD_TABLES)[number]>,
    private readonly isJournaled: boolean,
  ) {
    super(tables);
  }

  /** Records that a collection has been dropped by the next command of the journal. */
  drop(id: CollectionId, sequence: number): void {
    this.tables.dropped.put(collectionPrefix(id), keyOfSequence(sequence));
  }

  /** Makes another collection the follower of this one; none if it is null. */
  setFollower(id: CollectionId, follower: CollectionId | null): void {
    const key = collectionPrefix(id);
    if (follower === null) this.tables.followers.delete(key);
    else this.tables.followers.put(key, collectionPrefix(follower));
  }

  /** Takes note of a command that this transaction has applied, if there is a journal. */
  note(pack: () => Buffer): void {
    if (this.isJournaled) this.commands.push(pack());
  }

  /** The answer that a keyed write has been given before. Throws 422 `idempotency_key_reused`. */
  keptAnswer(keep: AnswerToKeep): object | undefined {
    return keptAnswer(this.tables.answers, keep);
  }

  /** Keeps the answer of a keyed write, in the transaction of the write. */
  keepAnswer(keep: AnswerToKeep, answer: object): void {
    keepAnswer(this.tables.answers, keep, answer);
  }

  /** Forgets up to `max` kept answers from before second `sinceS`. Returns how many. */
  forgetAnswers(sinceS: number, max: number): number {
    return forgetAnswers(this.tables.answers, sinceS, max);
  }

  /** Writes a document. Its previous version, if any, must have been removed in the same transaction. */
  putDocument(ref: CollectionRef, { record, ordinals, chunks, vectors }: StoredDocument): void {
    const key = documentKey(ref.id, record.docid);
    this.countChanges.put(ref.id, record);
    this.expiryChanges.put(ref.id, record);
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

  /** Writes a document whose chunks stay as they are. Its previous version `before` must exist. */
  replaceRecord(id: CollectionId, before: DocumentRecord, record: DocumentRecord): void {
    this.countChanges.remove(id, before);
    this.countChanges.put(id, record);
    this.expiryChanges.remove(id, before);
    this.expiryChanges.put(id, record);
    this.tables.documents.put(documentKey(id, record.docid), encodeDocument(record));
  }

  /** Removes a document with all its chunks, if it exists. Returns the ordinals that become free. */
  removeDocument(ref: CollectionRef, docid: DocId): Ordinal[] {
    const record = this.document(ref.id, docid);
    if (!record) return [];
    this.countChanges.remove(ref.id, record);
    this.expiryChanges.remove(ref.id, record);
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

  /**
   * Removes a document like `removeDocument`, except for its chunks, which are deleted by `removeBlock`. Requires that
   * the document exists.
   */
  leaveDocument(ref: CollectionRef, record: DocumentRecord): LeavingBlock[] {
    const key = documentKey(ref.id, record.docid);
    const ordinals = this.members(ref.id, record.docid).ordinals as Ordinal[];
    this.countChanges.remove(ref.id, record);
    this.expiryChanges.remove(ref.id, record);
    this.tables.members.delete(key);
    this.tables.documents.delete(key);
    this.leavingIn.delete(ref.id);
    return putBlocks(this.tables.leaving, { id: ref.id, generation: ref.generation, ordinals });
  }

  /** Chunk and text of an ordinal under removal, for the indexes that contain it. */
  leavingChunk(id: CollectionId, ordinal: Ordinal): { chunk: ChunkRecord | undefined; text: string | undefined } {
    const bytes = this.tables.chunks.get(chunkKey(id, ordinal));
    return { chunk: bytes && decodeChunk(bytes), text: this.text(id, ordinal)?.toString() };
  }

  /** Deletes the chunks of a block. */
  removeBlock(block: LeavingBlock): void {
    const { id, generation, ordinals } = block;
    for (const ordinal of ordinals) {
      this.tables.chunks.delete(chunkKey(id, ordinal));
      this.tables.texts.delete(chunkKey(id, ordinal));
      this.tables.vectors.delete(vectorKey(id, generation, ordinal));
    }
    this.tables.leaving.delete(blockKey(block));
    this.leavingIn.delete(id);
  }

  /**
   * Gives chunks other ordinals, which must be free. `moves` maps old to new ordinals. Nothing else of their documents
   * changes.
   */
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
   * Deletes up to `max` entries of a collection. Returns true when none is left. The counts are cleared last, so that
   * until then a restart finds the rest.
   */
  purgeSome(id: CollectionId, max: number): boolean {
    let left = max;
    for (const name of ['leaving', 'expiries', 'vectors', 'texts', 'chunks', 'members', 'documents'] as const) {
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
