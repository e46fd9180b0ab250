// Applies a batch of writes: one synced transaction for all of them, then their publication to shared memory.
// Rule: rows are staged (unseen) before the commit, published after it; old rows go after the new ones have come. A batch
// that fails to commit leaves store and memory as they were. Reads no clock and no random number.
import { assert, defined } from '../../src/base/assert.js';
import { AppError } from '../../src/contract/errors.js';
import type { CollectionId, DocId, Ordinal } from '../../src/contract/ids.js';
import type { CollectionRef, Outcome, ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import { arenaOf, rowOf } from '../../src/contract/ordinals.js';
import { unpackDocument } from '../../src/contract/prepared-document.js';
import type { ShardWriteTxn } from '../../src/store/shard-store.js';
import { discardChange, noChange, publishChanges, type Change } from './change.js';
import type { Part } from './part.js';
import { FieldTerms } from './part-fields.js';
import { place } from './placing.js';
import { refusalOf } from './refusal.js';
import type { Shard } from './shard.js';

export type DocumentWrite = ShardRequest<'put'> | ShardRequest<'deleteDocument'>;
type WriteAnswer = ShardAnswer<'put'> | ShardAnswer<'deleteDocument'>;

/** Applies `writes` in order; one that is refused harms no other. Throws when the commit fails: then none is applied. */
export function applyWrites(shard: Shard, writes: readonly DocumentWrite[]): Outcome<WriteAnswer>[] {
  const batch = new WriteBatch(shard);
  try {
    const outcomes = shard.store.write((txn) => writes.map((write) => batch.apply(txn, write)));
    batch.publish();
    return outcomes;
  } catch (error) {
    batch.discard();
    throw error;
  }
}

class WriteBatch {
  private readonly changes = new Map<Part, Change>();

  constructor(private readonly shard: Shard) {}

  apply(txn: ShardWriteTxn, write: DocumentWrite): Outcome<WriteAnswer> {
    try {
      return { value: write.op === 'put' ? this.put(txn, write) : this.remove(txn, write) };
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      return { error: refusal.toWire() };
    }
  }

  /** All that can be refused is refused before the transaction is touched. */
  private put(txn: ShardWriteTxn, { collection: ref, document, vectors, room = Infinity }: ShardRequest<'put'>): ShardAnswer<'put'> {
    const { docid, chunks, ingestedAtMs, metadataJson, priority } = unpackDocument(document);
    assert(vectors.length === chunks.length * ref.dim, 'a vector for each chunk');
    this.shard.bring(ref, txn);
    const previous = txn.document(ref.id, docid);
    if (chunks.length - (previous?.chunkCount ?? 0) > room) throw new AppError('chunk_limit_reached');
    const ordinals = place(this.shard, ref, (part) => this.stage(part, vectors, priority));
    if (previous) this.removeStored(txn, ref, docid);
    const version = (previous?.version ?? 0) + 1;
    const record = { docid, version, ingestedAtMs, metadataJson, priority, chunkCount: chunks.length };
    txn.putDocument(ref, { record, ordinals, chunks, vectors });
    this.keepSources(txn, ref.id, ordinals);
    return { chunks: chunks.length, version };
  }

  private remove(txn: ShardWriteTxn, { collection: ref, docid }: ShardRequest<'deleteDocument'>): ShardAnswer<'deleteDocument'> {
    if (this.shard.isDropped(ref.id) || !txn.document(ref.id, docid)) return { chunks: 0 };
    this.shard.bring(ref, txn);
    return { chunks: this.removeStored(txn, ref, docid) };
  }

  /** How many chunks fell free. */
  private removeStored(txn: ShardWriteTxn, ref: CollectionRef, docid: DocId): number {
    this.keepSources(txn, ref.id, txn.members(ref.id, docid).ordinals as Ordinal[]);
    const ordinals = txn.removeDocument(ref, docid);
    for (const ordinal of ordinals) {
      const { added, superseded, removed } = this.changeOf(this.partOf(ref.id, ordinal));
      const row = rowOf(ordinal);
      (added.delete(row) ? superseded : removed).push(row);
    }
    return ordinals.length;
  }

  /** The indexes of words and metadata are changed at publication, when the records of removed chunks are gone from the store. */
  private keepSources(txn: ShardWriteTxn, id: CollectionId, ordinals: readonly Ordinal[]): void {
    const terms = new FieldTerms(txn, id);
    for (const ordinal of ordinals) {
      const part = this.partOf(id, ordinal);
      const { texts, fields } = this.changeOf(part);
      const text = part.words && txn.text(id, ordinal)?.toString();
      if (text !== undefined) texts.set(rowOf(ordinal), text);
      if (part.fields) fields.set(rowOf(ordinal), terms.of(txn.chunk(id, ordinal)));
    }
  }

  private partOf(id: CollectionId, ordinal: Ordinal): Part {
    return defined(this.shard.parts.find(id, arenaOf(ordinal)), `the part of chunk ${id}/${ordinal}`);
  }

  /** Puts vectors into free rows of shared memory, unseen by searches; undone when memory is full. Answers their ordinals as the store has them. */
  private stage(part: Part, vectors: Float32Array, priority: number): Ordinal[] {
    const { dim } = part.ref;
    const ordinals: Ordinal[] = [];
    try {
      for (let at = 0; at < vectors.length; at += dim) {
        const ordinal = part.ordinals.take();
        ordinals.push(ordinal);
        part.index.stage(ordinal, vectors.subarray(at, at + dim));
      }
      if (priority !== 0) this.shard.parts.reservePriorities(part, ordinals);
    } catch (error) {
      for (const ordinal of ordinals) part.ordinals.release(ordinal);
      throw error;
    }
    const { added } = this.changeOf(part);
    for (const ordinal of ordinals) added.set(ordinal, priority);
    return ordinals.map((ordinal) => part.stored(ordinal));
  }

  publish(): void {
    publishChanges(this.changes);
    this.shard.settle();
    this.end();
  }

  discard(): void {
    for (const [part, change] of this.changes) discardChange(part, change);
    this.end();
  }

  private end(): void {
    for (const part of this.changes.keys()) {
      part.isChanging = false;
      this.shard.parts.wake(part);
    }
  }

  private changeOf(part: Part): Change {
    let change = this.changes.get(part);
    if (!change) this.changes.set(part, (change = noChange()));
    part.isChanging = true;
    return change;
  }
}
