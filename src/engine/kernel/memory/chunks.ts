// Chunks of the arena: runs of lines with a header line in front that knows its neighbours' sizes (boundary tags), and
// the free ones in bins by size, as doubly linked lists. Callers hold the lock of the arena.
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

/** Bins hold chunks of like size: one bin a line up to 7 lines, then four to each doubling. */
export function binOf(lines: u32): u32 {
  if (lines < 8) return lines;
  const exponent = 31 - clz(lines);
  return ((exponent - 1) << 2) | ((lines >> (exponent - 2)) & 3);
}

/** Address of the word that names a bin's first chunk. @inline */
export function binAt(bin: u32): usize {
  return <usize>BINS_AT + ((<usize>bin) << 2);
}

/**
 * A free chunk of at least `lines`, or 0. The chunks of a bin differ in size, so only those of higher bins are surely
 * large enough.
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

/** Puts the first `lines` of a free chunk to use and leaves the rest free. */
export function take(chunk: u32, lines: u32): void {
  removeFree(chunk);
  const rest = load<u32>(at(chunk), CHUNK_LINES) - lines;
  // A rest of one line would be a header without a body.
  if (rest < 2) lines += rest;
  store<u32>(at(chunk), lines, CHUNK_LINES);
  store<u32>(at(chunk), 1, CHUNK_IN_USE);
  store<u32>(at(chunk + lines), lines, CHUNK_LINES_BEFORE);
  if (rest >= 2) addFree(chunk + lines, rest);
  store<u32>(USED_AT, load<u32>(USED_AT) + lines);
}

/** Frees a chunk that is in use, and merges it with free neighbours. */
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

/** Makes a free chunk. Requires that the header tells the size of the one before it. */
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

// The lock of a shard's arena: a word that names its holder. The owner and the readers (for their scratch) take it for
// moments. A reader killed within it leaves the arena half changed: whoever clears its place says so and frees the lock
// (src/engine/memory/ownership.ts), and from then on nobody gets memory until the arena is formatted.

const SPINS_MAX = 1 << 30;

/**
 * False when the arena is damaged, or for a reader when it is closed: an owner killed within the lock never frees it,
 * and the next one waits for all readers to leave. A holder that was killed and that nobody clears lets others trap
 * after seconds.
 */
export function lock(holder: u32): bool {
  for (let spins = 0; atomic.cmpxchg<u32>(LOCK_AT, 0, holder) != 0; spins++) {
    if (holder != OWNER && !atomic.load<u32>(OPEN_AT)) return false;
    if (spins == SPINS_MAX) unreachable();
  }
  // Whoever copies the memory sees by it that the allocator has been at work (checkpoint/arena-image.ts).
  atomic.store<u32>(LOCKS_AT, load<u32>(LOCKS_AT) + 1);
  if (!atomic.load<u32>(DAMAGED_AT)) return true;
  unlock();
  return false;
}

/** @inline */
export function unlock(): void {
  atomic.store<u32>(LOCK_AT, 0);
}
