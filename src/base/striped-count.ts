// Counts in shared memory over several threads: each count has a stripe, one cell, for each thread, and is the sum of
// its stripes. Any thread.
//
// 1. A thread changes only its own stripe, so what a dead thread has counted is taken back by clearing its stripe,
//    wherever it died.
// 2. A thread adds before it sums. Of two threads that add at a time one at least sees the other, so together they
//    never exceed a maximum.

/** Two threads that meet at the last place both step back and try again, so many times in all. */
const TRIES = 4;

export class StripedCount {
  private readonly cells: Int32Array;

  /** `stripes`: number of threads; `stripe`: the index of this one; `from`: offset in bytes; `counts`: how many. */
  constructor(
    memory: SharedArrayBuffer,
    from: number,
    counts: number,
    private readonly stripes: number,
    private readonly stripe: number,
  ) {
    this.cells = new Int32Array(memory, from, counts * stripes);
  }

  static bytes(counts: number, stripes: number): number {
    return counts * stripes * Int32Array.BYTES_PER_ELEMENT;
  }

  total(count: number): number {
    const first = count * this.stripes;
    let sum = 0;
    for (let cell = first; cell < first + this.stripes; cell++) sum += Atomics.load(this.cells, cell);
    return sum;
  }

  /**
   * Adds one and returns the total with it; returns undefined, and adds nothing, if that would exceed `max`. Of threads
   * that meet at the last place again and again, none may get it.
   */
  tryAdd(count: number, max: number): number | undefined {
    const own = count * this.stripes + this.stripe;
    for (let tried = 0; tried < TRIES; tried++) {
      Atomics.add(this.cells, own, 1);
      const total = this.total(count);
      if (total <= max) return total;
      Atomics.sub(this.cells, own, 1);
      if (this.total(count) >= max) break;
    }
    return undefined;
  }

  /** Takes back what `tryAdd` has added. */
  subtract(count: number): void {
    Atomics.sub(this.cells, count * this.stripes + this.stripe, 1);
  }

  /** The part of this thread in a total. */
  get(count: number): number {
    return Atomics.load(this.cells, count * this.stripes + this.stripe);
  }

  /** Sets the part of this thread. */
  set(count: number, value: number): void {
    Atomics.store(this.cells, count * this.stripes + this.stripe, value);
  }
}
