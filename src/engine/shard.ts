// One shard as its owner has it: its store, its arenas, and those segments of collections that are in memory. Owner only:
// owner.ts adds what runs between commands. A shard is opened with `Shard.open` and needs no more than a store and
// memories, so the engine can be used and tested as a library.
import type { CollectionGroup, CollectionRef } from '../api/collections.js';
import { AppError } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type { LeavingDocument } from '../storage/large-removal.js';
import type { ShardTxn } from '../storage/shard-reader.js';
import type { ShardStore } from '../storage/shard-store.js';
import { GRAPH_MIN } from './hnsw/vector-index.js';
import type { Arenas } from './memory/arena.js';
import { ArenaFull } from './memory/bindings.js';
import { LOST } from './memory/layout.js';
import { PartTerms, type TermMaker } from './postings/builder.js';
import type { WordIndex } from './postings/text-index.js';
import { Room } from './segments/eviction.js';
import { PartLoads } from './segments/loading.js';
import { PartTable } from './segments/segment-table.js';
import type { Part } from './segments/segment.js';

/**
 * Write freeze for the last passes of a checkpoint. While it is held, writes and background work wait; searches and
 * reading commands go on. `version` counts changes, so that a pass can tell whether it has copied one moment.
 */
class WriteFreeze {
  private changes = 0;
  private over: Promise<void> | undefined;
  private release: () => void = () => {};

  /** Goes up with everything that changes rows or graphs. What the allocator does it counts itself (LOCKS_AT). */
  get version(): number {
    return this.changes;
  }

  /** Resolves when changes may go on; undefined while they may. */
  get whenOver(): Promise<void> | undefined {
    return this.over;
  }

  /** Something has changed rows or graphs. */
  noteChange(): void {
    this.changes++;
  }

  begin(): void {
    this.over ??= new Promise((resolve) => (this.release = resolve));
  }

  end(): void {
    this.over = undefined;
    this.release();
  }
}

/** Of all collections, by their ids: all of a reference but the id. */
export type CollectionKinds = ReadonlyMap<CollectionId, CollectionGroup['kind']>;

/** The collections that there are. `isWhole`: all of them, for sure. */
export interface ShardCollections {
  readonly collections: readonly CollectionGroup[];
  readonly isWhole: boolean;
}

export class Shard {
  readonly parts: PartTable;
  readonly loads: PartLoads;
  readonly room: Room;
  readonly writeFreeze = new WriteFreeze();
  /** Ids are never reused: a late write to a dropped collection is refused, not stored. */
  private readonly dropped = new Set<CollectionId>();
  /** Collections whose entries are still to be removed from the store. */
  readonly purges: CollectionId[] = [];
  /** Large documents whose chunks are still to be removed from the store. */
  readonly leaving: LeavingDocument[] = [];

  private constructor(
    readonly store: ShardStore,
    readonly arenas: Arenas,
  ) {
    this.parts = new PartTable(this.arenas);
    this.room = new Room(this.parts, this.arenas);
    this.loads = new PartLoads(store, this.parts, this.room);
  }

  /**
   * Empties the arenas, finds out which collections have documents in the store, and lets readers in. Nothing is loaded
   * for it: large collections come by and by, small ones when they are needed. What belongs to no collection any more
   * is queued for removal where it is known for sure which there are. `restore` brings back the segments that a
   * checkpoint has.
   */
  static open(
    store: ShardStore,
    arenas: Arenas,
    { collections, isWhole }: ShardCollections,
    restore: (shard: Shard, kinds: CollectionKinds) => void = () => {},
  ): Shard {
    const shard = new Shard(store, arenas);
    arenas.format();
    store.finishLeaving();
    const kinds = new Map<CollectionId, CollectionGroup['kind']>();
    for (const { kind, ids } of collections) for (const id of ids) kinds.set(id as CollectionId, kind);
    restore(shard, kinds);
    shard.enterStored(kinds, isWhole);
    arenas.open();
    return shard;
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

  /** Says that a batch of writes has been published whole. */
  settle(): void {
    this.writeFreeze.noteChange();
    this.arenas.settle();
  }

  drop(id: CollectionId): void {
    this.dropped.add(id);
    this.purges.push(id);
    this.leaving.splice(0, Infinity, ...this.leaving.filter(({ ref }) => ref.id !== id));
    this.loads.cancel(id);
    this.parts.delete(id);
  }

  /** Readers are out before the environment goes that they read too. */
  close(): void {
    this.arenas.close();
    this.store.close();
  }

  /** Those with documents in the store are away until they are loaded; the large ones are queued for it. */
  private enterStored(kinds: CollectionKinds, isWhole: boolean): void {
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

/**
 * Stages a document in an arena: where its collection is while there is room, then where most is. A document stands in
 * one as a whole. Runs `stage` on a part with room for what it does; what throws ArenaFull has changed nothing. Throws
 * ArenaFull when all arenas are full. Requires that the collection is not away.
 */
export function place<T>(shard: Shard, ref: CollectionRef, stage: (part: Part) => T): T {
  const order = orderOf(shard, ref);
  const plainly = (arena: number): T => stage(shard.partIn(ref, arena));
  const withRoom = (arena: number): T => shard.room.for(() => plainly(arena), { arena, id: ref.id });
  // Past the point where arenas are roomy all are filled up; in the end small parts that nobody uses leave.
  const attempts = [
    ...order.filter((arena) => shard.arenas.isRoomy(arena)).map((arena) => ({ arena, attempt: plainly })),
    ...order.map((arena) => ({ arena, attempt: plainly })),
    ...order.map((arena) => ({ arena, attempt: withRoom })),
  ];
  for (const { arena, attempt } of attempts) {
    try {
      return attempt(arena);
    } catch (error) {
      if (!(error instanceof ArenaFull)) throw error;
    }
  }
  throw new ArenaFull();
}

function orderOf({ arenas, parts }: Shard, { id }: CollectionRef): number[] {
  const byRoom = arenas.byRoom();
  const isThere = (arena: number): boolean => parts.find(id, arena) !== undefined;
  return [...byRoom.filter(isThere), ...byRoom.filter((arena) => !isThere(arena))];
}
