// A gate between one worker thread and the threads that block its work for a short time. Holders wait until the worker
// is not busy; then the worker blocks until they are done. Each gate consists of two words in shared memory. Only the
// one worker of a gate calls `run`; any number of other threads may call `shared`.
import { setTimeout as sleep } from 'node:timers/promises';

/** The words of a gate: the number of holders; 1 while the worker is busy. */
const SHARED = 0;
const EXCLUSIVE = 1;
const WORDS = 2;
/** Interval at which a holder checks whether the worker is still busy. */
const RECHECK_MS = 1;

export class ReadGate {
  private constructor(private readonly words: Int32Array) {}

  static memory(places: number): SharedArrayBuffer {
    return new SharedArrayBuffer(places * WORDS * Int32Array.BYTES_PER_ELEMENT);
  }

  static at(memory: SharedArrayBuffer, place: number): ReadGate {
    return new ReadGate(new Int32Array(memory, place * WORDS * Int32Array.BYTES_PER_ELEMENT, WORDS));
  }

  /** Called by a worker before its first `run`, because its predecessor may have died while busy. */
  reset(): void {
    Atomics.store(this.words, EXCLUSIVE, 0);
  }

  /**
   * The worker sets its flag before it checks the holders, and holders do the reverse, so the two never proceed
   * together.
   */
  exclusive<T>(work: () => T): T {
    for (;;) {
      Atomics.store(this.words, EXCLUSIVE, 1);
      const holders = Atomics.load(this.words, SHARED);
      if (holders === 0) break;
      Atomics.store(this.words, EXCLUSIVE, 0);
      Atomics.wait(this.words, SHARED, holders);
    }
    try {
      return work();
    } finally {
      Atomics.store(this.words, EXCLUSIVE, 0);
    }
  }

  /** Runs `work` while the worker is not busy. If the worker stays busy, runs it once `isWanted` returns false. */
  async shared<T>(work: () => Promise<T>, isWanted: () => boolean = () => true): Promise<T> {
    Atomics.add(this.words, SHARED, 1);
    try {
      while (Atomics.load(this.words, EXCLUSIVE) === 1 && isWanted()) await sleep(RECHECK_MS);
      return await work();
    } finally {
      Atomics.sub(this.words, SHARED, 1);
      Atomics.notify(this.words, SHARED);
    }
  }
}

/** Runs `work` through the gate, if there is one. */
export const throughGate = <T>(gate: ReadGate | undefined, work: () => T): T => (gate ? gate.exclusive(work) : work());
