// A gate between one worker thread and the threads that block its work for a short time. Holders wait until the worker
// is not busy; then the worker blocks until they are done. A thread that cannot wait may hold the gate for a bounded
// time, which keeps the worker from beginning anything new. Each gate consists of three words in shared memory. Only the
// one worker of a gate calls `exclusive`; any number of other threads may call the rest.
import { setTimeout as sleep } from 'node:timers/promises';

/** The words of a gate: the number of holders; 1 while the worker is busy; when a bounded hold ends, 0 for none. */
const SHARED = 0;
const EXCLUSIVE = 1;
const HELD_UNTIL = 2;
const WORDS = 3;
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
      const heldUntil = Atomics.load(this.words, HELD_UNTIL);
      const heldMs = heldUntil === 0 ? 0 : msUntil(heldUntil);
      if (holders === 0 && heldMs <= 0) break;
      Atomics.store(this.words, EXCLUSIVE, 0);
      if (holders > 0) Atomics.wait(this.words, SHARED, holders);
      else Atomics.wait(this.words, HELD_UNTIL, heldUntil, heldMs);
    }
    try {
      return work();
    } finally {
      Atomics.store(this.words, EXCLUSIVE, 0);
    }
  }

  /**
   * Holds the gate for at most `ms`, unless another thread does: what the worker does at the moment it ends, and it
   * begins nothing more. Returns a function that ends the hold; undefined if another thread holds the gate.
   */
  hold(ms: number): (() => void) | undefined {
    const before = Atomics.load(this.words, HELD_UNTIL);
    if (before !== 0 && msUntil(before) > 0) return undefined;
    const until = wordOf(Date.now() + ms);
    if (Atomics.compareExchange(this.words, HELD_UNTIL, before, until) !== before) return undefined;
    return () => {
      Atomics.compareExchange(this.words, HELD_UNTIL, until, 0);
      Atomics.notify(this.words, HELD_UNTIL);
    };
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

/** A time as a word that is never 0. Two times whose distance is less than 24 days can be compared. */
const wordOf = (timeMs: number): number => timeMs | 1;
const msUntil = (word: number): number => (word - Date.now()) | 0;

/** Runs `work` through the gate, if there is one. */
export const throughGate = <T>(gate: ReadGate | undefined, work: () => T): T => (gate ? gate.exclusive(work) : work());
