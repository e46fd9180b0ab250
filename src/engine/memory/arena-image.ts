// An arena as bytes: what a checkpoint copies of it, and how it comes back from them. What belongs to the process (the
// table of readers, epochs, the lock) is left as it is; what threads of another one had of it is freed. Owner only.
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
  STAMP_AT,
  USED_AT,
} from './layout.js';

/** Words of the arena's header that come back, beside the bins and the stamp. */
const KEPT_WORDS = [USED_AT, FENCE_AT, DIRECTORY_AT, RETIRED_FIRST_AT, RETIRED_LAST_AT, RETIRED_LINES_AT];

/** What has to be known of an arena beside its bytes. */
export interface ArenaPlan {
  /** The line behind the last chunk in use. */
  readonly end: number;
  /** The owner's scratch, 0 for none. */
  readonly scratch: number;
}

export class ArenaImage {
  constructor(private readonly instance: Instance) {}

  plan(): ArenaPlan {
    const { instance } = this;
    const fence = instance.word(FENCE_AT);
    const last = fence - instance.word(fence * LINE_BYTES + CHUNK_LINES_BEFORE);
    return { end: instance.word(last * LINE_BYTES + CHUNK_IN_USE) === 0 ? last : fence, scratch: instance.heldScratch };
  }

  /** Up to the last chunk in use, and the header of what comes behind it. */
  get bytes(): number {
    return (this.plan().end + 1) * LINE_BYTES;
  }

  /** Given out publications of rows since there is this memory, and those that it came back with. */
  get publications(): number {
    return this.instance.word(STAMP_AT) / 2;
  }

  /** Equal at two times when no thread has had the allocator between them; undefined while one has. */
  get locks(): number | undefined {
    const locks = this.instance.word(LOCKS_AT);
    return this.instance.word(LOCK_AT) === 0 ? locks : undefined;
  }

  /** Copies bytes out of the memory. */
  copy(at: number, into: Buffer): void {
    this.instance.bytesAt(at, into.length).copy(into);
  }

  /**
   * Where bytes that come back belong, but for the first region: `finish` takes that. False where the memory cannot
   * grow to them.
   */
  reserve(bytes: number): boolean {
    return this.instance.growTo(bytes);
  }

  target(at: number, count: number): Buffer {
    return this.instance.bytesAt(at, count);
  }

  /**
   * Makes an arena of the bytes that have come back; `first` are those from 0 on. Requires that it is formatted and no
   * reader is inside.
   */
  finish(first: Buffer, { end, scratch }: ArenaPlan): void {
    const { instance } = this;
    assert(first.length > ARENA_START, 'an image is larger than its header');
    first.copy(this.target(ARENA_START, first.length - ARENA_START), 0, ARENA_START);
    for (const at of KEPT_WORDS) instance.setWord(at, first.readUInt32LE(at));
    for (let bin = 0; bin < BINS; bin++) instance.setWord(BINS_AT + 4 * bin, first.readUInt32LE(BINS_AT + 4 * bin));
    instance.setWord(STAMP_AT, Math.max(instance.word(STAMP_AT), first.readUInt32LE(STAMP_AT)));
    instance.calls.restoreArena(end);
    for (const left of [scratch, ...scratchesIn(first)]) if (left !== 0) instance.calls.releaseScratch(left);
  }
}

/** The scratch of every reader that had one of the memory as it was. */
function scratchesIn(first: Buffer): number[] {
  const incarnation = first.readUInt32LE(INCARNATION_AT);
  const places = Array.from({ length: READERS_MAX }, (_, place) => READERS_AT + place * READER_BYTES);
  return places
    .filter((place) => first.readUInt32LE(place + READER_INCARNATION) === incarnation)
    .map((place) => first.readUInt32LE(place + READER_SCRATCH));
}
