// The state of one shard: its store, its kernel, and its part of every collection. Made by the `open` command; every other
// command works on it. Used by the shard worker's thread alone.
import { AppError } from '../../src/contract/errors.js';
import type { CollectionId } from '../../src/contract/ids.js';
import type { CollectionRef } from '../../src/contract/messages.js';
import type { ShardStore } from '../../src/store/shard-store.js';
import type { Kernel } from './kernel.js';
import { Part } from './part.js';
import type { WordIndex } from './words/word-index.js';

export class Shard {
  private readonly parts = new Map<CollectionId, Part>();
  /** Ids are never reused: a late write to a dropped collection is refused, not stored. */
  private readonly dropped = new Set<CollectionId>();
  /** Collections whose entries are still to be removed from the store. */
  readonly purges: CollectionId[] = [];

  constructor(
    readonly store: ShardStore,
    private readonly kernel: Kernel,
  ) {}

  /** Fills shared memory from the store; what belongs to no collection any more is queued for removal. */
  load(collections: readonly CollectionRef[]): void {
    this.kernel.format();
    this.store.read((txn) => {
      const live = new Set(collections.map(({ id }) => id));
      const present = txn.collections();
      this.purges.push(...present.filter((id) => !live.has(id)));
      for (const ref of collections.filter(({ id }) => present.includes(id))) this.partFor(ref).load(txn);
    });
  }

  /** The part of a collection that has been written to; undefined for one without documents here. */
  part(id: CollectionId): Part | undefined {
    return this.parts.get(id);
  }

  /** The part, made when this is the first write to it. Refuses a collection that has been dropped. */
  partFor(ref: CollectionRef): Part {
    const present = this.parts.get(ref.id);
    if (present) return present;
    if (this.dropped.has(ref.id)) throw new AppError('collection_not_found');
    const part = new Part(ref, this.kernel.createIndex(ref.dim));
    this.parts.set(ref.id, part);
    return part;
  }

  /** An empty index of terms in this shard's memory. Throws ArenaFull. */
  createWords(): WordIndex {
    return this.kernel.createWords();
  }

  drop(id: CollectionId): void {
    this.dropped.add(id);
    this.purges.push(id);
    this.parts.get(id)?.drop();
    this.parts.delete(id);
  }

  allParts(): IterableIterator<Part> {
    return this.parts.values();
  }
}
