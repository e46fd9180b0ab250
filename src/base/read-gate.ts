// A gate between one worker thread and the threads that block its work for a short time. Holders wait until the worker
// is not busy; then the worker blocks until they are done. Each gate consists of two words in shared memory. Only the
// one worker of a gate calls `run`; any number of other threads may call `hold`.
import { setTimeout as sleep } from 'node:timers/promises';

/** The words of a gate: the number of holders; 1 while the worker is busy. */
const HELD = 0;
const BUSY = 1;
const WORDS = 2;
/** Interval at which a holder checks whether the worker is still busy. */
const RECHECK_MS = 1;

export class Latch {
  private constructor(private readonly words: Int32Array) {}

  static memory(places: number): SharedArrayBuffer {
    return new SharedArrayBuffer(places * WORDS * Int32Array.BYTES_PER_ELEMENT);
  }

  static at(memory: SharedArrayBuffer, place: number): Latch {
    return new Latch(new Int32Array(memory, place * WORDS * Int32Array.BYTES_PER_ELEMENT, WORDS));
  }

  /** Called by a worker before its first `run`, because its predecessor may have died while busy. */
  reset(): void {
    Atomics.store(this.words, BUSY, 0);
  }

  /**
   * The worker sets its flag before it checks the holders, and holders do the reverse, so the two never proceed
   * together.
   */
  run<T>(work: () => T): T {
    for (;;) {
      Atomics.store(this.words, BUSY, 1);
      const holders = Atomics.load(this.words, HELD);
      if (holders === 0) break;
      Atomics.store(this.words, BUSY, 0);
      Atomics.wait(this.words, HELD, holders);
    }
    try {
      return work();
    } finally {
      Atomics.store(this.words, BUSY, 0);
    }
  }

  /** Runs `work` while the worker is not busy. If the worker stays busy, runs it once `isWanted` returns false. */
  async hold<T>(work: () => Promise<T>, isWanted: () => boolean = () => true): Promise<T> {
    Atomics.add(this.words, HELD, 1);
    try {
      while (Atomics.load(this.words, BUSY) === 1 && isWanted()) await sleep(RECHECK_MS);
      return await work();
    } finally {
      Atomics.sub(this.words, HELD, 1);
      Atomics.notify(this.words, HELD);
    }
  }
}

/** Runs `work` through the gate, if there is one. */
export const passing = <T>(latch: Latch | undefined, work: () => T): T => (latch ? latch.run(work) : work());
