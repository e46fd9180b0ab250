// One collection's part in an arena of a shard: as the owner holds it, with its vectors in shared memory, its free
// ordinals, its priorities and the indexes of its words and metadata; and as any other thread reads it. All of it is a
// cache of the store and is rebuilt from there. Part: owner only. PartView: any thread.
import type { CollectionRef, MemoryUse, Walks } from '../../api/collections.js';
import type { CollectionId, Ordinal } from '../../api/ids.js';
import type { Bitmap } from '../filter/bitmap.js';
import { VectorIndex, GRAPH_MIN } from '../hnsw/vector-index.js';
import { type Instance, addressOf, countOf } from '../memory/bindings.js';
import { LOST, PRIORITIES_COUNT } from '../memory/layout.js';
import { arenaOf, rowOf, storedOrdinal } from '../memory/ownership.js';
import type { PartTerms } from '../postings/builder.js';
import { WordIndex } from '../postings/text-index.js';
import type { PartRoots } from './directory.js';

/**
 * The free ordinals of a part. Hands out the lowest free one, so that the same commands give the same ordinals on any
 * machine, and storage stays dense. Owner only.
 */
export class OrdinalPool {
  /** One bit an ordinal; set = taken. */
  private words = new Uint32Array(16);
  private ordinalsEnd = 0;
  /** No word before this one has a free bit. */
  private firstFree = 0;

  /** One more than the highest ordinal that is taken. */
  get end(): number {
    for (;;) {
      const word = this.words[(this.ordinalsEnd - 1) >>> 5] ?? 0;
      const below = word << (31 - ((this.ordinalsEnd - 1) & 31));
      if (this.ordinalsEnd === 0 || below < 0) return this.ordinalsEnd;
      const free = below === 0 ? ((this.ordinalsEnd - 1) & 31) + 1 : Math.clz32(below);
      this.ordinalsEnd -= free;
    }
  }

  /** Taken ordinals at or above `from`, from the highest down, up to `max`. */
  highest(from: number, max: number): Ordinal[] {
    const found: Ordinal[] = [];
    for (let ordinal = this.end - 1; ordinal >= from && found.length < max; ordinal--) {
      if ((((this.words[ordinal >>> 5] as number) >>> (ordinal & 31)) & 1) === 1) found.push(ordinal as Ordinal);
    }
    return found;
  }

  /** The lowest free ordinal, now taken. */
  take(): Ordinal {
    while (this.words[this.firstFree] === 0xffffffff) this.firstFree++;
    const word = this.words[this.firstFree] ?? 0;
    const bit = 31 - Math.clz32(~word & -~word);
    const ordinal = this.firstFree * 32 + bit;
    this.claim(ordinal as Ordinal);
    return ordinal as Ordinal;
  }

  /** Marks an ordinal as taken: for those found in the store at start. */
  claim(ordinal: Ordinal): void {
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
 * The priorities of a part's chunks, in shared memory: of most parts there are none, and then they take no memory. The
 * owner writes; any thread reads.
 */
export class Priorities {
  /** `at` is the address of the column, 0 for none. */
  constructor(
    private readonly instance: Instance,
    private at: number,
  ) {}

  get root(): number {
    return this.at;
  }

  /** Chunks whose priority is not 0. */
  get count(): number {
    return this.at === 0 ? 0 : this.instance.word(this.at + PRIORITIES_COUNT);
  }

  /** 0 for a chunk that has none. */
  of(ordinal: Ordinal): number {
    return this.at === 0 ? 0 : this.instance.calls.priorityOf(this.at, ordinal);
  }

  /** The chunks whose priority is not 0. Throws ArenaFull. */
  bitmap(): Bitmap {
    if (this.at === 0) return new Uint32Array();
    const words = countOf(this.instance.calls.findPrioritized(this.instance.scratch, this.at));
    return this.instance.copyWords(this.instance.output, words);
  }

  /** Makes room for a priority, and the column where there is none. Throws ArenaFull. Owner only, as all below. */
  reserve(ordinal: Ordinal): void {
    this.at ||= addressOf(this.instance.calls.createPriorities());
    countOf(this.instance.calls.reservePriority(this.at, ordinal));
  }

  /** Requires room, unless it is 0. */
  set(ordinal: Ordinal, priority: number): void {
    if (priority !== 0 || this.of(ordinal) !== 0) this.instance.calls.setPriority(this.at, ordinal, priority);
  }

  /** Gives the memory back. Requires that readers do not find it any more. */
  drop(): void {
    if (this.at !== 0) this.instance.calls.dropPriorities(this.at);
  }
}

export class Part {
  readonly ordinals = new OrdinalPool();
  /** A batch of writes is under way on it. */
  isChanging = false;
  /** Rows from this one on are hidden; their blocks go when the readers of this epoch have left (compaction.ts). */
  hidden: { from: number; epoch: number } | undefined;

  /** Made by the first search that wants words. */
  words: PartTerms<string> | undefined;
  /** Made by the first search with metadata filters. */
  fields: PartTerms<readonly string[]> | undefined;

  constructor(
    readonly ref: CollectionRef,
    readonly index: VectorIndex,
    readonly priorities: Priorities,
    readonly arena = 0,
  ) {}

  /**
   * Of an index that has rows already: those that are live are taken, and what stands behind the last of them is given
   * back. Requires that there are no readers.
   */
  claimRows(): void {
    const { index, ordinals } = this;
    for (const row of index.liveRows()) ordinals.claim(row as Ordinal);
    index.freeFrom(index.end);
  }

  /** The ordinal of a row as the store has it. */
  stored(row: Ordinal): Ordinal {
    return storedOrdinal(this.arena, row);
  }

  /** Of what the store has from a row on, in the order of ordinals, that which is in this arena, by its rows. */
  *within<T extends { ordinal: Ordinal }>(entries: Iterable<T>): Generator<T> {
    for (const entry of entries) {
      if (arenaOf(entry.ordinal) !== this.arena) return;
      yield { ...entry, ordinal: rowOf(entry.ordinal) };
    }
  }

  /** It has no graph. */
  get isSmall(): boolean {
    return this.index.liveCount < GRAPH_MIN;
  }

  /** Gives the memory back. Requires that readers do not find it any more. */
  drop(): void {
    this.index.drop();
    this.words?.drop();
    this.fields?.drop();
    this.priorities.drop();
  }
}

/**
 * What any thread can read of a part: its vectors, its words and metadata where they are indexed, its priorities. Made
 * from the roots in shared memory, within Kernel.read for a reader, and of no use after it.
 */
export class PartView {
  readonly index: VectorIndex;
  /** Complete, or undefined. */
  readonly words: WordIndex | undefined;
  readonly fields: WordIndex | undefined;
  readonly priorities: Priorities;

  constructor(
    instance: Instance,
    readonly id: CollectionId,
    private readonly roots: PartRoots,
    readonly arena: number,
  ) {
    const wordIndex = (root: number): WordIndex | undefined =>
      root === 0 || root === LOST ? undefined : new WordIndex(instance, root);
    this.index = new VectorIndex(instance, roots.vectors);
    this.words = wordIndex(roots.words);
    this.fields = wordIndex(roots.fields);
    this.priorities = new Priorities(instance, roots.priorities);
  }

  /**
   * It has documents, and is not in memory: its owner brings it when it is asked to. Nothing else may be asked of this
   * view then.
   */
  get isAway(): boolean {
    return this.roots.vectors === 0 && this.roots.arenas === 0;
  }

  /** Memory had no room for the index of words. */
  get isWithoutWords(): boolean {
    return this.roots.words === LOST;
  }

  /** Memory had no room for the index of metadata: searches read the records instead. */
  get isWithoutFields(): boolean {
    return this.roots.fields === LOST;
  }

  /** The ordinal of a row as the store has it. */
  stored(row: Ordinal): Ordinal {
    return storedOrdinal(this.arena, row);
  }
}

/**
 * What the parts of a collection take of the shard's memory, in bytes, by what it is for: a count of blocks, not a walk
 * through them. Texts and metadata are on disk alone, so texts take none. Of a collection that has nothing here: zeros.
 */
export function memoryUse(parts: readonly Part[]): MemoryUse {
  const use: MemoryUse = { vectors: 0, codes: 0, graph: 0, postings: 0, text: 0 };
  for (const { index, words, fields } of parts) {
    const { rowsBytes, codesBytes, usedBytes } = index;
    use.vectors += rowsBytes;
    use.codes += codesBytes;
    use.graph += usedBytes - rowsBytes - codesBytes;
    use.postings += (words?.bytes ?? 0) + (fields?.bytes ?? 0);
  }
  return use;
}

/** What searches for the `k` best do that name no breadth. `chunks`: of the collection in all shards. */
export function walksOf(parts: readonly Part[], k: number, chunks: number): Walks {
  const breadths = parts.map(({ index }) => index.breadthFor(k, Math.min(1, index.liveCount / Math.max(1, chunks))));
  return {
    breadth: Math.max(0, ...breadths),
    isSettled: parts.every(({ index }) => !index.hasWork && !index.isFillDue),
  };
}
