// A gate between a worker thread and those that keep it from its work for a moment: they wait until the worker is not at
// it, and the worker waits meanwhile, blocked. Two words in shared memory for each place. `run` is for the worker, of
// which a place has one at a time; `hold` is for any other thread, several of them too.
import { setTimeout as sleep } from 'node:timers/promises';

/** Words of a place: how many hold it; 1 while the worker is at work. */
const HELD = 0;
const BUSY = 1;
const WORDS = 2;
/** Between two looks at a worker that is at work. */
const RECHECK_MS = 1;

export class Latch {
  private constructor(private readonly words: Int32Array) {}

  static memory(places: number): SharedArrayBuffer {
    return new SharedArrayBuffer(places * WORDS * Int32Array.BYTES_PER_ELEMENT);
  }

  static at(memory: SharedArrayBuffer, place: number): Latch {
    return new Latch(new Int32Array(memory, place * WORDS * Int32Array.BYTES_PER_ELEMENT, WORDS));
  }

  /** By a worker before its first `run`: the one before it may have died at work. */
  reset(): void {
    Atomics.store(this.words, BUSY, 0);
  }

  /**
   * It says that it is at work before it looks whether it may: so does whoever holds, the other way round, and never
   * both go on.
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

  /** Does `work` while the worker is not at its own; or, where that does not end, once it is not wanted any more. */
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

/** Of a place that nobody holds there is no latch. */
export const passing = <T>(latch: Latch | undefined, work: () => T): T => (latch ? latch.run(work) : work());
