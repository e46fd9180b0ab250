// The allocator of a shard's memory: chunks of 64-byte lines, merged when freed, found by size in bins (good fit with boundary
// tags, after Masmano et al., "TLSF", 2004). Any thread may allocate; a lock word guards it. Memory grows by memory.grow.
import { ARENA_START, BINS, BINS_AT, FENCE_AT, GROW_PAGES_MIN, LINE_BYTES, LOCK_AT, MAGIC, MAGIC_AT, STAMP_AT, STATE_AT, USED_AT, VERSION, VERSION_AT } from '../layout';
import { addFree, at, find, IN_USE, LINES, LINES_BEFORE, removeFree, take } from './chunks';

const LINES_PER_PAGE: u32 = 1024;
const LOCK_SPINS_MAX = 1 << 30;

/** Empties the arena. Requires that no other thread uses this memory. The stamp counter goes on. */
export function format(): void {
  const known = load<u32>(MAGIC_AT) == MAGIC;
  atomic.store<u32>(STATE_AT, 0);
  if (!known) store<u32>(STAMP_AT, 1);
  store<u32>(MAGIC_AT, MAGIC);
  store<u32>(VERSION_AT, VERSION);
  store<u32>(LOCK_AT, 0);
  store<u32>(USED_AT, 0);
  memory.fill(BINS_AT, 0, BINS << 2);
  const first: u32 = ARENA_START / LINE_BYTES;
  const fence = <u32>memory.size() * LINES_PER_PAGE - 1;
  store<u32>(at(first), 0, LINES_BEFORE);
  setFence(fence);
  addFree(first, fence - first);
  atomic.store<u32>(STATE_AT, 1);
}

/** Address of `bytes` of uninitialized memory at a line's start, or 0 when memory is full. */
export function allocate(bytes: usize): usize {
  const lines = <u32>((bytes + LINE_BYTES - 1) / LINE_BYTES) + 1;
  lock();
  let chunk = find(lines);
  if (!chunk && grow(lines)) chunk = find(lines);
  if (chunk) take(chunk, lines);
  unlock();
  return chunk ? at(chunk + 1) : 0;
}

/** Gives back what allocate returned; 0 is ignored. */
export function release(address: usize): void {
  if (!address) return;
  lock();
  let chunk = <u32>(address / LINE_BYTES) - 1;
  let lines = load<u32>(at(chunk), LINES);
  store<u32>(USED_AT, load<u32>(USED_AT) - lines);
  const after = chunk + lines;
  if (!load<u32>(at(after), IN_USE)) {
    removeFree(after);
    lines += load<u32>(at(after), LINES);
  }
  const linesBefore = load<u32>(at(chunk), LINES_BEFORE);
  if (linesBefore && !load<u32>(at(chunk - linesBefore), IN_USE)) {
    chunk -= linesBefore;
    removeFree(chunk);
    lines += linesBefore;
  }
  addFree(chunk, lines);
  unlock();
}

/** Gives back the lines of an allocated block behind its first `bytes`. */
export function shrink(address: usize, bytes: usize): void {
  const chunk = <u32>(address / LINE_BYTES) - 1;
  const kept = <u32>((bytes + LINE_BYTES - 1) / LINE_BYTES) + 1;
  lock();
  let rest = load<u32>(at(chunk), LINES) - kept;
  const after = chunk + kept + rest;
  const isNextFree = !load<u32>(at(after), IN_USE);
  // A rest of one line would be a header without a body.
  if (rest >= 2 || (rest == 1 && isNextFree)) {
    store<u32>(USED_AT, load<u32>(USED_AT) - rest);
    store<u32>(at(chunk), kept, LINES);
    store<u32>(at(chunk + kept), kept, LINES_BEFORE);
    if (isNextFree) {
      removeFree(after);
      rest += load<u32>(at(after), LINES);
    }
    addFree(chunk + kept, rest);
  }
  unlock();
}

/** Lines that an allocated block takes, header included. */
export function linesOf(address: usize): u32 {
  return load<u32>(address - LINE_BYTES, LINES);
}

/** A holder that was killed never unlocks: after seconds of waiting the kernel traps, and whoever takes over formats. */
function lock(): void {
  for (let spins = 0; atomic.cmpxchg<u32>(LOCK_AT, 0, 1) != 0; spins++) if (spins == LOCK_SPINS_MAX) unreachable();
}

@inline function unlock(): void {
  atomic.store<u32>(LOCK_AT, 0);
}

/** The fence is a chunk of one line that is always in use, so no chunk needs to know whether it is the last. */
function setFence(line: u32): void {
  store<u32>(at(line), 1, LINES);
  store<u32>(at(line), 1, IN_USE);
  store<u32>(FENCE_AT, line);
}

/** Adds memory for a chunk of `lines`: an eighth of what there is, or what is needed where that is more or all there is. */
function grow(lines: u32): bool {
  const fence = load<u32>(FENCE_AT);
  const linesBefore = load<u32>(at(fence), LINES_BEFORE);
  const lastFree = !load<u32>(at(fence - linesBefore), IN_USE);
  const missing = lastFree ? lines - linesBefore : lines;
  const needed = (missing + LINES_PER_PAGE - 1) / LINES_PER_PAGE;
  const pages = max(needed, max(<u32>GROW_PAGES_MIN, <u32>memory.size() >> 3));
  if (memory.grow(pages) < 0 && memory.grow(needed) < 0) return false;
  const newFence = <u32>memory.size() * LINES_PER_PAGE - 1;
  setFence(newFence);
  let chunk = fence;
  if (lastFree) {
    chunk -= linesBefore;
    removeFree(chunk);
  }
  addFree(chunk, newFence - chunk);
  return true;
}
