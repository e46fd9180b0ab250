// The state of one shard: its store, its kernel, and those parts of collections that are in memory. Made by the `open`
// command; every other command works on it. Used by the shard worker's thread alone.
import { AppError } from '../../src/contract/errors.js';
import type { CollectionId } from '../../src/contract/ids.js';
import type { CollectionGroup } from '../../src/contract/resources.js';
import type { CollectionRef } from '../../src/contract/resources.js';
import type { LeavingDocument } from '../../src/store/leaving.js';
import type { ShardStore } from '../../src/store/shard-store.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import { Arenas } from './arenas.js';
import { Stillness } from './checkpoint/stillness.js';
import { kindsOf, type CollectionKinds } from './collection-kinds.js';
import type { Kernel } from './kernel.js';
import { GRAPH_MIN } from './layout.js';
import type { Part } from './part.js';
import { PartLoads } from './part-loads.js';
import { PartTable } from './part-table.js';
import { PartTerms, type TermMaker } from './part-terms.js';
import type { PartView } from './part-view.js';
import { LOST } from './reader-layout.js';
import { Room } from './room.js';
import type { WordIndex } from './words/word-index.js';

export class Shard {
  readonly parts: PartTable;
  readonly loads: PartLoads;
  readonly room: Room;
  readonly stillness = new Stillness();
  /** Ids are never reused: a late write to a dropped collection is refused, not stored. */
  private readonly dropped = new Set<CollectionId>();
  /** Collections whose entries are still to be removed from the store. */
  readonly purges: CollectionId[] = [];
  /** Large documents whose chunks are still to be removed from the store. */
  readonly leaving: LeavingDocument[] = [];

  readonly arenas: Arenas;

  /** The first of its kernels is on the home arena. */
  constructor(
    readonly store: ShardStore,
    ...kernels: readonly Kernel[]
  ) {
    this.arenas = new Arenas(kernels);
    this.parts = new PartTable(this.arenas);
    this.room = new Room(this.parts, this.arenas);
    this.loads = new PartLoads(store, this.parts, this.room);
  }

  /**
   * Says which collections have documents here, and loads none: large ones come by and by. What belongs to no
   * collection any more is queued for removal, where it is known for sure which there are (`isWhole`). `restore` brings
   * back the parts that a checkpoint has.
   */
  load(
    collections: readonly CollectionGroup[],
    isWhole = true,
    restore: (kinds: CollectionKinds) => void = () => {},
  ): void {
    this.arenas.format();
    this.store.finishLeaving();
    const kinds = kindsOf(collections);
    restore(kinds);
    const large: { ref: CollectionRef; chunks: number }[] = [];
    this.store.read((txn) => {
      for (const { id, chunks } of txn.allCounts()) {
        const kind = kinds.get(id);
        if (kind) this.parts.enterAway(id);
        else if (isWhole) this.purges.push(id);
        if (kind && chunks >= GRAPH_MIN && this.parts.of(id).length === 0) large.push({ ref: { id, ...kind }, chunks });
      }
    });
    for (const { ref } of large.sort((a, b) => b.chunks - a.chunks)) this.loads.queue(ref);
    this.arenas.open();
  }

  /** The first part of a collection, where it is in memory. */
  part(id: CollectionId): Part | undefined {
    return this.parts.of(id)[0];
  }

  isDropped(id: CollectionId): boolean {
    return this.dropped.has(id);
  }

  /**
   * Sees to it that a collection can be written to: loads it whole where it is away. Refuses one that has been dropped.
   * Throws ArenaFull.
   */
  bring(ref: CollectionRef, txn?: ShardTxn): void {
    if (this.dropped.has(ref.id)) throw new AppError('collection_not_found');
    this.loads.bring(ref, Infinity, txn);
  }

  /**
   * The part of a collection in an arena, made where there is none. Requires that the collection is not away. Throws
   * ArenaFull.
   */
  partIn(ref: CollectionRef, arena: number): Part {
    return this.parts.find(ref.id, arena) ?? this.begin(ref, arena);
  }

  /** An empty index of terms for a part, which readers find once it is complete. Throws ArenaFull. */
  createTerms<S>(part: Part, kind: 'words' | 'fields', maker: TermMaker<S>): PartTerms<S> {
    this.parts.announce(part, { [kind]: 0 });
    this.parts.wake(part);
    const wanted = { arena: part.arena, id: part.ref.id };
    return this.termsOf(
      part,
      kind,
      maker,
      this.room.for(() => this.arenas.at(part.arena).createWords(), wanted),
      0,
    );
  }

  /** The index that a checkpoint has brought back with the part; undefined where there is none. */
  resumeTerms<S>(part: Part, kind: 'words' | 'fields', maker: TermMaker<S>): PartTerms<S> | undefined {
    const kernel = this.arenas.at(part.arena);
    const root = kernel.directory.get(part.ref.id)?.[kind] ?? 0;
    if (root !== 0 && root !== LOST) return this.termsOf(part, kind, maker, kernel.attachWords(root), Infinity);
    this.parts.announce(part, { [kind]: 0 });
    return undefined;
  }

  private termsOf<S>(
    part: Part,
    kind: 'words' | 'fields',
    maker: TermMaker<S>,
    index: WordIndex,
    builtTo: number,
  ): PartTerms<S> {
    const wanted = { arena: part.arena, id: part.ref.id };
    return new PartTerms(
      index,
      maker,
      (root) => this.parts.announce(part, { [kind]: root }),
      (work) => this.room.for(work, wanted),
      builtTo,
    );
  }

  /** What readers see of a collection at home, for this thread. */
  view(id: CollectionId): PartView | undefined {
    return this.arenas.home.view(id);
  }

  /** Says that a batch of writes has been published whole. */
  settle(): void {
    this.stillness.touch();
    this.arenas.settle();
  }

  drop(id: CollectionId): void {
    this.dropped.add(id);
    this.purges.push(id);
    this.leaving.splice(0, Infinity, ...this.leaving.filter(({ ref }) => ref.id !== id));
    this.loads.cancel(id);
    this.parts.delete(id);
  }

  /** Frees some of the memory that readers have left; true when there may be more. */
  reclaim(): boolean {
    return this.arenas.reclaim();
  }

  /** Readers are out before the environment goes that they read too. */
  close(): void {
    this.arenas.close();
    this.store.close();
  }

  private begin(ref: CollectionRef, arena: number): Part {
    const part = this.parts.create(ref, arena);
    try {
      this.parts.enter(ref.id, [part]);
    } catch (error) {
      part.drop();
      throw error;
    }
    return part;
  }
}
