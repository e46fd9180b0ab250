// Chunks of the arena. A chunk is a run of lines whose header line has its own size and that of the chunk before it
// (boundary tags). Free chunks are in doubly linked lists, one for each bin of sizes. The file also has the allocator's
// lock, which every caller of the other functions must hold. Any thread.
import {
  BINS,
  BINS_AT,
  CHUNK_GIVEN_TO,
  CHUNK_IN_USE,
  CHUNK_LINES,
  CHUNK_LINES_BEFORE,
  CHUNK_NEXT,
  CHUNK_PREVIOUS,
  DAMAGED_AT,
  LINE_BYTES,
  LOCKS_AT,
  LOCK_AT,
  OPEN_AT,
  OWNER,
  USED_AT,
} from '../../memory/layout';

/** @inline */
export function at(line: u32): usize {
  return <usize>line * LINE_BYTES;
}

/** The bin for a chunk of `lines`: one bin for each size up to 7 lines, then four for each doubling. */
export function binOf(lines: u32): u32 {
  if (lines < 8) return lines;
  const exponent = 31 - clz(lines);
  return ((exponent - 1) << 2) | ((lines >> (exponent - 2)) & 3);
}

/** Address of the word with the first chunk of a bin. @inline */
export function binAt(bin: u32): usize {
  return <usize>BINS_AT + ((<usize>bin) << 2);
}

/**
 * Finds a free chunk of at least `lines`; 0 if there is none. The chunks of a bin differ in size, so those of the
 * chunk's own bin are compared, while any chunk of a higher bin is large enough.
 */
export function find(lines: u32): u32 {
  const own = binOf(lines);
  for (let chunk = load<u32>(binAt(own)); chunk; chunk = load<u32>(at(chunk), CHUNK_NEXT)) {
    if (load<u32>(at(chunk), CHUNK_LINES) >= lines) return chunk;
  }
  for (let bin = own + 1; bin < <u32>BINS; bin++) {
    const chunk = load<u32>(binAt(bin));
    if (chunk) return chunk;
  }
  return 0;
}

/** Takes the first `lines` of a free chunk into use and leaves the rest free. */
export function take(chunk: u32, lines: u32): void {
  removeFree(chunk);
  const rest = load<u32>(at(chunk), CHUNK_LINES) - lines;
  // A remainder of one line would be a header without a body.
  if (rest < 2) lines += rest;
  store<u32>(at(chunk), lines, CHUNK_LINES);
  store<u32>(at(chunk), 1, CHUNK_IN_USE);
  store<u32>(at(chunk + lines), lines, CHUNK_LINES_BEFORE);
  if (rest >= 2) addFree(chunk + lines, rest);
  store<u32>(USED_AT, load<u32>(USED_AT) + lines);
}

/** Frees a chunk in use and merges it with its free neighbours. */
export function giveBack(chunk: u32): void {
  let lines = load<u32>(at(chunk), CHUNK_LINES);
  store<u32>(USED_AT, load<u32>(USED_AT) - lines);
  const after = chunk + lines;
  if (!load<u32>(at(after), CHUNK_IN_USE)) {
    removeFree(after);
    lines += load<u32>(at(after), CHUNK_LINES);
  }
  const linesBefore = load<u32>(at(chunk), CHUNK_LINES_BEFORE);
  if (linesBefore && !load<u32>(at(chunk - linesBefore), CHUNK_IN_USE)) {
    chunk -= linesBefore;
    removeFree(chunk);
    lines += linesBefore;
  }
  addFree(chunk, lines);
}

/** Enters a free chunk of `lines`. Requires that `CHUNK_LINES_BEFORE` of its header is set. */
export function addFree(chunk: u32, lines: u32): void {
  const bin = binAt(binOf(lines));
  const next = load<u32>(bin);
  store<u32>(at(chunk), lines, CHUNK_LINES);
  store<u32>(at(chunk), 0, CHUNK_IN_USE);
  store<u32>(at(chunk), 0, CHUNK_GIVEN_TO);
  store<u32>(at(chunk), next, CHUNK_NEXT);
  store<u32>(at(chunk), 0, CHUNK_PREVIOUS);
  if (next) store<u32>(at(next), chunk, CHUNK_PREVIOUS);
  store<u32>(bin, chunk);
  store<u32>(at(chunk + lines), lines, CHUNK_LINES_BEFORE);
}

export function removeFree(chunk: u32): void {
  const next = load<u32>(at(chunk), CHUNK_NEXT);
  const previous = load<u32>(at(chunk), CHUNK_PREVIOUS);
  if (next) store<u32>(at(next), previous, CHUNK_PREVIOUS);
  if (previous) store<u32>(at(previous), next, CHUNK_NEXT);
  else store<u32>(binAt(binOf(load<u32>(at(chunk), CHUNK_LINES))), next);
}

// The allocator's lock is a word that names its holder. The owner and the readers hold it for moments; readers allocate
// scratch. If a reader is killed while it holds the lock, the arena is left half changed: the clean-up marks it as
// damaged and frees the lock (src/engine/memory/ownership.ts), and no allocation succeeds until the arena is formatted.

const SPINS_MAX = 1 << 30;

/**
 * Takes the lock. False when the arena is damaged, and for a reader when the memory is closed: an owner that was killed
 * never frees the lock, and its successor waits for all readers to leave. Traps after some seconds if the holder was
 * killed and nothing cleans up after it.
 */
export function lock(holder: u32): bool {
  for (let spins = 0; atomic.cmpxchg<u32>(LOCK_AT, 0, holder) != 0; spins++) {
    if (holder != OWNER && !atomic.load<u32>(OPEN_AT)) return false;
    if (spins == SPINS_MAX) unreachable();
  }
  // A checkpoint compares this count to find out whether the allocator has been used (memory/arena-image.ts).
  atomic.store<u32>(LOCKS_AT, load<u32>(LOCKS_AT) + 1);
  if (!atomic.load<u32>(DAMAGED_AT)) return true;
  unlock();
  return false;
}

/** @inline */
export function unlock(): void {
  atomic.store<u32>(LOCK_AT, 0);
}
