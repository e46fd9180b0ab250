// The table of readers in a shard's memory: which thread has which place in it, and the epoch that each reader is
// inside of. A reader takes a place, then enters and leaves through it; the owner opens and closes the memory. Any
// thread. kernel/memory/epochs.ts explains how memory is reclaimed by epochs.
import { threadId } from 'node:worker_threads';
import { assert } from '../../base/assert.js';
import type { Instance } from './bindings.js';
import {
  EPOCH_AT,
  INCARNATION_AT,
  LINE_BYTES,
  OPEN_AT,
  READERS_AT,
  READERS_END_AT,
  READERS_MAX,
  READER_BYTES,
  READER_EPOCH,
  READER_INCARNATION,
  READER_LINES,
  READER_SCRATCH,
  READER_THREAD,
} from './layout.js';

/**
 * How long a new owner waits for readers to leave. A search takes milliseconds, and the place of a dead thread is
 * cleared sooner than this.
 */
const WAIT_MS_MAX = 10_000;

/** The table of readers in one arena. */
export class ReaderTable {
  /** The header of the arena. Memories of every size contain it, so this view never has to be renewed. */
  private readonly words: Int32Array;

  constructor(memory: WebAssembly.Memory) {
    this.words = new Int32Array(memory.buffer, 0, (READERS_AT + READERS_MAX * READER_BYTES) >> 2);
  }

  get incarnation(): number {
    return Atomics.load(this.words, INCARNATION_AT >> 2);
  }

  get isOpen(): boolean {
    return Atomics.load(this.words, OPEN_AT >> 2) !== 0;
  }

  open(): void {
    Atomics.store(this.words, OPEN_AT >> 2, this.incarnation);
  }

  /** Closes the memory to new readers and waits until all readers have left. Throws after `WAIT_MS_MAX`. */
  closeAndWait(): void {
    Atomics.store(this.words, OPEN_AT >> 2, 0);
    const until = performance.now() + WAIT_MS_MAX;
    for (let number = 0; number < READERS_MAX; number++) {
      const at = wordOf(number, READER_EPOCH);
      for (let epoch = Atomics.load(this.words, at); epoch !== 0; epoch = Atomics.load(this.words, at)) {
        assert(
          performance.now() < until,
          `reader ${Atomics.load(this.words, wordOf(number, READER_THREAD)) - 1} is evicted from memory`,
        );
        // The wait polls: a notification would cost every search something.
        Atomics.wait(this.words, at, epoch, 1);
      }
    }
  }

  /** Takes a free place for this thread. Throws when all places are taken. */
  join(): ReaderPlace {
    for (let number = 0; number < READERS_MAX; number++) {
      if (Atomics.compareExchange(this.words, wordOf(number, READER_THREAD), 0, threadId + 1) !== 0) continue;
      this.reach(number + 1);
      return new ReaderPlace(this.words, number);
    }
    throw new Error(`there is no room for more than ${READERS_MAX} readers`);
  }

  private reach(end: number): void {
    for (let known = Atomics.load(this.words, READERS_END_AT >> 2); known < end; ) {
      known = Atomics.compareExchange(this.words, READERS_END_AT >> 2, known, end);
    }
  }
}

/** The place of this thread in the table of readers. */
export class ReaderPlace {
  private readonly epochAt: number;
  private incarnation = 0;

  constructor(
    private readonly words: Int32Array,
    private readonly number: number,
  ) {
    this.epochAt = wordOf(number, READER_EPOCH);
  }

  /** The number under which the allocator's lock knows this thread. */
  get holder(): number {
    return threadId + 1;
  }

  /**
   * Enters the memory and returns its incarnation, or 0 without entering when the memory is closed. The proof in
   * kernel/memory/epochs.ts relies on the order of the store and the load.
   */
  enter(): number {
    Atomics.store(this.words, this.epochAt, Atomics.load(this.words, EPOCH_AT >> 2));
    const incarnation = Atomics.load(this.words, OPEN_AT >> 2);
    if (incarnation === 0) this.leave();
    return incarnation;
  }

  leave(): void {
    Atomics.store(this.words, this.epochAt, 0);
  }

  /**
   * Makes sure that the instance has scratch memory of this incarnation: its own, or the one that the previous thread
   * in this place left behind. Throws `ArenaFull`.
   */
  provideScratch(instance: Instance, incarnation: number): void {
    if (incarnation === this.incarnation) return;
    const left = this.own(READER_SCRATCH);
    if (left !== 0 && this.own(READER_INCARNATION) === incarnation) instance.adoptScratch(left >>> 0);
    else instance.forgetScratch();
    this.setOwn(READER_SCRATCH, instance.scratch);
    this.setOwn(READER_INCARNATION, incarnation);
    this.incarnation = incarnation;
  }

  private own(field: number): number {
    return Atomics.load(this.words, wordOf(this.number, field));
  }

  private setOwn(field: number, value: number): void {
    Atomics.store(this.words, wordOf(this.number, field), value);
  }
}

function wordOf(number: number, field: number): number {
  const line = READERS_AT + (number % READER_LINES) * LINE_BYTES;
  return (line + Math.floor(number / READER_LINES) * READER_BYTES + field) >> 2;
}
