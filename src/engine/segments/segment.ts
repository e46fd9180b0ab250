// A segment: what one shard keeps of one collection in one arena. `Segment` is the owner's form, with vectors in shared
// memory, free ordinals, priorities, expiries, the text index and the metadata index; `SegmentView` is what any other thread
// reads. All of it is a cache of the store and is rebuilt from there. Segment: owner only. SegmentView: any thread.
import type { CollectionRef, ShardMemory, SearchEf } from '../../api/collections.js';
import type { CollectionId, Ordinal } from '../../api/ids.js';
import { type Bitmap, ordinalsIn } from '../filter/bitmap.js';
import { VectorIndex, GRAPH_MIN } from '../hnsw/vector-index.js';
import { type Instance, addressOf, countOf } from '../memory/bindings.js';
import {
  COLUMN_COUNT,
  COLUMN_EXPIRIES,
  COLUMN_FIRST_EXPIRY,
  COLUMN_VERSION,
  LAST_ROW_VERSION_AT,
  LOST,
} from '../memory/layout.js';
import { arenaOf, rowOf, storedOrdinal } from '../memory/ownership.js';
import type { SegmentTerms } from '../postings/builder.js';
import { TextIndex } from '../postings/text-index.js';
import type { SegmentRoots } from './directory.js';

/**
 * The free ordinals of a segment. It hands out the lowest free one, so the same commands give the same ordinals on any
 * machine and storage stays dense. Owner only.
 */
export class OrdinalPool {
  /** One bit for each ordinal; a set bit means taken. */
  private words = new Uint32Array(16);
  private ordinalsEnd = 0;
  /** No word before this index has a free bit. */
  private firstFree = 0;

  /** One more than the highest taken ordinal. */
  get end(): number {
    for (;;) {
      const word = this.words[(this.ordinalsEnd - 1) >>> 5] ?? 0;
      const below = word << (31 - ((this.ordinalsEnd - 1) & 31));
      if (this.ordinalsEnd === 0 || below < 0) return this.ordinalsEnd;
      const free = below === 0 ? ((this.ordinalsEnd - 1) & 31) + 1 : Math.clz32(below);
      this.ordinalsEnd -= free;
    }
  }

  /** Taken ordinals not below `from`, in descending order, at most `max`. */
  highest(from: number, max: number): Ordinal[] {
    const found: Ordinal[] = [];
    for (let ordinal = this.end - 1; ordinal >= from && found.length < max; ordinal--) {
      if ((((this.words[ordinal >>> 5] as number) >>> (ordinal & 31)) & 1) === 1) found.push(ordinal as Ordinal);
    }
    return found;
  }

  /** Takes the lowest free ordinal. */
  take(): Ordinal {
    while (this.words[this.firstFree] === 0xffffffff) this.firstFree++;
    const word = this.words[this.firstFree] ?? 0;
    const bit = 31 - Math.clz32(~word & -~word);
    const ordinal = this.firstFree * 32 + bit;
    this.markTaken(ordinal as Ordinal);
    return ordinal as Ordinal;
  }

  /** Marks an ordinal as taken, for instance one found in the store at start. */
  markTaken(ordinal: Ordinal): void {
    this.ordinalsEnd = Math.max(this.ordinalsEnd, ordinal + 1);
    const at = ordinal >>> 5;
    if (at >= this.words.length) this.grow(at + 1);
    this.words[at] = (this.words[at] as number) | (1 << (ordinal & 31));
  }

  release(ordinal: Ordinal): void {
    const at = ordinal >>> 5;
    this.words[at] = (this.words[at] as number) & ~(1 << (ordinal & 31));
    this.firstFree = Math.min(this.firstFree, at);
  }

  private grow(words: number): void {
    const grown = new Uint32Array(Math.max(words, this.words.length * 2));
    grown.set(this.words);
    this.words = grown;
  }
}

/**
 * The priorities of a segment's chunks, in shared memory, from where the column of expiries is found. Most segments have
 * neither, and then they take no memory. The owner writes; any thread reads.
 */
export class Priorities {
  readonly expiries: Expiries;

  /** `at` is the address of the column, or 0 if there is none. */
  constructor(
    private readonly instance: Instance,
    private at: number,
  ) {
    this.expiries = new Expiries(instance, this);
  }

  get root(): number {
    return this.at;
  }

  /** Number of chunks whose priority is not 0. */
  get count(): number {
    return this.at === 0 ? 0 : this.instance.word(this.at + COLUMN_COUNT);
  }

  /** The priority of a chunk; 0 if it has none. */
  of(ordinal: Ordinal): number {
    return this.at === 0 ? 0 : this.instance.calls.valueOf(this.at, ordinal);
  }

  /** Bitmap of the chunks whose priority is not 0. Throws ArenaFull. */
  bitmap(): Bitmap {
    if (this.at === 0) return new Uint32Array();
    const textIndex = countOf(this.instance.calls.findValued(this.instance.scratch, this.at, Infinity));
    return this.instance.copyWords(this.instance.output, textIndex);
  }

  /**
   * Reserves memory for a priority, and creates the column if there is none. Throws ArenaFull. This and all methods
   * below: owner only.
   */
  reserve(ordinal: Ordinal): void {
    this.at ||= addressOf(this.instance.calls.createColumn());
    countOf(this.instance.calls.reserveValue(this.at, ordinal));
  }

  /** Requires a preceding `reserve`, unless the priority is 0. */
  set(ordinal: Ordinal, priority: number): void {
    if (priority !== 0 || this.of(ordinal) !== 0) this.instance.calls.setValue(this.at, ordinal, priority);
  }

  /** Address of the column of expiries; 0 if there is none. */
  get expiriesRoot(): number {
    return this.at === 0 ? 0 : this.instance.word(this.at + COLUMN_EXPIRIES);
  }

  /** Creates the column of expiries if there is none, and one of priorities that leads to it. Throws ArenaFull. */
  createExpiries(): number {
    this.at ||= addressOf(this.instance.calls.createColumn());
    if (this.expiriesRoot === 0) {
      const root = addressOf(this.instance.calls.createColumn());
      this.instance.setWord(root + COLUMN_VERSION, this.instance.word(LAST_ROW_VERSION_AT));
      this.instance.setWord(this.at + COLUMN_EXPIRIES, root);
    }
    return this.expiriesRoot;
  }

  /** Frees the memory, that of the expiries too. Requires that readers no longer find it. */
  drop(): void {
    if (this.expiriesRoot !== 0) this.instance.calls.dropColumn(this.expiriesRoot);
    if (this.at !== 0) this.instance.calls.dropColumn(this.at);
  }
}

/**
 * The seconds in which a segment's chunks expire, in shared memory. A segment without such chunks has no column, and a
 * search asks no more than `first`. The owner writes; any thread reads.
 */
export class Expiries {
  constructor(
    private readonly instance: Instance,
    private readonly priorities: Priorities,
  ) {}

  /** No chunk expires before this second; Infinity if none does. It may be earlier than the first that does. */
  get first(): number {
    const root = this.priorities.expiriesRoot;
    return root === 0 ? Infinity : this.instance.word(root + COLUMN_FIRST_EXPIRY) || Infinity;
  }

  /** Address of the column and its version, which changes when a chunk is added or gets another second. */
  get state(): { root: number; version: number } {
    const root = this.priorities.expiriesRoot;
    return { root, version: root === 0 ? 0 : this.instance.word(root + COLUMN_VERSION) };
  }

  /** Bitmap of the chunks that have expired in second `nowS`. Reads the whole column. Throws ArenaFull. */
  expired(nowS: number): Bitmap {
    const root = this.priorities.expiriesRoot;
    if (root === 0) return new Uint32Array();
    const words = countOf(this.instance.calls.findValued(this.instance.scratch, root, nowS));
    return this.instance.copyWords(this.instance.output, words);
  }

  /** The second in which a chunk expires; 0 if it does not. */
  of(ordinal: Ordinal): number {
    const root = this.priorities.expiriesRoot;
    return root === 0 ? 0 : this.instance.calls.valueOf(root, ordinal);
  }

  /** Reserves memory for the expiry of a chunk. Throws ArenaFull. This and all methods below: owner only. */
  reserve(ordinal: Ordinal): void {
    countOf(this.instance.calls.reserveValue(this.priorities.createExpiries(), ordinal));
  }

  /**
   * Sets the second of a chunk that is about to be published, or is. Requires a preceding `reserve`, unless the second is
   * 0.
   */
  set(ordinal: Ordinal, second: number): void {
    const root = this.priorities.expiriesRoot;
    if (root === 0) return;
    // A reader that does not see the earlier bound yet would not see the row either.
    if (second !== 0 && second < this.first) this.instance.setWord(root + COLUMN_FIRST_EXPIRY, second);
    if (second !== 0 || this.of(ordinal) !== 0) this.instance.calls.setValue(root, ordinal, second);
    this.instance.setWord(root + COLUMN_VERSION, this.instance.word(root + COLUMN_VERSION) + 1);
  }

  /** Clears the second of a chunk that has been removed. A bitmap of expired chunks may have it until it is added again. */
  clear(ordinal: Ordinal): void {
    if (this.of(ordinal) !== 0) this.instance.calls.setValue(this.priorities.expiriesRoot, ordinal, 0);
  }

  /** Sets the bound `first`: the first second in which a chunk expires, or 0. */
  setFirst(second: number): void {
    const root = this.priorities.expiriesRoot;
    if (root !== 0) this.instance.setWord(root + COLUMN_FIRST_EXPIRY, second);
  }
}

/**
 * The rows that a shard stores of one collection in one arena: all that is known of them in a collection that is not in
 * memory and is written to all the same. Owner only.
 */
export class StoredRows {
  readonly ordinals = new OrdinalPool();
  /** A batch of writes on it is under way. */
  isChanging = false;

  constructor(
    readonly ref: CollectionRef,
    readonly arena = 0,
  ) {}

  /** The ordinal of a row as the store has it. */
  stored(row: Ordinal): Ordinal {
    return storedOrdinal(this.arena, row);
  }
}

/** A segment as its owner holds it. Owner only. */
export class Segment extends StoredRows {
  /** Rows from `from` on are hidden. Their blocks are freed when the readers of `epoch` have left (compaction.ts). */
  hidden: { from: number; epoch: number } | undefined;

  /** The text index, created by the first search that needs it. */
  textIndex: SegmentTerms<string> | undefined;
  /** The metadata index, created by the first search with metadata filters. */
  fields: SegmentTerms<readonly string[]> | undefined;

  constructor(
    ref: CollectionRef,
    readonly index: VectorIndex,
    readonly priorities: Priorities,
    arena = 0,
  ) {
    super(ref, arena);
  }

  get expiries(): Expiries {
    return this.priorities.expiries;
  }

  /**
   * For an index that already has rows: marks live rows as taken, and frees the blocks behind the last one. Requires
   * that there are no readers.
   */
  markLiveRows(): void {
    const { index, ordinals } = this;
    for (const row of ordinalsIn(index.liveRows())) ordinals.markTaken(row as Ordinal);
    index.freeFrom(index.end);
  }

  /**
   * Of store entries in ordinal order, yields those in this arena, with rows instead of ordinals. Stops at the first
   * entry of another arena.
   */
  *within<T extends { ordinal: Ordinal }>(entries: Iterable<T>): Generator<T> {
    for (const entry of entries) {
      if (arenaOf(entry.ordinal) !== this.arena) return;
      yield { ...entry, ordinal: rowOf(entry.ordinal) };
    }
  }

  /** A small segment has no graph. */
  get isSmall(): boolean {
    return this.index.liveCount < GRAPH_MIN;
  }

  /** Frees the memory. Requires that readers no longer find it. */
  drop(): void {
    this.index.drop();
    this.textIndex?.drop();
    this.fields?.drop();
    this.priorities.drop();
  }
}

/** The collections of which a thread keeps a bitmap of expired rows. */
const BITMAPS_MAX = 64;

/**
 * The bitmaps of the rows that have expired, by collection, of one arena and one thread. Each is made once a second, and
 * again when rows have been added or have got other seconds. A thread has its own.
 */
export class ExpiredRows {
  private readonly held = new Map<CollectionId, { at: string; rows: Bitmap }>();

  /** `incarnation` returns that of the arena. */
  constructor(private readonly incarnation: () => number) {}

  /** Throws ArenaFull. */
  of(id: CollectionId, expiries: Expiries, nowS: number): Bitmap {
    // The version is read before the column, so a change meanwhile makes the bitmap outdated.
    const { root, version } = expiries.state;
    const at = `${this.incarnation()}/${root}/${version}/${nowS}`;
    const held = this.held.get(id);
    if (held?.at === at) return held.rows;
    const rows = expiries.expired(nowS);
    this.held.delete(id);
    if (this.held.size === BITMAPS_MAX) this.held.delete(this.held.keys().next().value as CollectionId);
    this.held.set(id, { at, rows });
    return rows;
  }
}

/**
 * A segment as any thread reads it: its vectors, its text and metadata indexes if they are built, its priorities. Built
 * from the roots in shared memory; for a reader it is valid only inside its `Kernel.read`.
 */
export class SegmentView {
  readonly index: VectorIndex;
  /** The text index; undefined unless it is complete. The same holds for `fields`, the metadata index. */
  readonly textIndex: TextIndex | undefined;
  readonly fields: TextIndex | undefined;
  readonly priorities: Priorities;

  constructor(
    instance: Instance,
    readonly id: CollectionId,
    private readonly roots: SegmentRoots,
    readonly arena: number,
    private readonly expired: ExpiredRows,
  ) {
    const textIndex = (root: number): TextIndex | undefined =>
      root === 0 || root === LOST ? undefined : new TextIndex(instance, root);
    this.index = new VectorIndex(instance, roots.vectors);
    this.textIndex = textIndex(roots.textIndex);
    this.fields = textIndex(roots.fields);
    this.priorities = new Priorities(instance, roots.priorities);
  }

  get expiries(): Expiries {
    return this.priorities.expiries;
  }

  /** The rows that have expired in second `nowS`. The bitmap is shared and must not be changed. Throws ArenaFull. */
  expiredRows(nowS: number): Bitmap {
    return this.expired.of(this.id, this.expiries, nowS);
  }

  /**
   * The collection has documents but is evicted; its owner loads it on request. Nothing else of this view may then be
   * used.
   */
  get isEvicted(): boolean {
    return this.roots.vectors === 0 && this.roots.arenas === 0;
  }

  /** The text index did not fit in memory. */
  get isWithoutTextIndex(): boolean {
    return this.roots.textIndex === LOST;
  }

  /** The metadata index did not fit in memory; searches read records instead. */
  get isWithoutFields(): boolean {
    return this.roots.fields === LOST;
  }

  /** The ordinal of a row as the store has it. */
  stored(row: Ordinal): Ordinal {
    return storedOrdinal(this.arena, row);
  }
}

/**
 * Memory that the segments of a collection take, in bytes by purpose. It is computed from block counts and is cheap.
 * Texts and metadata are only on disk, so `text` is 0.
 */
export function memoryUse(segments: readonly Segment[]): ShardMemory {
  const use: ShardMemory = { vectors: 0, quantized_vectors: 0, graph: 0, postings: 0, text: 0 };
  for (const { index, textIndex, fields } of segments) {
    const { rowsBytes, quantizedBytes, usedBytes } = index;
    use.vectors += rowsBytes;
    use.quantized_vectors += quantizedBytes;
    use.graph += usedBytes - rowsBytes - quantizedBytes;
    use.postings += (textIndex?.bytes ?? 0) + (fields?.bytes ?? 0);
  }
  return use;
}

/**
 * `ef` is the `ef` that searches for the `k` best use if they name none; `isGraphComplete` tells whether graph maintenance
 * has nothing left to do. `chunks` is the number of chunks of the collection in all shards.
 */
export function searchEfOf(segments: readonly Segment[], k: number, chunks: number): SearchEf {
  const efs = segments.map(({ index }) => index.efFor(k, Math.min(1, index.liveCount / Math.max(1, chunks))));
  return {
    ef: Math.max(0, ...efs),
    isGraphComplete: segments.every(({ index }) => !index.hasWork && !index.isDensifyDue),
  };
}
