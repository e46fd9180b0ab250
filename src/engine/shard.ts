// One shard as its owner has it: the store, the arenas, and the segments that are in memory. A shard is opened with
// `Shard.open` and needs nothing but a store and memories, so the engine can be used and tested as a library. Owner
// only.
import type { CollectionGroup, CollectionRef } from '../api/collections.js';
import { AppError } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type { MemoryPlacement, PlacedCollections } from '../api/memory-placement.js';
import type { LeavingDocument } from '../storage/large-removal.js';
import type { ShardTxn } from '../storage/shard-reader.js';
import type { ShardStore } from '../storage/shard-store.js';
import { GRAPH_MIN } from './hnsw/vector-index.js';
import type { Arenas } from './memory/arena.js';
import { ArenaFull } from './memory/bindings.js';
import { LOST } from './memory/layout.js';
import { SegmentTerms, type TermMaker } from './postings/builder.js';
import type { TextIndex } from './postings/text-index.js';
import { Reclaimer } from './segments/eviction.js';
import { Holding } from './segments/holding.js';
import { SegmentLoads } from './segments/loading.js';
import { SegmentTable } from './segments/segment-table.js';
import { type Segment, StoredRows } from './segments/segment.js';
import { packCommand } from './write/journaled.js';

/**
 * Write freeze for the last passes of a checkpoint. While it is held, writes and background work wait; searches and
 * read commands continue. `version` counts changes, so that a pass can tell whether it has copied a consistent image.
 */
class WriteFreeze {
  private changes = 0;
  private over: Promise<void> | undefined;
  private release: () => void = () => {};

  /** Increases with every change of rows or graphs. Changes by the allocator are counted separately (LOCKS_AT). */
  get version(): number {
    return this.changes;
  }

  /** Resolves when the freeze ends; undefined if none is held. */
  get whenOver(): Promise<void> | undefined {
    return this.over;
  }

  /** Counts a change of rows or graphs. */
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

/** By collection id: everything in a CollectionRef except the id. */
export type CollectionKinds = ReadonlyMap<CollectionId, CollectionGroup['kind']>;

/** The collections that exist. `isWhole` is false if the list may be incomplete. */
export interface ShardCollections {
  readonly collections: readonly CollectionGroup[];
  readonly isWhole: boolean;
}

/**
 * What the owner knows of the first expiry among all collections, so that it need not look at them as long as nothing
 * expires. Owner only.
 */
class ExpiryRound {
  /** No stored document expires before this second. */
  private first = 0;
  /** The same for the documents that the present round of pages has looked at. */
  private firstSeen = Infinity;

  isDue(nowS: number): boolean {
    return this.first <= nowS;
  }

  begin(): void {
    this.firstSeen = Infinity;
  }

  end(): void {
    this.first = this.firstSeen;
  }

  /** Takes note of a document that is stored, or was found; 0: it does not expire. */
  note(second: number): void {
    if (second === 0) return;
    this.first = Math.min(this.first, second);
    this.firstSeen = Math.min(this.firstSeen, second);
  }
}

/** One shard: its store, its arenas and its segments in memory. Owner only. */
export class Shard {
  readonly segments: SegmentTable;
  readonly loads: SegmentLoads;
  readonly reclaimer: Reclaimer;
  readonly writeFreeze = new WriteFreeze();
  /**
   * Dropped collections. Ids are never reused, so a late write to a dropped collection fails instead of being stored.
   */
  private readonly dropped = new Set<CollectionId>();
  /** Collections whose entries are still to be removed from the store. */
  readonly purges: CollectionId[] = [];
  readonly expiryRound = new ExpiryRound();
  /** Large documents whose chunks are still to be removed from the store. */
  readonly leaving: LeavingDocument[] = [];
  /** Collections whose writes have to be made to another one as well. */
  private readonly followers = new Map<CollectionId, CollectionId>();
  /** Large collections that are on disk alone, because other nodes hold them. */
  private readonly heldElsewhere = new Map<CollectionId, CollectionRef>();

  private constructor(
    readonly store: ShardStore,
    readonly arenas: Arenas,
    readonly holding: Holding,
  ) {
    this.segments = new SegmentTable(this.arenas);
    this.reclaimer = new Reclaimer(this.segments, this.arenas);
    this.loads = new SegmentLoads(store, this.segments, this.reclaimer, holding);
  }

  /**
   * Opens a shard: empties the arenas, finds out which collections have documents in the store, and lets readers in.
   * Nothing is loaded: large collections are loaded in the background, small ones on demand. If `isWhole`, records that
   * belong to no collection are queued for removal. `restore` restores the segments of a checkpoint.
   */
  static open(
    store: ShardStore,
    arenas: Arenas,
    { collections, isWhole }: ShardCollections,
    restore: (shard: Shard, kinds: CollectionKinds) => void = () => {},
    holding = new Holding(),
  ): Shard {
    const shard = new Shard(store, arenas, holding);
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
   * Loads what writes to a collection need. Throws AppError `collection_not_found` if it has been dropped, and ArenaFull.
   */
  loadForWrites(ref: CollectionRef, txn?: ShardTxn): void {
    if (this.dropped.has(ref.id)) throw new AppError('collection_not_found');
    this.loads.loadForWrites(ref, txn);
  }

  /**
   * Holds what a placement says: what is to be held and large is loaded in the background, what other nodes hold is
   * removed from memory, except for `keep`: collections that those nodes cannot search yet.
   */
  place(placement: MemoryPlacement, keep: readonly CollectionId[]): PlacedCollections {
    if (this.holding.change(placement)) this.loadHeld();
    const mayKeep = new Set(keep);
    const kept: CollectionId[] = [];
    for (const ref of new Set(Array.from(this.segments.all(), (segment) => segment.ref))) {
      if (this.holding.has(ref.id)) continue;
      if (mayKeep.has(ref.id)) kept.push(ref.id);
      else this.release(ref);
    }
    return { loading: this.loads.underWay(), kept };
  }

  /** Loads what is on disk alone and is to be held: large collections in the background, small ones on demand. */
  private loadHeld(): void {
    const absent = [...this.heldElsewhere.values(), ...this.segments.onDisk()].filter(({ id }) => this.holding.has(id));
    for (const ref of absent) {
      this.heldElsewhere.delete(ref.id);
      this.segments.forgetRows(ref.id);
      if (this.store.read((txn) => txn.counts(ref.id)).chunks >= GRAPH_MIN) this.loads.queue(ref);
    }
  }

  /** Removes a collection from memory. */
  private release(ref: CollectionRef): void {
    const segments = this.segments.of(ref.id);
    if (segments.some(({ isSmall }) => !isSmall)) this.heldElsewhere.set(ref.id, ref);
    const [first] = segments;
    if (first) this.segments.evict(first);
  }

  /**
   * The rows of a collection in an arena, created if necessary: a segment, unless the collection is on disk alone.
   * Requires `loadForWrites`. Throws ArenaFull.
   */
  rowsIn(ref: CollectionRef, arena: number): StoredRows {
    return this.segments.findRows(ref.id, arena) ?? this.begin(ref, arena);
  }

  /** Creates an empty text or metadata index, which readers find once it is complete. Throws ArenaFull. */
  createTerms<S>(segment: Segment, kind: 'textIndex' | 'fields', maker: TermMaker<S>): SegmentTerms<S> {
    this.segments.announce(segment, { [kind]: 0 });
    this.segments.wake(segment);
    const wanted = { arena: segment.arena, id: segment.ref.id };
    return this.termsOf(
      segment,
      kind,
      maker,
      this.reclaimer.for(() => this.arenas.at(segment.arena).createTextIndex(), wanted),
      0,
    );
  }

  /** The text or metadata index that a checkpoint has restored; undefined if there is none. */
  resumeTerms<S>(segment: Segment, kind: 'textIndex' | 'fields', maker: TermMaker<S>): SegmentTerms<S> | undefined {
    const kernel = this.arenas.at(segment.arena);
    const root = kernel.directory.get(segment.ref.id)?.[kind] ?? 0;
    if (root !== 0 && root !== LOST) return this.termsOf(segment, kind, maker, kernel.attachTextIndex(root), Infinity);
    this.segments.announce(segment, { [kind]: 0 });
    return undefined;
  }

  private termsOf<S>(
    segment: Segment,
    kind: 'textIndex' | 'fields',
    maker: TermMaker<S>,
    index: TextIndex,
    builtTo: number,
  ): SegmentTerms<S> {
    const wanted = { arena: segment.arena, id: segment.ref.id };
    return new SegmentTerms(
      index,
      maker,
      (root) => this.segments.announce(segment, { [kind]: root }),
      (work) => this.reclaimer.for(work, wanted),
      builtTo,
    );
  }

  /** Marks the publication of a batch of writes as complete. */
  publishBatch(): void {
    this.writeFreeze.noteChange();
    this.arenas.publishBatch();
  }

  /**
   * Makes another collection the follower of this one; none if it is null. With `of`, nothing is changed unless that is
   * the follower.
   */
  setFollower(id: CollectionId, follower: CollectionId | null, of?: CollectionId): void {
    const isOther = of !== undefined && this.followers.get(id) !== of;
    // Also where nothing changes, the transaction has the position of the command in the log.
    this.store.write((txn) => void (isOther || txn.setFollower(id, follower)));
    if (isOther) return;
    if (follower === null) this.followers.delete(id);
    else this.followers.set(id, follower);
  }

  /** The collection that every write to this one has to be made to as well; undefined if there is none. */
  followerOf(id: CollectionId): CollectionId | undefined {
    const follower = this.followers.get(id);
    return follower !== undefined && !this.dropped.has(follower) ? follower : undefined;
  }

  drop(id: CollectionId): void {
    const unfollowed = [...this.followers].filter(([of, follower]) => of === id || follower === id).map(([of]) => of);
    this.recordDrop(id, unfollowed);
    for (const of of unfollowed) this.followers.delete(of);
    this.dropped.add(id);
    this.purges.push(id);
    this.leaving.splice(0, Infinity, ...this.leaving.filter(({ ref }) => ref.id !== id));
    this.heldElsewhere.delete(id);
    this.loads.cancel(id);
    this.segments.delete(id);
  }

  /**
   * Writes the drop to the journal, and which collections have no follower any more. On a disk that takes no writes the
   * drop is not recorded: the catalog no longer has the collection, so the next start removes its records all the same. A
   * drop of the command log of a cluster throws AppError then, and is applied when the disk takes it.
   */
  private recordDrop(id: CollectionId, unfollowed: readonly CollectionId[]): void {
    const { journal } = this.store;
    if (!journal) return;
    try {
      this.store.write((txn) => {
        txn.drop(id, journal.head.sequence + 1);
        for (const of of unfollowed) txn.setFollower(of, null);
        txn.note(() => packCommand({ op: 'dropCollection', collection: id }, null));
      });
    } catch (error) {
      if (!(error instanceof AppError) || journal.applying) throw error;
    }
  }

  /** Readers are excluded before the environment closes, since they read it too. */
  close(): void {
    this.arenas.close();
    this.store.close();
  }

  /**
   * Marks collections with documents in the store as evicted, and queues large ones to be loaded. One that is not among
   * `kinds` may still be written to, unless they are all that there are: the catalog of a node of a cluster may be ahead of
   * its shards, or behind them.
   */
  private enterStored(kinds: CollectionKinds, isWhole: boolean): void {
    const large: { ref: CollectionRef; chunks: number }[] = [];
    this.store.read((txn) => {
      for (const id of txn.dropped()) this.dropped.add(id);
      for (const [id, follower] of txn.followers()) this.followers.set(id, follower);
      for (const { id, chunks } of txn.allCounts()) {
        const kind = kinds.get(id);
        if (this.dropped.has(id) || (isWhole && !kind)) {
          this.purges.push(id);
          continue;
        }
        this.segments.enterEvicted(id);
        if (kind && chunks >= GRAPH_MIN && this.segments.of(id).length === 0)
          large.push({ ref: { id, ...kind }, chunks });
      }
    });
    for (const { ref } of large.sort((a, b) => b.chunks - a.chunks)) {
      if (this.holding.has(ref.id)) this.loads.queue(ref);
      else this.heldElsewhere.set(ref.id, ref);
    }
  }

  private begin(ref: CollectionRef, arena: number): StoredRows {
    if (this.segments.isOnDisk(ref.id)) {
      const rows = new StoredRows(ref, arena);
      this.segments.enterRows(ref.id, [rows]);
      return rows;
    }
    const segment = this.segments.create(ref, arena);
    try {
      this.segments.enter(ref.id, [segment]);
    } catch (error) {
      segment.drop();
      throw error;
    }
    return segment;
  }
}

/**
 * Places a document: calls `stage` on a segment in an arena with enough memory, preferring arenas that already hold the
 * collection, then those with the most free memory. A document is never split between arenas. `stage` must change
 * nothing if it throws ArenaFull. Throws ArenaFull when all arenas are full. Requires `loadForWrites`.
 */
export function placed<T>(shard: Shard, ref: CollectionRef, stage: (rows: StoredRows) => T): T {
  const order = orderOf(shard, ref);
  const plainly = (arena: number): T => stage(shard.rowsIn(ref, arena));
  const reclaiming = (arena: number): T => shard.reclaimer.for(() => plainly(arena), { arena, id: ref.id });
  // Arenas with ample memory come first, then all arenas; at last small idle segments are evicted.
  const attempts = [
    ...order.filter((arena) => shard.arenas.isRoomy(arena)).map((arena) => ({ arena, attempt: plainly })),
    ...order.map((arena) => ({ arena, attempt: plainly })),
    ...order.map((arena) => ({ arena, attempt: reclaiming })),
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

function orderOf({ arenas, segments }: Shard, { id }: CollectionRef): number[] {
  const byFreeBytes = arenas.byFreeBytes();
  const isThere = (arena: number): boolean => segments.findRows(id, arena) !== undefined;
  return [...byFreeBytes.filter(isThere), ...byFreeBytes.filter((arena) => !isThere(arena))];
}
