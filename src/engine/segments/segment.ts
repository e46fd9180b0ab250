// A segment: what one shard keeps of one collection in one arena. `Segment` is the owner's form, with vectors in shared
// memory, free ordinals, priorities, the text index and the metadata index; `SegmentView` is what any other thread
// reads. All of it is a cache of the store and is rebuilt from there. Segment: owner only. SegmentView: any thread.
import type { CollectionRef, ShardMemory, SearchEf } from '../../api/collections.js';
import type { CollectionId, Ordinal } from '../../api/ids.js';
import { type Bitmap, ordinalsIn } from '../filter/bitmap.js';
import { VectorIndex, GRAPH_MIN } from '../hnsw/vector-index.js';
import { type Instance, addressOf, countOf } from '../memory/bindings.js';
import { LOST, PRIORITIES_COUNT } from '../memory/layout.js';
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
 * The priorities of a segment's chunks, in shared memory. Most segments have none, and then they take no memory. The
 * owner writes; any thread reads.
 */
export class Priorities {
  /** `at` is the address of the column, or 0 if there is none. */
  constructor(
    private readonly instance: Instance,
    private at: number,
  ) {}

  get root(): number {
    return this.at;
  }

  /** Number of chunks whose priority is not 0. */
  get count(): number {
    return this.at === 0 ? 0 : this.instance.word(this.at + PRIORITIES_COUNT);
  }

  /** The priority of a chunk; 0 if it has none. */
  of(ordinal: Ordinal): number {
    return this.at === 0 ? 0 : this.instance.calls.priorityOf(this.at, ordinal);
  }

  /** Bitmap of the chunks whose priority is not 0. Throws ArenaFull. */
  bitmap(): Bitmap {
    if (this.at === 0) return new Uint32Array();
    const textIndex = countOf(this.instance.calls.findPrioritized(this.instance.scratch, this.at));
    return this.instance.copyWords(this.instance.output, textIndex);
  }

  /**
   * Reserves memory for a priority, and creates the column if there is none. Throws ArenaFull. This and all methods
   * below: owner only.
   */
  reserve(ordinal: Ordinal): void {
    this.at ||= addressOf(this.instance.calls.createPriorities());
    countOf(this.instance.calls.reservePriority(this.at, ordinal));
  }

  /** Requires a preceding `reserve`, unless the priority is 0. */
  set(ordinal: Ordinal, priority: number): void {
    if (priority !== 0 || this.of(ordinal) !== 0) this.instance.calls.setPriority(this.at, ordinal, priority);
  }

  /** Frees the memory. Requires that readers no longer find it. */
  drop(): void {
    if (this.at !== 0) this.instance.calls.dropPriorities(this.at);
  }
}

/** A segment as its owner holds it. Owner only. */
export class Segment {
  readonly ordinals = new OrdinalPool();
  /** A batch of writes on it is under way. */
  isChanging = false;
  /** Rows from `from` on are hidden. Their blocks are freed when the readers of `epoch` have left (compaction.ts). */
  hidden: { from: number; epoch: number } | undefined;

  /** The text index, created by the first search that needs it. */
  textIndex: SegmentTerms<string> | undefined;
  /** The metadata index, created by the first search with metadata filters. */
  fields: SegmentTerms<readonly string[]> | undefined;

  constructor(
    readonly ref: CollectionRef,
    readonly index: VectorIndex,
    readonly priorities: Priorities,
    readonly arena = 0,
  ) {}

  /**
   * For an index that already has rows: marks live rows as taken, and frees the blocks behind the last one. Requires
   * that there are no readers.
   */
  markLiveRows(): void {
    const { index, ordinals } = this;
    for (const row of ordinalsIn(index.liveRows())) ordinals.markTaken(row as Ordinal);
    index.freeFrom(index.end);
  }

  /** The ordinal of a row as the store has it. */
  stored(row: Ordinal): Ordinal {
    return storedOrdinal(this.arena, row);
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
  ) {
    const textIndex = (root: number): TextIndex | undefined =>
      root === 0 || root === LOST ? undefined : new TextIndex(instance, root);
    this.index = new VectorIndex(instance, roots.vectors);
    this.textIndex = textIndex(roots.textIndex);
    this.fields = textIndex(roots.fields);
    this.priorities = new Priorities(instance, roots.priorities);
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
