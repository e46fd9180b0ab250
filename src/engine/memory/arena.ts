// One arena of a shard's memory as a single thread sees it, and the set of a shard's arenas as its owner sees them. The
// owner formats an arena and is the only thread that writes and frees in it; other threads join as readers and search
// within `read`. docs/internals/memory-layout.md has the rules.
import type { Precision } from '../../api/choices.js';
import type { CollectionId } from '../../api/ids.js';
import { DIM_MAX, SHARD_PAGES_MAX } from '../../api/limits.js';
import { nowSeconds } from '../../base/clock.js';
import { assert } from '../../base/assert.js';
import { PAGE_BYTES, giveBack } from '../../base/arena-memory.js';
import { GRAPH_MIN, QUANTIZED_MIN, VectorIndex } from '../hnsw/vector-index.js';
import { TextIndex } from '../postings/text-index.js';
import { SegmentDirectory } from '../segments/directory.js';
import { ExpiredRows, Priorities, SegmentView } from '../segments/segment.js';
import { ArenaImage } from './arena-image.js';
import { ArenaFull, Instance, addressOf } from './bindings.js';
import { type ReaderPlace, ReaderTable } from './epochs.js';
import {
  DAMAGED_AT,
  LAST_ROW_VERSION_AT,
  LAYOUT_VERSION,
  LINE_BYTES,
  MAGIC,
  MAGIC_AT,
  PUBLISHED_ROW_VERSION_AT,
  RECLAIM_STEP,
  RETIRED_LINES_AT,
  ROOT_QUANTIZER_NEXT,
  STATE_AT,
  USED_AT,
  VERSION_AT,
} from './layout.js';

export interface IndexOptions {
  /** An index with fewer live rows than this is scanned instead of searched through a graph. */
  readonly graphMin?: number;
  /** The number of live rows from which an index gets quantized vectors. */
  readonly quantizedMin?: number;
  /** Precision of the numbers in a row. */
  readonly precision?: Precision | undefined;
}

/** One arena as one thread sees it. The thread is the owner of the shard unless it has called `joinReaders`. */
export class Kernel {
  /** The segments in this memory. The owner adds them; readers look them up within `read`. */
  readonly directory: SegmentDirectory;
  private readonly instance: Instance;
  private readonly table: ReaderTable;
  /** This thread's place in the table of readers; undefined for the owner. */
  private place: ReaderPlace | undefined;
  private isInside = false;
  private readonly expiredRows = new ExpiredRows(() => this.table.incarnation);

  /**
   * `module` is the compiled kernel.wasm. `memory` is a shared memory with a maximum of `pagesMax` pages. Until the
   * owner has formatted the memory, only `format` and the functions for readers may be called.
   */
  constructor(
    module: WebAssembly.Module,
    memory: WebAssembly.Memory,
    private readonly pagesMax = SHARD_PAGES_MAX,
  ) {
    this.instance = new Instance(module, memory);
    this.directory = new SegmentDirectory(this.instance);
    this.table = new ReaderTable(memory);
  }

  /**
   * Empties the arena: for a new shard, and after its worker died and left contents that cannot be trusted. The arena
   * stays closed until `open`. Owner only.
   */
  format(): void {
    this.close();
    this.instance.calls.format();
    this.instance.forgetScratch();
  }

  /** Opens the arena to readers, once its contents are complete. Owner only. */
  open(): void {
    this.assertFormatted();
    this.publishBatch();
    this.table.open();
  }

  /** Closes the arena to new readers and waits until those inside have left. Owner only. */
  close(): void {
    this.table.closeAndWait();
  }

  /** How often the memory has been formatted. Anything found in the memory is valid for one incarnation only. */
  get incarnation(): number {
    return this.table.incarnation;
  }

  /** Makes this thread a reader by taking a place in the table of readers. Called once, before the first `read`. */
  joinReaders(): void {
    assert(!this.place, 'a reader joins once');
    this.place = this.table.join();
    this.instance.becomeReader(this.place.holder);
  }

  /**
   * Runs `work`, which must be synchronous and must not block; nothing that it can see is freed meanwhile. Returns
   * undefined when the memory is closed: the owner is gone, or has not filled the memory yet, or went while `work` was
   * allocating scratch. Throws `ArenaFull` when there is no memory for scratch. Roots, ordinals and row versions are
   * valid only within the incarnation that `work` receives.
   */
  read<T>(work: (incarnation: number) => T): T | undefined {
    const { place } = this;
    if (!place || this.isInside) return this.table.isOpen ? work(this.table.incarnation) : undefined;
    const incarnation = place.enter();
    if (incarnation === 0) return undefined;
    this.isInside = true;
    try {
      place.provideScratch(this.instance, incarnation);
      return work(incarnation);
    } catch (error) {
      // Closing the memory makes waiting allocations fail (kernel/memory/chunks.ts).
      if (error instanceof ArenaFull && !this.table.isOpen) return undefined;
      throw error;
    } finally {
      this.isInside = false;
      place.leave();
    }
  }

  /**
   * Frees a bounded number of retired blocks that no reader can see any more. True when there may be more to free at
   * once. Owner only.
   */
  reclaim(): boolean {
    assert(this.instance.word(DAMAGED_AT) === 0, 'no reader died while it changed the arena');
    return this.instance.calls.reclaim(RECLAIM_STEP) === RECLAIM_STEP;
  }

  /** Returns some of the free memory to the operating system. True when there may be more. Owner only. */
  giveBack(): boolean {
    const pages = this.instance.calls.lockUnused();
    if (pages === 0) return false;
    try {
      return giveBack(this.instance.bytesAt((pages >>> 8) * PAGE_BYTES, (pages & 255) * PAGE_BYTES));
    } finally {
      this.instance.calls.unlockUnused();
    }
  }

  /**
   * Ends the current epoch and returns its number; `haveLeft` then tells whether every reader that was inside has left.
   * Owner only.
   */
  endEpoch(): number {
    return this.instance.calls.endEpoch();
  }

  haveLeft(epoch: number): boolean {
    return this.instance.calls.haveLeft(epoch) !== 0;
  }

  /** The last row version that had been assigned when the latest batch of writes was published completely. */
  publishedRowVersion(): number {
    return this.instance.word(PUBLISHED_ROW_VERSION_AT);
  }

  /** Declares everything published so far complete, which advances `publishedRowVersion`. Owner only. */
  publishBatch(): void {
    this.instance.setWord(PUBLISHED_ROW_VERSION_AT, this.instance.word(LAST_ROW_VERSION_AT));
  }

  /** Bytes of memory in use. */
  usedBytes(): number {
    return this.instance.word(USED_AT) * LINE_BYTES;
  }

  /** The size in bytes that the memory may grow to. */
  get bytesMax(): number {
    return this.pagesMax * PAGE_BYTES;
  }

  /** Bytes that are retired until readers leave. `usedBytes` includes them. */
  retiredBytes(): number {
    return this.instance.word(RETIRED_LINES_AT) * LINE_BYTES;
  }

  /**
   * The size in bytes that the memory has grown to. It never shrinks, but free pages may have been returned to the
   * system (`giveBack`).
   */
  reservedBytes(): number {
    return this.instance.reservedBytes;
  }

  /**
   * A view of a collection's segment in this arena, or undefined when the collection has no documents here. The view is
   * valid only within the `read` in which it was made. `arena` is the number of this arena.
   */
  view(id: CollectionId, arena = 0): SegmentView | undefined {
    const roots = this.directory.get(id, nowSeconds());
    return roots && new SegmentView(this.instance, id, roots, arena, this.expiredRows);
  }

  /** Access to the bytes of this arena for checkpoints. Owner only. */
  image(): ArenaImage {
    return new ArenaImage(this.instance);
  }

  /**
   * The priorities of a segment. `root` is their address; 0 makes a column when the first priority is set. Owner only.
   */
  createPriorities(root = 0): Priorities {
    return new Priorities(this.instance, root);
  }

  /**
   * Resumes the restored index at `root`. Quantized vectors that were under construction are dropped and are made
   * again. Owner only.
   */
  resumeIndex(root: number): VectorIndex {
    if (this.instance.word(root + ROOT_QUANTIZER_NEXT) !== 0) this.instance.calls.dropNext(root);
    return new VectorIndex(this.instance, root, QUANTIZED_MIN);
  }

  /** Creates an empty index of `dim`-dimensional vectors. Throws `ArenaFull`. Owner only. */
  createIndex(
    dim: number,
    { graphMin = GRAPH_MIN, quantizedMin = QUANTIZED_MIN, precision = 'int16' }: IndexOptions = {},
  ): VectorIndex {
    assert(Number.isInteger(dim) && dim >= 1 && dim <= DIM_MAX, `dimension ${dim}`);
    this.assertFormatted();
    return new VectorIndex(
      this.instance,
      addressOf(this.instance.calls.createIndex(dim, graphMin, precision === 'int8')),
      quantizedMin,
    );
  }

  /** Attaches to the vector index at `root`, which another thread's Kernel created in the same memory. */
  attach(root: number): VectorIndex {
    this.assertFormatted();
    return new VectorIndex(this.instance, root);
  }

  /** Creates an empty text index. Throws `ArenaFull`. Owner only. */
  createTextIndex(): TextIndex {
    this.assertFormatted();
    return this.attachTextIndex(addressOf(this.instance.calls.createTextIndex()));
  }

  /** Attaches to the text index at `root`, which another thread's Kernel created in the same memory. */
  attachTextIndex(root: number): TextIndex {
    this.assertFormatted();
    return new TextIndex(this.instance, root);
  }

  private assertFormatted(): void {
    const { instance } = this;
    const ready =
      instance.word(MAGIC_AT) === MAGIC &&
      instance.word(VERSION_AT) === LAYOUT_VERSION &&
      instance.word(STATE_AT) === 1;
    assert(ready, 'the memory of the shard is formatted');
  }
}

/**
 * Share of an arena that new documents may fill. A row takes 1.4 times its own size once its edges and its quantized
 * vector are there, and loading is faster than building these.
 */
const ROOMY_SHARE = 5 / 8;

/**
 * The arenas of one shard. The first is the home arena. The others are formatted when they are first needed; until then
 * they are closed, and readers find nothing in them. Owner only.
 */
export class Arenas {
  /** Numbers of the arenas in use. Only `close` may be called on an arena that is not in use. */
  private readonly inUse = new Set<number>();

  /** `kernels[0]` is the home arena. */
  constructor(private readonly kernels: readonly Kernel[]) {}

  get home(): Kernel {
    return this.kernels[0] as Kernel;
  }

  /** Empties all arenas and leaves only the home arena in use. Readers find nothing until `open`. */
  format(): void {
    this.close();
    this.inUse.clear();
    this.home.format();
    this.inUse.add(0);
  }

  open(): void {
    for (const kernel of this.used()) kernel.open();
  }

  /** The home arena is closed first, because a reader of any other arena is also inside the home arena. */
  close(): void {
    for (const kernel of this.kernels) kernel.close();
  }

  /**
   * The arena with this number, which is formatted and opened when it has not been in use. Throws `ArenaFull` when the
   * system has no memory for it.
   */
  at(arena: number): Kernel {
    const kernel = this.kernels[arena];
    assert(kernel, `arena ${arena}, of ${this.kernels.length}`);
    if (!this.inUse.has(arena)) {
      kernel.format();
      kernel.open();
      this.inUse.add(arena);
    }
    return kernel;
  }

  /**
   * True while the arena has room for new documents and for what they need later: edges, quantized vectors, terms, and
   * the scratch of searches.
   */
  isRoomy(arena: number): boolean {
    return !this.inUse.has(arena) || this.at(arena).usedBytes() < ROOMY_SHARE * this.at(arena).bytesMax;
  }

  /** Numbers of all arenas: those in use first, the least filled leading, then those not in use. */
  byFreeBytes(): number[] {
    const used = [...this.inUse].sort((a, b) => this.at(a).usedBytes() - this.at(b).usedBytes() || a - b);
    return [...used, ...this.kernels.keys()].filter((arena, i, all) => all.indexOf(arena) === i);
  }

  /** The arenas in use. */
  used(): Kernel[] {
    return [...this.inUse].map((arena) => this.at(arena));
  }

  /** Numbers of the arenas in use. */
  numbers(): Iterable<number> {
    return this.inUse;
  }

  publishBatch(): void {
    for (const kernel of this.used()) kernel.publishBatch();
  }

  /** Frees some of the retired memory in all arenas in use. True when there may be more. */
  reclaim(): boolean {
    return this.used().filter((kernel) => kernel.reclaim()).length > 0;
  }

  /** Returns some of the free memory to the operating system. True when there may be more. */
  giveBack(): boolean {
    return this.used().filter((kernel) => kernel.giveBack()).length > 0;
  }
}
