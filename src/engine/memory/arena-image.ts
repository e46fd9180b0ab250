// Reads and restores an arena as bytes for a checkpoint. Words that belong to the running process (the table of
// readers, the epochs and the lock) keep their values on a restore; scratch memory that threads of the earlier process
// held is freed. Owner only.
import { assert } from '../../base/assert.js';
import type { Instance } from './bindings.js';
import {
  ARENA_START,
  BINS,
  BINS_AT,
  CHUNK_IN_USE,
  CHUNK_LINES_BEFORE,
  DIRECTORY_AT,
  FENCE_AT,
  INCARNATION_AT,
  LAST_ROW_VERSION_AT,
  LINE_BYTES,
  LOCKS_AT,
  LOCK_AT,
  READERS_AT,
  READERS_MAX,
  READER_BYTES,
  READER_INCARNATION,
  READER_SCRATCH,
  RETIRED_FIRST_AT,
  RETIRED_LAST_AT,
  RETIRED_LINES_AT,
  USED_AT,
} from './layout.js';

/** Header words that a restore copies from the image, in addition to the bins and the row version counter. */
const KEPT_WORDS = [USED_AT, FENCE_AT, DIRECTORY_AT, RETIRED_FIRST_AT, RETIRED_LAST_AT, RETIRED_LINES_AT];

/** What a restore needs to know about an arena in addition to its bytes. */
export interface ArenaPlan {
  /** The line after the last chunk in use. */
  readonly end: number;
  /** Address of the owner's scratch, or 0 for none. */
  readonly scratch: number;
}

/** The bytes of one arena, for checkpoints. */
export class ArenaImage {
  constructor(private readonly instance: Instance) {}

  plan(): ArenaPlan {
    const { instance } = this;
    const fence = instance.word(FENCE_AT);
    const last = fence - instance.word(fence * LINE_BYTES + CHUNK_LINES_BEFORE);
    return { end: instance.word(last * LINE_BYTES + CHUNK_IN_USE) === 0 ? last : fence, scratch: instance.heldScratch };
  }

  /** Size of the image in bytes: everything up to the last chunk in use, and the header line of the chunk after it. */
  get bytes(): number {
    return (this.plan().end + 1) * LINE_BYTES;
  }

  /**
   * Number of row publications in this memory since it was created, including those that the restored image had
   * counted.
   */
  get publications(): number {
    return this.instance.word(LAST_ROW_VERSION_AT) / 2;
  }

  /**
   * The count of allocator locks, or undefined while a thread holds the lock. Equal values at two times mean that no
   * thread used the allocator in between.
   */
  get locks(): number | undefined {
    const locks = this.instance.word(LOCKS_AT);
    return this.instance.word(LOCK_AT) === 0 ? locks : undefined;
  }

  /** Copies `into.length` bytes from address `at` out of the memory. */
  copy(at: number, into: Buffer): void {
    this.instance.bytesAt(at, into.length).copy(into);
  }

  /**
   * Grows the memory to hold an image of `bytes`. False when it cannot grow that far. Bytes after the first region are
   * then written to `target`; the first region is passed to `finish`.
   */
  reserve(bytes: number): boolean {
    return this.instance.growTo(bytes);
  }

  target(at: number, count: number): Buffer {
    return this.instance.bytesAt(at, count);
  }

  /**
   * Turns the restored bytes into an arena. `first` holds the bytes from address 0 on. Requires that the arena is
   * formatted and that no reader is inside.
   */
  finish(first: Buffer, { end, scratch }: ArenaPlan): void {
    const { instance } = this;
    assert(first.length > ARENA_START, 'an image is larger than its header');
    first.copy(this.target(ARENA_START, first.length - ARENA_START), 0, ARENA_START);
    for (const at of KEPT_WORDS) instance.setWord(at, first.readUInt32LE(at));
    for (let bin = 0; bin < BINS; bin++) instance.setWord(BINS_AT + 4 * bin, first.readUInt32LE(BINS_AT + 4 * bin));
    instance.setWord(
      LAST_ROW_VERSION_AT,
      Math.max(instance.word(LAST_ROW_VERSION_AT), first.readUInt32LE(LAST_ROW_VERSION_AT)),
    );
    instance.calls.restoreArena(end);
    for (const left of [scratch, ...scratchesIn(first)]) if (left !== 0) instance.calls.releaseScratch(left);
  }
}

/** Addresses of the scratch memory that readers held when the image was taken. */
function scratchesIn(first: Buffer): number[] {
  const incarnation = first.readUInt32LE(INCARNATION_AT);
  const places = Array.from({ length: READERS_MAX }, (_, place) => READERS_AT + place * READER_BYTES);
  return places
    .filter((place) => first.readUInt32LE(place + READER_INCARNATION) === incarnation)
    .map((place) => first.readUInt32LE(place + READER_SCRATCH));
}
