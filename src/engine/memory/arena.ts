// An arena of a shard's memory as one thread sees it, and the arenas of a shard as its owner has them. The owner formats
// an arena, writes and frees in it; other threads join as readers and search within `read`. The rules:
// docs/internals/memory-layout.md.
import type { Precision } from '../../api/choices.js';
import type { CollectionId } from '../../api/ids.js';
import { DIM_MAX, SHARD_PAGES_MAX } from '../../api/limits.js';
import { nowSeconds } from '../../base/clock.js';
import { assert } from '../../base/assert.js';
import { PAGE_BYTES, giveBack } from '../../base/huge-pages.js';
import { CODES_MIN, GRAPH_MIN, VectorIndex } from '../hnsw/vector-index.js';
import { WordIndex } from '../postings/text-index.js';
import { PartDirectory } from '../segments/directory.js';
import { PartView, Priorities } from '../segments/segment.js';
import { ArenaImage } from './arena-image.js';
import { ArenaFull, Instance, addressOf } from './bindings.js';
import { type ReaderPlace, ReaderTable } from './epochs.js';
import {
  DAMAGED_AT,
  LAYOUT_VERSION,
  LINE_BYTES,
  MAGIC,
  MAGIC_AT,
  RECLAIM_STEP,
  RETIRED_LINES_AT,
  ROOT_CODES_NEXT,
  SETTLED_AT,
  STAMP_AT,
  STATE_AT,
  USED_AT,
  VERSION_AT,
} from './layout.js';

export interface IndexOptions {
  /** With fewer live rows it is scanned. */
  readonly graphMin?: number;
  /** Live rows at which it gets codes. */
  readonly codesMin?: number;
  /** Of the numbers of a row. */
  readonly precision?: Precision | undefined;
}

export class Kernel {
  /** The parts in this memory: the owner enters them, readers find them within `read`. */
  readonly directory: PartDirectory;
  private readonly instance: Instance;
  private readonly table: ReaderTable;
  /** Of a reader. */
  private place: ReaderPlace | undefined;
  private isInside = false;

  /**
   * `module` is kernel.wasm; `memory` is shared, with any maximum, which is `pagesMax`. Before its owner has formatted
   * it, only `format` and what readers do may be called.
   */
  constructor(
    module: WebAssembly.Module,
    memory: WebAssembly.Memory,
    private readonly pagesMax = SHARD_PAGES_MAX,
  ) {
    this.instance = new Instance(module, memory);
    this.directory = new PartDirectory(this.instance);
    this.table = new ReaderTable(memory);
  }

  /**
   * Empties the arena: for a new shard, or when its worker died and what it left cannot be trusted. Closed until
   * `open`. Owner only.
   */
  format(): void {
    this.close();
    this.instance.calls.format();
    this.instance.forgetScratch();
  }

  /** Lets readers in: the memory holds what it should. Owner only. */
  open(): void {
    this.assertFormatted();
    this.settle();
    this.table.open();
  }

  /** Lets no reader in any more, and waits for those inside. Owner only. */
  close(): void {
    this.table.closeAndWait();
  }

  /** How often the memory has been formatted: what is found in it belongs to one of these times. */
  get incarnation(): number {
    return this.table.incarnation;
  }

  /** Makes this thread a reader: takes a place in the table of readers. Once, before the first `read`. */
  joinReaders(): void {
    assert(!this.place, 'a reader joins once');
    this.place = this.table.join();
    this.instance.becomeReader(this.place.holder);
  }

  /**
   * Runs `work`, which must not wait for anything, while nothing that it can see is freed. Answers undefined when the
   * memory is closed: its owner is gone or has not filled it yet, or has gone while the work wanted room for its
   * scratch. Throws ArenaFull where there is none. Roots, ordinals and stamps of another incarnation mean nothing.
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
      // Who closes the memory lets nobody wait for the allocator any more (kernel/memory/chunks.ts).
      if (error instanceof ArenaFull && !this.table.isOpen) return undefined;
      throw error;
    } finally {
      this.isInside = false;
      place.leave();
    }
  }

  /**
   * Frees a bounded number of blocks that no reader can see any more; true when there may be more to free at once.
   * Owner only.
   */
  reclaim(): boolean {
    assert(this.instance.word(DAMAGED_AT) === 0, 'no reader died while it changed the arena');
    return this.instance.calls.reclaim(RECLAIM_STEP) === RECLAIM_STEP;
  }

  /** Gives some of the memory that is free back to the system; true when there may be more. Owner only. */
  giveBack(): boolean {
    const pages = this.instance.calls.lockUnused();
    if (pages === 0) return false;
    try {
      return giveBack(this.instance.bytesAt((pages >>> 8) * PAGE_BYTES, (pages & 255) * PAGE_BYTES));
    } finally {
      this.instance.calls.unlockUnused();
    }
  }

  /** Marks this moment; `haveLeft` answers whether all readers have left that were inside then. Owner only. */
  endEpoch(): number {
    return this.instance.calls.endEpoch();
  }

  haveLeft(epoch: number): boolean {
    return this.instance.calls.haveLeft(epoch) !== 0;
  }

  /** The stamp given out last when the latest batch of writes had been published whole. */
  settledStamp(): number {
    return this.instance.word(SETTLED_AT);
  }

  /** Says that what has been published is whole: `settledStamp` moves on. Owner only. */
  settle(): void {
    this.instance.setWord(SETTLED_AT, this.instance.word(STAMP_AT));
  }

  /** Bytes of memory that hold something. */
  usedBytes(): number {
    return this.instance.word(USED_AT) * LINE_BYTES;
  }

  /** Bytes it may grow to. */
  get bytesMax(): number {
    return this.pagesMax * PAGE_BYTES;
  }

  /** Bytes that wait for readers to leave; they are counted as used. */
  retiredBytes(): number {
    return this.instance.word(RETIRED_LINES_AT) * LINE_BYTES;
  }

  /** Bytes the memory has grown to; it never shrinks, but what is free of it need not be there (giveBack). */
  reservedBytes(): number {
    return this.instance.reservedBytes;
  }

  /**
   * What this thread can see of the part of a collection in this arena; undefined for one without documents here. Of no
   * use after the `read` it was made in. `arena` is the number of this one.
   */
  view(id: CollectionId, arena = 0): PartView | undefined {
    const roots = this.directory.get(id, nowSeconds());
    return roots && new PartView(this.instance, id, roots, arena);
  }

  /** What checkpoints copy of this arena, and fill it from. Owner only. */
  image(): ArenaImage {
    return new ArenaImage(this.instance);
  }

  /** The priorities of a part; it has none yet unless `root` says where. Owner only. */
  createPriorities(root = 0): Priorities {
    return new Priorities(this.instance, root);
  }

  /**
   * The index with this root that a checkpoint has brought back, to be gone on with. Codes that were being made are
   * made anew. Owner only.
   */
  resumeIndex(root: number): VectorIndex {
    if (this.instance.word(root + ROOT_CODES_NEXT) !== 0) this.instance.calls.dropNext(root);
    return new VectorIndex(this.instance, root, CODES_MIN);
  }

  /** Makes an empty index of `dim`-dimensional vectors. Throws ArenaFull. Owner only. */
  createIndex(
    dim: number,
    { graphMin = GRAPH_MIN, codesMin = CODES_MIN, precision = 'int16' }: IndexOptions = {},
  ): VectorIndex {
    assert(Number.isInteger(dim) && dim >= 1 && dim <= DIM_MAX, `dimension ${dim}`);
    this.assertFormatted();
    return new VectorIndex(
      this.instance,
      addressOf(this.instance.calls.createIndex(dim, graphMin, precision === 'int8')),
      codesMin,
    );
  }

  /** The index with the `root` that another thread's Kernel made on the same memory. */
  attach(root: number): VectorIndex {
    this.assertFormatted();
    return new VectorIndex(this.instance, root);
  }

  /** Makes an empty index of words. Throws ArenaFull. Owner only. */
  createWords(): WordIndex {
    this.assertFormatted();
    return this.attachWords(addressOf(this.instance.calls.createWords()));
  }

  /** The index of words with the `root` that another thread's Kernel made on the same memory. */
  attachWords(root: number): WordIndex {
    this.assertFormatted();
    return new WordIndex(this.instance, root);
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

/** A row with its links and codes is 1.4 times the row alone, and a load is faster than linking. */
const ROOMY_SHARE = 5 / 8;

/**
 * The arenas of one shard: the first is the home. The others are formatted when they are needed first; until then they
 * are closed, which readers take for "nothing here". Owner only.
 */
export class Arenas {
  /** By number; of an arena that is not in use, nothing but `close` may be called. */
  private readonly inUse = new Set<number>();

  /** The first is the home. */
  constructor(private readonly kernels: readonly Kernel[]) {}

  get home(): Kernel {
    return this.kernels[0] as Kernel;
  }

  /** Empties all; the home is in use from now on. Readers find nothing until `open`. */
  format(): void {
    this.close();
    this.inUse.clear();
    this.home.format();
    this.inUse.add(0);
  }

  open(): void {
    for (const kernel of this.used()) kernel.open();
  }

  /** The home first: whoever reads the others is inside of it. */
  close(): void {
    for (const kernel of this.kernels) kernel.close();
  }

  /** Formats it where it has not been in use. Throws ArenaFull where the system has no memory for it. */
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
   * True while new documents leave enough for what comes after them: links, codes, words, and the scratch of searches.
   */
  isRoomy(arena: number): boolean {
    return !this.inUse.has(arena) || this.at(arena).usedBytes() < ROOMY_SHARE * this.at(arena).bytesMax;
  }

  /** All arenas: those in use come first, the emptiest of them foremost. */
  byRoom(): number[] {
    const used = [...this.inUse].sort((a, b) => this.at(a).usedBytes() - this.at(b).usedBytes() || a - b);
    return [...used, ...this.kernels.keys()].filter((arena, i, all) => all.indexOf(arena) === i);
  }

  /** Those in use. */
  used(): Kernel[] {
    return [...this.inUse].map((arena) => this.at(arena));
  }

  /** Of those in use. */
  numbers(): Iterable<number> {
    return this.inUse;
  }

  settle(): void {
    for (const kernel of this.used()) kernel.settle();
  }

  /** Frees some of the memory that readers have left; true when there may be more. */
  reclaim(): boolean {
    return this.used().filter((kernel) => kernel.reclaim()).length > 0;
  }

  /** Gives some of the memory that is free back to the system; true when there may be more. */
  giveBack(): boolean {
    return this.used().filter((kernel) => kernel.giveBack()).length > 0;
  }
}
