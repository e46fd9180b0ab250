// The chunks of a part that have one term, by ordinal, with how often each has it. Packed arrays: 6 bytes a posting and some
// room to grow. Used by lexical-index.ts alone.

const COUNT_MAX = 0xffff;

export class PostingList {
  private ordinals = new Uint32Array(2);
  private counts = new Uint16Array(2);
  private used = 0;

  /** How many chunks have the term. */
  get length(): number {
    return this.used;
  }

  /** Requires that the chunk is not in the list. */
  add(ordinal: number, count: number): void {
    if (this.used === this.ordinals.length) this.grow();
    const at = this.placeOf(ordinal);
    this.ordinals.copyWithin(at + 1, at, this.used);
    this.counts.copyWithin(at + 1, at, this.used);
    this.ordinals[at] = ordinal;
    this.counts[at] = Math.min(count, COUNT_MAX);
    this.used++;
  }

  /** Without the chunk in the list it does nothing. */
  remove(ordinal: number): void {
    const at = this.placeOf(ordinal);
    if (at === this.used || this.ordinals[at] !== ordinal) return;
    this.ordinals.copyWithin(at, at + 1, this.used);
    this.counts.copyWithin(at, at + 1, this.used);
    this.used--;
  }

  has(ordinal: number): boolean {
    const at = this.placeOf(ordinal);
    return at < this.used && this.ordinals[at] === ordinal;
  }

  forEach(visit: (ordinal: number, count: number) => void): void {
    for (let at = 0; at < this.used; at++) visit(this.ordinals[at] as number, this.counts[at] as number);
  }

  /** Where the ordinal stands or would stand; ordinals mostly come in rising order. */
  private placeOf(ordinal: number): number {
    if (this.used === 0 || (this.ordinals[this.used - 1] as number) < ordinal) return this.used;
    let low = 0;
    let high = this.used - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.ordinals[middle] as number) < ordinal) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private grow(): void {
    const size = Math.ceil(this.used * 1.5) + 1;
    const ordinals = new Uint32Array(size);
    const counts = new Uint16Array(size);
    ordinals.set(this.ordinals);
    counts.set(this.counts);
    [this.ordinals, this.counts] = [ordinals, counts];
  }
}
