// What a batch of writes does in shared memory: rows staged before the commit, unseen, published after it, or discarded
// where it fails. Filled by write.ts, in the shard worker's thread.
import { defined } from '../../src/base/assert.js';
import type { CollectionId, Ordinal } from '../../src/contract/ids.js';
import type { CollectionRef } from '../../src/contract/resources.js';
import { arenaOf, rowOf } from '../../src/contract/ordinals.js';
import type { LeavingDocument } from '../../src/store/leaving.js';
import type { ShardWriteTxn } from '../../src/store/shard-store.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import { discardChange, logChanges, noChange, publishChanges, type Change } from './change.js';
import type { Part } from './part.js';
import { FieldTerms } from './part-fields.js';
import { place } from './placing.js';
import type { Shard } from './shard.js';

export class RowChanges {
  private readonly changes = new Map<Part, Change>();
  private readonly leaving: LeavingDocument[] = [];

  constructor(private readonly shard: Shard) {}

  /** What is in memory of a collection stays there until the batch ends: what the batch brings later may want room. */
  hold(id: CollectionId): void {
    for (const part of this.shard.parts.of(id)) this.changeOf(part);
  }

  /**
   * Puts vectors into free rows, unseen by searches; nothing has changed when it throws. Answers their ordinals as the
   * store has them.
   */
  stage(ref: CollectionRef, vectors: Float32Array, priority: number): Ordinal[] {
    return place(this.shard, ref, (part) => this.stageIn(part, vectors, priority));
  }

  /** Rows that are to go: published ones after the commit, those of this batch at once. */
  takeOut(id: CollectionId, ordinals: readonly Ordinal[]): void {
    for (const ordinal of ordinals) {
      const { added, superseded, removed } = this.changeOf(this.partOf(id, ordinal));
      const row = rowOf(ordinal);
      (added.delete(row) ? superseded : removed).push(row);
    }
  }

  /** Whether a document is one of this batch: it has not been published. */
  isAdded(id: CollectionId, ordinal: Ordinal): boolean {
    return this.changeOf(this.partOf(id, ordinal)).added.has(rowOf(ordinal));
  }

  /** Published rows of a document that leaves. */
  leave(document: LeavingDocument): void {
    const { ref, blocks } = document;
    for (const { ordinals } of blocks)
      for (const ordinal of ordinals) this.changeOf(this.partOf(ref.id, ordinal)).left.push(rowOf(ordinal));
    this.leaving.push(document);
  }

  /**
   * The indexes of words and metadata are changed at publication, when the records of removed chunks are gone from the
   * store.
   */
  keepSources(txn: ShardTxn, id: CollectionId, ordinals: readonly Ordinal[]): void {
    const terms = new FieldTerms(txn, id);
    for (const ordinal of ordinals) {
      const part = this.partOf(id, ordinal);
      const { texts, fields } = this.changeOf(part);
      const text = part.words && txn.text(id, ordinal)?.toString();
      if (text !== undefined) texts.set(rowOf(ordinal), text);
      if (part.fields) fields.set(rowOf(ordinal), terms.of(txn.chunk(id, ordinal)));
    }
  }

  /** Before the commit, in its transaction. */
  log(txn: ShardWriteTxn): void {
    logChanges(txn, this.changes);
  }

  publish(): void {
    publishChanges(this.changes);
    this.shard.leaving.push(...this.leaving);
    this.shard.settle();
    this.end();
  }

  discard(): void {
    for (const [part, change] of this.changes) discardChange(part, change);
    this.end();
  }

  private stageIn(part: Part, vectors: Float32Array, priority: number): Ordinal[] {
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

  private end(): void {
    for (const part of this.changes.keys()) {
      part.isChanging = false;
      this.shard.parts.wake(part);
    }
  }

  private partOf(id: CollectionId, ordinal: Ordinal): Part {
    return defined(this.shard.parts.find(id, arenaOf(ordinal)), `the part of chunk ${id}/${ordinal}`);
  }

  private changeOf(part: Part): Change {
    let change = this.changes.get(part);
    if (!change) this.changes.set(part, (change = noChange()));
    part.isChanging = true;
    return change;
  }
}
