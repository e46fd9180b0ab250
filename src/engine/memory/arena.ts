// The arena of a shard's memory as one thread sees it: emptied and opened by the owner, entered by readers, and what is
// retired in it freed. The base of Kernel, which makes and finds indexes in it. The rules: README.md beside this file.
import { giveBack } from '../../src/base/arena-memory.js';
import { assert } from '../../src/base/assert.js';
import { SHARD_PAGES_MAX } from '../../src/contract/limits.js';
import { ArenaFull, Instance } from './instance.js';
import { LINE_BYTES, MAGIC, MAGIC_AT, STAMP_AT, STATE_AT, USED_AT, VERSION, VERSION_AT } from './layout.js';
import { PartDirectory } from './part-directory.js';
import { DAMAGED_AT, RECLAIM_STEP, RETIRED_LINES_AT, SETTLED_AT } from './reader-layout.js';
import { ReaderTable, type ReaderPlace } from './reader-table.js';

const PAGE_BYTES = 65_536;

export class SharedArena {
  /** The parts in this memory: the owner enters them, readers find them within `read`. */
  readonly directory: PartDirectory;
  protected readonly instance: Instance;
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
      // Who closes the memory lets nobody wait for the allocator any more (assembly/lock.ts).
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

  protected assertFormatted(): void {
    const { instance } = this;
    const ready =
      instance.word(MAGIC_AT) === MAGIC && instance.word(VERSION_AT) === VERSION && instance.word(STATE_AT) === 1;
    assert(ready, 'the memory of the shard is formatted');
  }
}
