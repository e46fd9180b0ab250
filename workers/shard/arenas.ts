// The arenas of one shard, as its owner has them: kernels on memories of which the first is the home. The others are
// formatted when they are needed first; until then they are closed, which readers take for "nothing here". Used by the
// shard worker alone.
import { assert } from '../../src/base/assert.js';
import type { Kernel } from './kernel.js';

/** A row with its links and codes is 1.4 times the row alone, and a load is faster than linking. */
const ROOMY_SHARE = 5 / 8;

export class Arenas {
  /** By number; of an arena that is not in use, nothing but `close` may be called. */
  private readonly inUse = new Set<number>();

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
