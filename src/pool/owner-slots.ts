// Which thread owns which shard: a slot a shard in memory shared with the shard workers. A worker claims a vacant slot
// by itself (workers/shard/claim.ts, which must agree on the layout); the front thread reads the slots, and vacates
// those of threads that have died.

/** [thread id of the owner, 0 for vacant; how often the shard has been claimed] */
const SLOT_WORDS = 2;

export class OwnerSlots {
  private readonly words: Int32Array;

  constructor(readonly shards: number) {
    this.words = new Int32Array(new SharedArrayBuffer(shards * SLOT_WORDS * Int32Array.BYTES_PER_ELEMENT));
  }

  get memory(): SharedArrayBuffer {
    return this.words.buffer as SharedArrayBuffer;
  }

  /** Thread id of the owner; 0 for none. */
  ownerOf(shard: number): number {
    return Atomics.load(this.words, shard * SLOT_WORDS);
  }

  /** Lets the next worker claim the shard. */
  vacate(shard: number): void {
    Atomics.store(this.words, shard * SLOT_WORDS, 0);
    Atomics.notify(this.words, 0);
  }
}
