// Applies a batch of writes: one synced transaction for all of them, then their publication to shared memory.
// Rule: rows are staged (unseen) before the commit, published after it; old rows go after the new ones have come. A
// batch that fails to commit leaves store and memory as they were. A document goes to the twins of its collection in
// the same transaction. Reads no clock and no random number.
import { assert } from '../../src/base/assert.js';
import { AppError } from '../../src/contract/errors.js';
import type { CollectionId, DocId, Ordinal } from '../../src/contract/ids.js';
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import type { Outcome } from '../../src/contract/errors.js';
import type { CollectionRef } from '../../src/contract/resources.js';
import { unshared } from '../../src/base/bytes.js';
import { unpackDocument, type PreparedDocument } from '../../src/contract/prepared-document.js';
import { LEAVING_CHUNKS_MIN } from '../../src/store/leaving.js';
import type { ShardWriteTxn } from '../../src/store/shard-store.js';
import { isSameDocument } from './documents.js';
import { refusalOf } from './refusal.js';
import { RowChanges } from './row-changes.js';
import type { Shard } from './shard.js';

/** One document of a `putStaged`. */
interface StagedPut {
  op: 'putStaged';
  collection: CollectionRef;
  source?: CollectionId;
  document: Uint8Array;
  version: number;
  vectors: Float32Array;
}

export type DocumentWrite = ShardRequest<'put'> | StagedPut | ShardRequest<'deleteDocument'>;
export type WriteAnswer = ShardAnswer<'put'> | ShardAnswer<'deleteDocument'>;

interface Target {
  ref: CollectionRef;
  vectors: Float32Array;
}

/**
 * Applies `writes` in order; one that is refused harms no other. Throws when the commit fails: then none is applied.
 */
export function applyWrites(shard: Shard, writes: readonly DocumentWrite[]): Outcome<WriteAnswer>[] {
  const batch = new WriteBatch(shard);
  try {
    const outcomes = shard.store.write((txn) => batch.applyAll(txn, writes));
    batch.rows.publish();
    return outcomes;
  } catch (error) {
    batch.rows.discard();
    throw error;
  }
}

class WriteBatch {
  readonly rows: RowChanges;

  constructor(private readonly shard: Shard) {
    this.rows = new RowChanges(shard);
  }

  applyAll(txn: ShardWriteTxn, writes: readonly DocumentWrite[]): Outcome<WriteAnswer>[] {
    const outcomes = writes.map((write) => this.apply(txn, write));
    this.rows.log(txn);
    return outcomes;
  }

  private apply(txn: ShardWriteTxn, write: DocumentWrite): Outcome<WriteAnswer> {
    try {
      return { value: this.answer(txn, write) };
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      return { error: refusal.toWire() };
    }
  }

  private answer(txn: ShardWriteTxn, write: DocumentWrite): WriteAnswer {
    if (write.op === 'put') return this.put(txn, write);
    if (write.op === 'putStaged') return this.putStaged(txn, write);
    return this.remove(txn, write);
  }

  /** All that can be refused is refused before the transaction is touched. */
  private put(
    txn: ShardWriteTxn,
    { collection: ref, document, vectors, room = Infinity, twins = [] }: ShardRequest<'put'>,
  ): ShardAnswer<'put'> {
    const prepared = unpackDocument(document);
    const { docid, chunks } = prepared;
    this.bring(txn, ref);
    const previous = txn.document(ref.id, docid);
    if (chunks.length - (previous?.chunkCount ?? 0) > room) throw new AppError('chunk_limit_reached');
    const version = (previous?.version ?? 0) + 1;
    const rows = unshared(vectors);
    const present = twins.filter(({ collection }) => !this.shard.isDropped(collection.id));
    for (const { collection } of present) this.bring(txn, collection);
    const filled = present.flatMap(({ collection, vectors: own }) =>
      own === null ? [] : [{ ref: collection, vectors: own === 'same' ? rows : unshared(own) }],
    );
    this.store(txn, prepared, version, [{ ref, vectors: rows }, ...filled]);
    for (const twin of present) if (twin.vectors === null) this.removeStored(txn, twin.collection, docid);
    return { chunks: chunks.length, version };
  }

  /**
   * What the staged collection has is as new as the source: writes go to both from its beginning. So nothing newer is
   * written over.
   */
  private putStaged(
    txn: ShardWriteTxn,
    { collection: ref, source, document, version, vectors }: StagedPut,
  ): WriteAnswer {
    const prepared = unpackDocument(document);
    const isThere = (id: CollectionId): boolean =>
      isSameDocument({ version, ingestedAtMs: prepared.ingestedAtMs }, txn.document(id, prepared.docid));
    this.bring(txn, ref);
    if (isThere(ref.id) || (source !== undefined && !isThere(source))) return { chunks: 0 };
    this.store(txn, prepared, version, [{ ref, vectors: unshared(vectors) }]);
    return { chunks: prepared.chunks.length };
  }

  /** In place of what there is of the document in each of the collections. */
  private store(
    txn: ShardWriteTxn,
    { docid, chunks, ingestedAtMs, metadataJson, priority }: PreparedDocument,
    version: number,
    targets: readonly Target[],
  ): void {
    for (const { ref, vectors } of targets)
      assert(vectors.length === chunks.length * ref.dim, 'a vector for each chunk');
    const record = { docid, version, ingestedAtMs, metadataJson, priority, chunkCount: chunks.length };
    const staged = this.stageAll(targets, priority);
    targets.forEach(({ ref, vectors }, i) => {
      const ordinals = staged[i] as Ordinal[];
      this.removeStored(txn, ref, docid);
      txn.putDocument(ref, { record, ordinals, chunks, vectors });
      this.rows.keepSources(txn, ref.id, ordinals);
    });
  }

  private bring(txn: ShardWriteTxn, ref: CollectionRef): void {
    this.shard.bring(ref, txn);
    this.rows.hold(ref.id);
  }

  /** Into all of them or, where one has no room, into none. */
  private stageAll(targets: readonly Target[], priority: number): Ordinal[][] {
    const staged: Ordinal[][] = [];
    try {
      for (const { ref, vectors } of targets) staged.push(this.rows.stage(ref, vectors, priority));
      return staged;
    } catch (error) {
      staged.forEach((ordinals, i) => this.rows.takeOut((targets[i] as Target).ref.id, ordinals));
      throw error;
    }
  }

  /** How many chunks of the collection itself went. */
  private remove(
    txn: ShardWriteTxn,
    { docid, collection, twins = [] }: ShardRequest<'deleteDocument'>,
  ): ShardAnswer<'deleteDocument'> {
    const places = [collection, ...twins].filter(({ id }) => !this.shard.isDropped(id) && txn.document(id, docid));
    for (const ref of places) this.bring(txn, ref);
    const chunks = places.map((ref) => this.removeStored(txn, ref, docid));
    return { chunks: chunks[places.indexOf(collection)] ?? 0 };
  }

  /** Nothing where there is no such document; answers how many chunks went. */
  private removeStored(txn: ShardWriteTxn, ref: CollectionRef, docid: DocId): number {
    const record = txn.document(ref.id, docid);
    if (record && record.chunkCount >= LEAVING_CHUNKS_MIN && this.isPublished(txn, ref, docid)) {
      this.rows.leave({ ref, record, blocks: txn.leaveDocument(ref, record) });
      return record.chunkCount;
    }
    this.rows.keepSources(txn, ref.id, txn.members(ref.id, docid).ordinals as Ordinal[]);
    const ordinals = txn.removeDocument(ref, docid);
    this.rows.takeOut(ref.id, ordinals);
    return ordinals.length;
  }

  private isPublished(txn: ShardWriteTxn, ref: CollectionRef, docid: DocId): boolean {
    const [first] = txn.members(ref.id, docid).ordinals;
    return first !== undefined && !this.rows.isAdded(ref.id, first as Ordinal);
  }
}
