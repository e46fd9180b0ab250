// The state of one shard: its store, its kernel, and those parts of collections that are in memory. Made by the `open`
// command; every other command works on it. Used by the shard worker's thread alone.
import type { CollectionGroup, CollectionRef } from '../api/collections.js';
import { AppError } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type { LeavingDocument } from '../storage/large-removal.js';
import type { ShardTxn } from '../storage/shard-reader.js';
import type { ShardStore } from '../storage/shard-store.js';
import { GRAPH_MIN } from './hnsw/vector-index.js';
import { Arenas, type Kernel } from './memory/arena.js';
import { ArenaFull } from './memory/bindings.js';
import { LOST } from './memory/layout.js';
import { PartTerms, type TermMaker } from './postings/builder.js';
import type { WordIndex } from './postings/text-index.js';
import { Room } from './segments/eviction.js';
import { PartLoads } from './segments/loading.js';
import { PartTable } from './segments/segment-table.js';
import type { Part, PartView } from './segments/segment.js';

// Whether the memory of a shard has changed, and times in which it must not: the last pass over it wants one. Writes
// and background work wait for the end of such a time; searches, which own nothing, and reading commands do not. One a
// shard, in its worker's thread.
class Stillness {
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

  touch(): void {
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

// What a shard is told of all collections when it is opened, by their ids: all of a reference but the id. Made by
// shard.ts, used by it and by what brings parts back from a checkpoint; shard worker only.

export type CollectionKinds = ReadonlyMap<CollectionId, CollectionGroup['kind']>;

function kindsOf(groups: readonly CollectionGroup[]): CollectionKinds {
  const kinds = new Map<CollectionId, CollectionGroup['kind']>();
  for (const { kind, ids } of groups) for (const id of ids) kinds.set(id as CollectionId, kind);
  return kinds;
}

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

// In which arena of a shard a document goes: where its collection is while there is room, then where most is. A
// document stands in one as a whole. Called by write.ts; shard worker only.

/**
 * Runs `stage` on a part with room for what it does; what throws ArenaFull has changed nothing. Throws ArenaFull when
 * all arenas are full. Requires that the collection is not away.
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
