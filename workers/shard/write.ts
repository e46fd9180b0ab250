// Applies a batch of writes: one synced transaction for all of them, then their publication to shared memory.
// Rule: rows are staged (unseen) before the commit, published after it; old rows go after the new ones have come. A batch
// that fails to commit leaves store and memory as they were. Reads no clock and no random number.
import { assert } from '../../src/base/assert.js';
import { AppError } from '../../src/contract/errors.js';
import type { DocId, Ordinal } from '../../src/contract/ids.js';
import type { Outcome, ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import { unpackDocument } from '../../src/contract/prepared-document.js';
import type { ShardWriteTxn } from '../../src/store/shard-store.js';
import { discardChange, noChange, publishChange, type Change } from './change.js';
import type { Part } from './part.js';
import { FieldTerms } from './part-fields.js';
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
    const part = this.shard.partFor(ref);
    const previous = txn.document(ref.id, docid);
    if (chunks.length - (previous?.chunkCount ?? 0) > room) throw new AppError('chunk_limit_reached');
    const ordinals = this.stage(part, vectors, priority);
    if (previous) this.removeStored(txn, part, docid);
    const version = (previous?.version ?? 0) + 1;
    const record = { docid, version, ingestedAtMs, metadataJson, priority, chunkCount: chunks.length };
    txn.putDocument(ref, { record, ordinals, chunks, vectors });
    this.keepSources(txn, part, ordinals);
    this.changeOf(part).documents += previous ? 0 : 1;
    return { chunks: chunks.length, version };
  }

  private remove(txn: ShardWriteTxn, { collection: ref, docid }: ShardRequest<'deleteDocument'>): ShardAnswer<'deleteDocument'> {
    const part = this.shard.part(ref.id);
    if (!part || !txn.document(ref.id, docid)) return { chunks: 0 };
    this.changeOf(part).documents -= 1;
    return { chunks: this.removeStored(txn, part, docid) };
  }

  /** How many chunks fell free. */
  private removeStored(txn: ShardWriteTxn, part: Part, docid: DocId): number {
    this.keepSources(txn, part, txn.members(part.ref.id, docid).ordinals as Ordinal[]);
    const ordinals = txn.removeDocument(part.ref, docid);
    this.free(part, ordinals);
    return ordinals.length;
  }

  /** The indexes of words and metadata are changed at publication, when the records of removed chunks are gone from the store. */
  private keepSources(txn: ShardWriteTxn, part: Part, ordinals: readonly Ordinal[]): void {
    const { texts, fields } = this.changeOf(part);
    const terms = part.fields && new FieldTerms(txn, part.ref.id);
    for (const ordinal of ordinals) {
      const text = part.words && txn.text(part.ref.id, ordinal)?.toString();
      if (text !== undefined) texts.set(ordinal, text);
      if (terms) fields.set(ordinal, terms.of(txn.chunk(part.ref.id, ordinal)));
    }
  }

  /** Puts vectors into free rows of shared memory, unseen by searches; undone when memory is full. */
  private stage(part: Part, vectors: Float32Array, priority: number): Ordinal[] {
    const { dim } = part.ref;
    const ordinals: Ordinal[] = [];
    try {
      for (let at = 0; at < vectors.length; at += dim) {
        const ordinal = part.ordinals.take();
        ordinals.push(ordinal);
        part.index.stage(ordinal, vectors.subarray(at, at + dim));
      }
    } catch (error) {
      for (const ordinal of ordinals) part.ordinals.release(ordinal);
      throw error;
    }
    const { added } = this.changeOf(part);
    for (const ordinal of ordinals) added.set(ordinal, priority);
    return ordinals;
  }

  private free(part: Part, ordinals: readonly Ordinal[]): void {
    const change = this.changeOf(part);
    for (const ordinal of ordinals) (change.added.delete(ordinal) ? change.superseded : change.removed).push(ordinal);
  }

  publish(): void {
    for (const [part, change] of this.changes) publishChange(part, change);
  }

  discard(): void {
    for (const [part, change] of this.changes) discardChange(part, change);
  }

  private changeOf(part: Part): Change {
    let change = this.changes.get(part);
    if (!change) this.changes.set(part, (change = noChange()));
    return change;
  }
}
