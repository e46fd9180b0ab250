// Loads parts from the store into shared memory: a small one at once when a write or a search first needs it, a large
// one in slices between other work. After the start of a server large ones come by themselves, so that the first search
// does not wait. Owner only.
import type { CollectionRef } from '../../api/collections.js';
import type { CollectionId, Ordinal } from '../../api/ids.js';
import { AssertionFailed } from '../../base/assert.js';
import { DamagedRecord } from '../../storage/damage.js';
import type { ShardTxn } from '../../storage/shard-reader.js';
import type { ShardStore } from '../../storage/shard-store.js';
import { arenaOf, rowOf } from '../memory/ownership.js';
import type { Room } from './eviction.js';
import type { PartTable } from './segment-table.js';
import type { Part } from './segment.js';

/**
 * The parts of one collection on their way from the store into shared memory, in slices: first its vectors, then the
 * priorities of its chunks. Readers do not find it before it is complete, and nothing writes to it.
 */
export class PartLoad {
  /** Somebody waits for it. */
  isAwaited = false;
  /** By arena. */
  protected readonly made = new Map<number, Part>();
  /** Where memory is wanted at present. */
  arena = 0;
  /** Rows with a lower ordinal are in; Infinity once all are. */
  private rowsTo = 0;
  private rows = 0;
  /** The document whose priority was taken in last. */
  private lastDocid: string | undefined;
  private markEnded: () => void = () => {};
  /** Resolves when it is there, or has failed. */
  readonly whenEnded = new Promise<void>((resolve) => (this.markEnded = resolve));

  constructor(
    protected readonly parts: PartTable,
    readonly ref: CollectionRef,
  ) {}

  /**
   * The parts when they are complete; undefined when the time is over before. Throws ArenaFull: go on where memory has
   * been made free.
   */
  proceed(txn: ShardTxn, untilMs: number): Part[] | undefined {
    const isComplete = this.takeRows(txn, untilMs) && this.takePriorities(txn, untilMs);
    if (!isComplete) return undefined;
    return this.made.size > 0 ? [...this.made.values()] : [this.partIn(0)];
  }

  /** Gives back what it has taken of memory. */
  discard(): void {
    for (const part of this.made.values()) part.drop();
    this.made.clear();
  }

  end(): void {
    this.markEnded();
  }

  private takeRows(txn: ShardTxn, untilMs: number): boolean {
    if (this.rowsTo === Infinity) return true;
    for (const { ordinal, vector } of txn.vectors(this.ref, this.rowsTo as Ordinal)) {
      const row = rowOf(ordinal);
      const { index, ordinals } = this.partIn(arenaOf(ordinal));
      index.stage(row, vector);
      index.publish(row);
      ordinals.claim(row);
      this.rowsTo = ordinal + 1;
      this.rows++;
      if (performance.now() >= untilMs) return false;
    }
    this.rowsTo = Infinity;
    // They are nobody's, and not free yet.
    for (const ordinal of txn.leaving(this.ref.id) as ReadonlySet<Ordinal>)
      this.partIn(arenaOf(ordinal)).ordinals.claim(rowOf(ordinal));
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
        const { priorities } = this.partIn(arenaOf(ordinal));
        priorities.reserve(rowOf(ordinal));
        priorities.set(rowOf(ordinal), priority);
      }
      this.lastDocid = docid;
      if (performance.now() >= untilMs) return false;
    }
    return true;
  }

  protected partIn(arena: number): Part {
    this.arena = arena;
    const part = this.made.get(arena) ?? this.parts.create(this.ref, arena);
    this.made.set(arena, part);
    return part;
  }
}

/** How long whoever comes first may keep the shard to itself, for rows or for an index: some 500 rows. */
export const FIRST_SLICE_MS = 10;

export class PartLoads {
  private readonly loads = new Map<CollectionId, PartLoad>();
  /** What loads have failed with that nobody was told of yet. */
  private readonly failures = new Map<CollectionId, unknown>();

  constructor(
    private readonly store: ShardStore,
    private readonly parts: PartTable,
    private readonly room: Room,
  ) {}

  /**
   * True when there is nothing to load, or not any more; false while it is being loaded: ask again. Throws ArenaFull.
   */
  bring(ref: CollectionRef, untilMs = performance.now() + FIRST_SLICE_MS, txn?: ShardTxn): boolean {
    this.parts.use(ref.id);
    if (!this.parts.isAway(ref.id)) return true;
    if (this.failures.has(ref.id)) {
      const failure = this.failures.get(ref.id);
      this.failures.delete(ref.id);
      throw failure;
    }
    const load = this.loadOf(ref);
    load.isAwaited = true;
    return this.proceed(load, untilMs, txn);
  }

  /** As `bring`, for many, and without their errors: resolves when they are there; undefined when they are now. */
  bringAll(refs: Iterable<CollectionRef>): Promise<unknown> | undefined {
    const untilMs = performance.now() + FIRST_SLICE_MS;
    const underWay = [...refs].flatMap((ref) => {
      if (!this.parts.isAway(ref.id) || this.failures.has(ref.id)) return [];
      const load = this.loadOf(ref);
      load.isAwaited = true;
      return this.proceedOrFail(load, untilMs) ? [] : [load.whenEnded];
    });
    return underWay.length > 0 ? Promise.all(underWay) : undefined;
  }

  /** To be loaded when there is nothing else to do. */
  queue(ref: CollectionRef): void {
    this.loadOf(ref);
  }

  /** The same of one that has been begun elsewhere. Requires that the collection is away. */
  resume(load: PartLoad): void {
    this.loads.set(load.ref.id, load);
  }

  isLoading(id: CollectionId): boolean {
    return this.loads.has(id);
  }

  /** True while nothing is on its way. */
  get areDone(): boolean {
    return this.loads.size === 0;
  }

  /** Loads for one slice what is awaited, or anything; true when there is nothing more of it. */
  work(untilMs: number, awaitedOnly: boolean): boolean {
    const all = [...this.loads.values()];
    const load = all.find(({ isAwaited }) => isAwaited) ?? (awaitedOnly ? undefined : all[0]);
    if (load) this.proceedOrFail(load, untilMs);
    return !load;
  }

  /** The collection has been dropped. */
  cancel(id: CollectionId): void {
    const load = this.loads.get(id);
    this.failures.delete(id);
    if (load) this.end(load, true);
  }

  private loadOf(ref: CollectionRef): PartLoad {
    const present = this.loads.get(ref.id);
    if (present) return present;
    const load = new PartLoad(this.parts, ref);
    this.loads.set(ref.id, load);
    return load;
  }

  /** Answers whether it has come to an end. Where it failed, the next who asks is told. */
  private proceedOrFail(load: PartLoad, untilMs: number): boolean {
    try {
      return this.proceed(load, untilMs);
    } catch (error) {
      if (error instanceof AssertionFailed) throw error;
      if (load.isAwaited) this.failures.set(load.ref.id, error);
      return true;
    }
  }

  private proceed(load: PartLoad, untilMs: number, txn?: ShardTxn): boolean {
    const { id } = load.ref;
    const wanted = {
      id,
      get arena() {
        return load.arena;
      },
    };
    const step = (snapshot: ShardTxn): ReturnType<PartLoad['proceed']> =>
      this.room.for(() => load.proceed(snapshot, untilMs), wanted);
    try {
      const parts = txn ? step(txn) : this.store.read(step);
      if (!parts) return false;
      this.parts.enter(id, parts);
      this.end(load, false);
      return true;
    } catch (error) {
      this.end(load, true);
      throw error;
    }
  }

  private end(load: PartLoad, discard: boolean): void {
    this.loads.delete(load.ref.id);
    if (discard) load.discard();
    load.end();
  }
}
