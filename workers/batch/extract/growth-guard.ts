// Bounds the memory that pdf.js takes outside of the heap. A thread's resource limits hold for its heap alone, and the
// library inflates into typed arrays without a bound: a page of 1 MB can unpack to 10 GB of the process. An array that
// it outgrows is copied into one of twice the size, by `set`: that is where growth is counted here, and refused.
// Counting where arrays are made would cost a fifth of the speed (node dist/load/extract.js). Installed by pdf.ts in
// its batch worker.

/** Smaller arrays are no danger, and many. */
const COUNTED_BYTES_MIN = 64 * 1024;

type Set = (this: Uint8Array, source: ArrayLike<number>, offset?: number) => void;

export class GrowthGuard {
  private leftBytes = Infinity;

  /** Replaces `set` of the typed arrays of this thread, for good. It counts nothing until `allow` is called. */
  static install(): GrowthGuard {
    const guard = new GrowthGuard();
    const prototype = Object.getPrototypeOf(Uint8Array.prototype) as { set: Set };
    const { set } = prototype;
    prototype.set = function (source, offset): void {
      if (offset === undefined && this.byteLength >= COUNTED_BYTES_MIN) guard.spend(this.byteLength);
      set.call(this, source, offset);
    };
    // It would inflate natively and gather all of it; without it the library inflates by itself, into arrays that grow.
    Object.assign(globalThis, { DecompressionStream: undefined });
    return guard;
  }

  /** How many bytes may be grown into from now on; beyond them comes a RangeError, as where memory is out. */
  allow(bytes: number): void {
    this.leftBytes = bytes;
  }

  private spend(bytes: number): void {
    this.leftBytes -= bytes;
    if (this.leftBytes < 0) throw new RangeError('Array buffer allocation failed');
  }
}
