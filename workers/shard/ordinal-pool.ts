// The free ordinals of a collection's part in one shard. Hands out the lowest free one, so that the same commands give
// the same ordinals on any machine, and storage stays dense. Used by the shard worker alone.
import type { Ordinal } from '../../src/contract/ids.js';

export class OrdinalPool {
  /** One bit an ordinal; set = taken. */
  private words = new Uint32Array(16);
  private ordinalsEnd = 0;
  /** No word before this one has a free bit. */
  private firstFree = 0;

  /** One more than the highest ordinal that is taken. */
  get end(): number {
    for (;;) {
      const word = this.words[(this.ordinalsEnd - 1) >>> 5] ?? 0;
      const below = word << (31 - ((this.ordinalsEnd - 1) & 31));
      if (this.ordinalsEnd === 0 || below < 0) return this.ordinalsEnd;
      const free = below === 0 ? ((this.ordinalsEnd - 1) & 31) + 1 : Math.clz32(below);
      this.ordinalsEnd -= free;
    }
  }

  /** Taken ordinals at or above `from`, from the highest down, up to `max`. */
  highest(from: number, max: number): Ordinal[] {
    const found: Ordinal[] = [];
    for (let ordinal = this.end - 1; ordinal >= from && found.length < max; ordinal--) {
      if ((((this.words[ordinal >>> 5] as number) >>> (ordinal & 31)) & 1) === 1) found.push(ordinal as Ordinal);
    }
    return found;
  }

  /** The lowest free ordinal, now taken. */
  take(): Ordinal {
    while (this.words[this.firstFree] === 0xffffffff) this.firstFree++;
    const word = this.words[this.firstFree] ?? 0;
    const bit = 31 - Math.clz32(~word & -~word);
    const ordinal = this.firstFree * 32 + bit;
    this.claim(ordinal as Ordinal);
    return ordinal as Ordinal;
  }

  /** Marks an ordinal as taken: for those found in the store at start. */
  claim(ordinal: Ordinal): void {
    this.ordinalsEnd = Math.max(this.ordinalsEnd, ordinal + 1);
    const at = ordinal >>> 5;
    if (at >= this.words.length) this.grow(at + 1);
    this.words[at] = (this.words[at] as number) | (1 << (ordinal & 31));
  }

  release(ordinal: Ordinal): void {
    const at = ordinal >>> 5;
    this.words[at] = (this.words[at] as number) & ~(1 << (ordinal & 31));
    this.firstFree = Math.min(this.firstFree, at);
  }

  private grow(words: number): void {
    const grown = new Uint32Array(Math.max(words, this.words.length * 2));
    grown.set(this.words);
    this.words = grown;
  }
}
