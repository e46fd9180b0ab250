// The parts of one collection on their way from the store into shared memory, in slices: first its vectors, then the
// priorities of its chunks. Readers do not find it before it is complete, and nothing writes to it. Made by
// part-loads.ts; shard worker only.
import type { Ordinal } from '../../src/contract/ids.js';
import type { CollectionRef } from '../../src/contract/resources.js';
import { arenaOf, rowOf } from '../../src/contract/ordinals.js';
import { DamagedRecord } from '../../src/store/damage.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import type { Part } from './part.js';
import type { PartTable } from './part-table.js';

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
