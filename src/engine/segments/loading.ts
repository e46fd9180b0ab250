// Loads segments from the store into shared memory: a small one at once when a write or a search first needs it, a
// large one in slices between other work. After a server start, queued segments are loaded in the background, so that
// the first search does not wait. Owner only.
import type { CollectionRef } from '../../api/collections.js';
import type { CollectionId, Ordinal } from '../../api/ids.js';
import { AssertionFailed } from '../../base/assert.js';
import { DamagedRecord } from '../../storage/damage.js';
import type { ShardTxn } from '../../storage/shard-reader.js';
import type { ShardStore } from '../../storage/shard-store.js';
import { arenaOf, rowOf } from '../memory/ownership.js';
import type { Reclaimer } from './eviction.js';
import type { Holding } from './holding.js';
import type { SegmentTable } from './segment-table.js';
import { type Segment, StoredRows } from './segment.js';

/** The load of one collection, in slices. Nothing reads or writes what it loads before it is complete. */
abstract class CollectionLoad {
  /** Whether a caller waits for this load. */
  isAwaited = false;
  /** The arena that the load is filling at present. */
  arena = 0;
  private markEnded: () => void = () => {};
  /** Resolves when the load has completed or failed. */
  readonly whenEnded = new Promise<void>((resolve) => (this.markEnded = resolve));

  constructor(
    protected readonly segments: SegmentTable,
    readonly ref: CollectionRef,
  ) {}

  /**
   * Loads for one slice. Returns whether the load is complete, and then has entered what it has loaded; false if `untilMs`
   * passes first. Throws ArenaFull; the load can be continued after memory has been freed.
   */
  abstract proceed(txn: ShardTxn, untilMs: number): boolean;

  /** Frees the memory that the load has taken. */
  abstract discard(): void;

  end(): void {
    this.markEnded();
  }
}

/** Finds out which rows of a collection are taken that is not to be in memory, so that it can be written to. */
class RowsLoad extends CollectionLoad {
  private readonly made = new Map<number, StoredRows>();
  private rowsTo = 0;

  override proceed(txn: ShardTxn, untilMs: number): boolean {
    for (const ordinal of txn.ordinals(this.ref, this.rowsTo as Ordinal)) {
      this.rowsIn(arenaOf(ordinal)).ordinals.markTaken(rowOf(ordinal));
      this.rowsTo = ordinal + 1;
      if (performance.now() >= untilMs) return false;
    }
    for (const ordinal of txn.leaving(this.ref.id) as ReadonlySet<Ordinal>)
      this.rowsIn(arenaOf(ordinal)).ordinals.markTaken(rowOf(ordinal));
    if (this.made.size === 0) this.rowsIn(0);
    this.segments.enterRows(this.ref.id, [...this.made.values()]);
    return true;
  }

  override discard(): void {
    this.made.clear();
  }

  private rowsIn(arena: number): StoredRows {
    const rows = this.made.get(arena) ?? new StoredRows(this.ref, arena);
    this.made.set(arena, rows);
    return rows;
  }
}

/**
 * The load of one collection's segments: first the vectors, then the priorities and expiries of the chunks. Readers do
 * not find the segments before they are complete, and nothing writes to them until then.
 */
export class SegmentLoad extends CollectionLoad {
  /** The segments loaded so far, by arena. */
  protected readonly made = new Map<number, Segment>();
  /** All rows with a lower ordinal are loaded; Infinity once all rows are. */
  private rowsTo = 0;
  private rows = 0;
  /** The document whose priority was read last. */
  private lastDocid: string | undefined;
  /** The key of the expiring document whose second was read last. */
  private lastExpiring: Buffer | undefined;

  override proceed(txn: ShardTxn, untilMs: number): boolean {
    if (!this.isTaken(txn, untilMs)) return false;
    this.segments.enter(this.ref.id, this.made.size > 0 ? [...this.made.values()] : [this.segmentIn(0)]);
    return true;
  }

  override discard(): void {
    for (const segment of this.made.values()) segment.drop();
    this.made.clear();
  }

  /** Takes what is stored for one slice. Returns whether all has been taken. */
  protected isTaken(txn: ShardTxn, untilMs: number): boolean {
    return this.takeRows(txn, untilMs) && this.takePriorities(txn, untilMs) && this.takeExpiries(txn, untilMs);
  }

  private takeRows(txn: ShardTxn, untilMs: number): boolean {
    if (this.rowsTo === Infinity) return true;
    for (const { ordinal, vector } of txn.vectors(this.ref, this.rowsTo as Ordinal)) {
      const row = rowOf(ordinal);
      const { index, ordinals } = this.segmentIn(arenaOf(ordinal));
      index.stage(row, vector);
      index.publish(row);
      ordinals.markTaken(row);
      this.rowsTo = ordinal + 1;
      this.rows++;
      if (performance.now() >= untilMs) return false;
    }
    this.rowsTo = Infinity;
    // These ordinals belong to removed documents and are not free yet.
    for (const ordinal of txn.leaving(this.ref.id) as ReadonlySet<Ordinal>)
      this.segmentIn(arenaOf(ordinal)).ordinals.markTaken(rowOf(ordinal));
    const { chunks } = txn.counts(this.ref.id);
    if (this.rows !== chunks)
      throw new DamagedRecord(`collection ${this.ref.id} has ${this.rows} vectors and ${chunks} chunks`);
    return true;
  }

  private takePriorities(txn: ShardTxn, untilMs: number): boolean {
    const { id } = this.ref;
    if (txn.counts(id).prioritized === 0) return true;
    for (const { docid, priority } of txn.documents(id, this.lastDocid)) {
      for (const ordinal of priority === 0 ? [] : (txn.members(id, docid).ordinals as Ordinal[])) {
        const { priorities } = this.segmentIn(arenaOf(ordinal));
        priorities.reserve(rowOf(ordinal));
        priorities.set(rowOf(ordinal), priority);
      }
      this.lastDocid = docid;
      if (performance.now() >= untilMs) return false;
    }
    return true;
  }

  private takeExpiries(txn: ShardTxn, untilMs: number): boolean {
    const { id } = this.ref;
    for (const { docid, second, key } of txn.documentsExpiring(id, this.lastExpiring)) {
      for (const ordinal of txn.members(id, docid).ordinals as Ordinal[]) {
        const { expiries } = this.segmentIn(arenaOf(ordinal));
        expiries.reserve(rowOf(ordinal));
        expiries.set(rowOf(ordinal), second);
      }
      this.lastExpiring = key;
      if (performance.now() >= untilMs) return false;
    }
    return true;
  }

  protected segmentIn(arena: number): Segment {
    this.arena = arena;
    const segment = this.made.get(arena) ?? this.segments.create(this.ref, arena);
    this.made.set(arena, segment);
    return segment;
  }
}

/** How long the first slice of a load or an index build may block the shard, in milliseconds: about 500 rows. */
export const FIRST_SLICE_MS = 10;

/** All loads of a shard that are under way. */
export class SegmentLoads {
  private readonly loads = new Map<CollectionId, CollectionLoad>();
  /** Errors of failed loads that no caller has seen yet. */
  private readonly failures = new Map<CollectionId, unknown>();

  constructor(
    private readonly store: ShardStore,
    private readonly segments: SegmentTable,
    private readonly reclaimer: Reclaimer,
    private readonly holding: Holding,
  ) {}

  /**
   * Loads a collection for one slice. Returns true if it is in memory now, false while it is being loaded: call again.
   * Throws ArenaFull, or the error with which a background slice has failed.
   */
  load(ref: CollectionRef, untilMs = performance.now() + FIRST_SLICE_MS, txn?: ShardTxn): boolean {
    this.segments.use(ref.id);
    return !this.segments.isEvicted(ref.id) || this.run(ref, SegmentLoad, untilMs, txn);
  }

  /**
   * Loads what writes to a collection need, completely: its segments, or its rows alone if it is not to be in memory.
   * Throws as `load` does.
   */
  loadForWrites(ref: CollectionRef, txn: ShardTxn | undefined): void {
    this.segments.use(ref.id);
    if (!this.isWritable(ref.id)) this.run(ref, this.kindForWrites(ref.id), Infinity, txn);
  }

  /**
   * Like `loadForWrites`, for many collections and one slice, without throwing load errors. Returns a promise that
   * resolves when all loads have ended, or undefined if none is left after this slice.
   */
  loadAllForWrites(refs: Iterable<CollectionRef>): Promise<unknown> | undefined {
    const untilMs = performance.now() + FIRST_SLICE_MS;
    const underWay = [...refs].flatMap((ref) => {
      if (this.isWritable(ref.id) || this.failures.has(ref.id)) return [];
      const load = this.loadOf(ref, this.kindForWrites(ref.id));
      load.isAwaited = true;
      return this.proceedOrFail(load, untilMs) ? [] : [load.whenEnded];
    });
    return underWay.length > 0 ? Promise.all(underWay) : undefined;
  }

  /** Queues a collection to be loaded in the background. */
  queue(ref: CollectionRef): void {
    this.loadOf(ref, SegmentLoad);
  }

  /** Continues a load that was begun elsewhere. Requires that the collection is evicted. */
  resume(load: SegmentLoad): void {
    this.loads.set(load.ref.id, load);
  }

  isLoading(id: CollectionId): boolean {
    return this.loads.has(id);
  }

  /** The collections whose segments are being loaded. */
  underWay(): CollectionId[] {
    return [...this.loads.values()].flatMap((load) => (load instanceof SegmentLoad ? load.ref.id : []));
  }

  private isWritable(id: CollectionId): boolean {
    if (this.segments.isOnDisk(id)) return true;
    if (this.segments.isEvicted(id)) return false;
    return this.holding.has(id) || this.segments.of(id).length > 0;
  }

  /** A load of segments that has begun is completed. */
  private kindForWrites(id: CollectionId): typeof SegmentLoad | typeof RowsLoad {
    return this.holding.has(id) || this.loads.get(id) instanceof SegmentLoad ? SegmentLoad : RowsLoad;
  }

  private run(
    ref: CollectionRef,
    kind: typeof SegmentLoad | typeof RowsLoad,
    untilMs: number,
    txn?: ShardTxn,
  ): boolean {
    if (this.failures.has(ref.id)) {
      const failure = this.failures.get(ref.id);
      this.failures.delete(ref.id);
      throw failure;
    }
    const load = this.loadOf(ref, kind);
    load.isAwaited = true;
    return this.proceed(load, untilMs, txn);
  }

  /** Whether no load is under way. */
  get areDone(): boolean {
    return this.loads.size === 0;
  }

  /** Runs one slice of an awaited load, or of any load unless `awaitedOnly`. Returns true if there was none to run. */
  work(untilMs: number, awaitedOnly: boolean): boolean {
    const all = [...this.loads.values()];
    const load = all.find(({ isAwaited }) => isAwaited) ?? (awaitedOnly ? undefined : all[0]);
    if (load) this.proceedOrFail(load, untilMs);
    return !load;
  }

  /** Cancels the load of a dropped collection. */
  cancel(id: CollectionId): void {
    const load = this.loads.get(id);
    this.failures.delete(id);
    if (load) this.end(load, true);
  }

  private loadOf(ref: CollectionRef, kind: typeof SegmentLoad | typeof RowsLoad): CollectionLoad {
    const present = this.loads.get(ref.id);
    if (present instanceof kind) return present;
    if (present) this.end(present, true);
    // What writes know of the rows would miss those that they add until the load is complete.
    this.segments.forgetRows(ref.id);
    const load = new kind(this.segments, ref);
    this.loads.set(ref.id, load);
    return load;
  }

  /** Returns whether the load has ended. Its error is kept for the next caller of `load`, if one waits. */
  private proceedOrFail(load: CollectionLoad, untilMs: number): boolean {
    try {
      return this.proceed(load, untilMs);
    } catch (error) {
      if (error instanceof AssertionFailed) throw error;
      if (load.isAwaited) this.failures.set(load.ref.id, error);
      return true;
    }
  }

  private proceed(load: CollectionLoad, untilMs: number, txn?: ShardTxn): boolean {
    const { id } = load.ref;
    const wanted = {
      id,
      get arena() {
        return load.arena;
      },
    };
    const step = (snapshot: ShardTxn): boolean => this.reclaimer.for(() => load.proceed(snapshot, untilMs), wanted);
    try {
      if (!(txn ? step(txn) : this.store.read(step))) return false;
      this.end(load, false);
      return true;
    } catch (error) {
      this.end(load, true);
      throw error;
    }
  }

  private end(load: CollectionLoad, discard: boolean): void {
    this.loads.delete(load.ref.id);
    if (discard) load.discard();
    load.end();
  }
}
