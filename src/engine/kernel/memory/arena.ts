// The allocator of a shard's memory: chunks of 64-byte lines, merged when freed, found by size in bins (good fit with
// boundary tags, after Masmano et al., "TLSF", 2004), and areas that grow. Memory grows by memory.grow. Any thread may
// allocate; a lock word guards it. The rest: owner only.
import {
  ARENA_START,
  BINS,
  BINS_AT,
  CHUNK_GIVEN_TO,
  CHUNK_IN_USE,
  CHUNK_LINES,
  CHUNK_LINES_BEFORE,
  CHUNK_NEXT,
  DAMAGED_AT,
  DIRECTORY_AT,
  EPOCH_AT,
  FENCE_AT,
  INCARNATION_AT,
  LAYOUT_VERSION,
  LINE_BYTES,
  LOCK_AT,
  MAGIC,
  MAGIC_AT,
  OPEN_AT,
  OWNER,
  RECLAIM_STEP,
  RETIRED_FIRST_AT,
  RETIRED_LAST_AT,
  RETIRED_LINES_AT,
  STAMP_AT,
  STATE_AT,
  USED_AT,
  VERSION_AT,
} from '../../memory/layout';
import { addFree, at, binAt, binOf, find, giveBack, lock, removeFree, take, unlock } from './chunks';
import { freeRetired, retire } from './epochs';

const LINES_PER_PAGE: u32 = 1024;
const GROW_PAGES_MIN = 16;

/**
 * Empties the arena. Requires that no other thread is at work in this memory. The counters of stamps and epochs go on.
 */
export function format(): void {
  const known = load<u32>(MAGIC_AT) == MAGIC;
  atomic.store<u32>(OPEN_AT, 0);
  atomic.store<u32>(STATE_AT, 0);
  if (!known) {
    store<u32>(STAMP_AT, 1);
    store<u32>(EPOCH_AT, 1);
    store<u32>(INCARNATION_AT, 0);
  }
  store<u32>(INCARNATION_AT, load<u32>(INCARNATION_AT) + 1);
  clearState();
  store<u32>(MAGIC_AT, MAGIC);
  store<u32>(VERSION_AT, LAYOUT_VERSION);
  store<u32>(LOCK_AT, 0);
  store<u32>(USED_AT, 0);
  memory.fill(BINS_AT, 0, BINS << 2);
  const first: u32 = ARENA_START / LINE_BYTES;
  const fence = <u32>memory.size() * LINES_PER_PAGE - 1;
  store<u32>(at(first), 0, CHUNK_LINES_BEFORE);
  setFence(fence);
  addFree(first, fence - first);
  atomic.store<u32>(STATE_AT, 1);
}

/** What has been retired or entered is gone with the memory that it stood in. */
function clearState(): void {
  store<u32>(DIRECTORY_AT, 0);
  store<u32>(RETIRED_FIRST_AT, 0);
  store<u32>(RETIRED_LAST_AT, 0);
  store<u32>(RETIRED_LINES_AT, 0);
  store<u32>(DAMAGED_AT, 0);
}

/** Address of `bytes` of uninitialized memory at a line's start, or 0 when memory is full. */
export function allocate(bytes: usize): usize {
  return allocateFor(OWNER, bytes);
}

/** The same for any holder of the lock. */
export function allocateFor(holder: u32, bytes: usize): usize {
  const lines = <u32>((bytes + LINE_BYTES - 1) / LINE_BYTES) + 1;
  if (!lock(holder)) return 0;
  let chunk = find(lines);
  if (!chunk && freeRetired(RECLAIM_STEP)) chunk = find(lines);
  if (!chunk && grow(lines)) chunk = find(lines);
  // The last resort may take its time.
  while (!chunk && freeRetired(RECLAIM_STEP)) chunk = find(lines);
  if (chunk) take(chunk, lines);
  unlock();
  return chunk ? at(chunk + 1) : 0;
}

/**
 * A block of `needed` bytes for what had `capacity`: half as much again as it had, where memory has that. Its address,
 * and in the upper half how many bytes it has; 0 when memory is full.
 */
export function allocateGrown(holder: u32, capacity: usize, needed: usize): u64 {
  let bytes = max(needed, capacity + (capacity >> 1));
  let address = allocateFor(holder, bytes);
  if (!address && bytes > needed) {
    bytes = needed;
    address = allocateFor(holder, bytes);
  }
  return address ? ((<u64>bytes) << 32) | <u64>address : 0;
}

/**
 * Gives back what allocate returned, and no other thread has seen; 0 is ignored. What others may read is retired
 * (epochs.ts).
 */
export function release(address: usize): void {
  releaseFor(OWNER, address);
}

/** The same for a reader. */
export function releaseFor(holder: u32, address: usize): void {
  if (!address || !lock(holder)) return;
  giveBack(<u32>(address / LINE_BYTES) - 1);
  unlock();
}

/** Gives back the lines of an allocated block behind its first `bytes`. */
function shrink(address: usize, bytes: usize): void {
  const chunk = <u32>(address / LINE_BYTES) - 1;
  const kept = <u32>((bytes + LINE_BYTES - 1) / LINE_BYTES) + 1;
  if (!lock(OWNER)) return;
  let rest = load<u32>(at(chunk), CHUNK_LINES) - kept;
  const after = chunk + kept + rest;
  const isNextFree = !load<u32>(at(after), CHUNK_IN_USE);
  // A rest of one line would be a header without a body.
  if (rest >= 2 || (rest == 1 && isNextFree)) {
    store<u32>(USED_AT, load<u32>(USED_AT) - rest);
    store<u32>(at(chunk), kept, CHUNK_LINES);
    store<u32>(at(chunk + kept), kept, CHUNK_LINES_BEFORE);
    if (isNextFree) {
      removeFree(after);
      rest += load<u32>(at(after), CHUNK_LINES);
    }
    addFree(chunk + kept, rest);
  }
  unlock();
}

/** Lines that an allocated block takes, header included. */
export function linesOf(address: usize): u32 {
  return load<u32>(address - LINE_BYTES, CHUNK_LINES);
}

/** The fence is a chunk of one line that is always in use, so no chunk needs to know whether it is the last. */
function setFence(line: u32): void {
  store<u32>(at(line), 1, CHUNK_LINES);
  store<u32>(at(line), 1, CHUNK_IN_USE);
  store<u32>(FENCE_AT, line);
}

/**
 * Adds memory for a chunk of `lines`: an eighth of what there is, or what is needed where that is more or all there is.
 */
function grow(lines: u32): bool {
  const fence = load<u32>(FENCE_AT);
  const linesBefore = load<u32>(at(fence), CHUNK_LINES_BEFORE);
  const lastFree = !load<u32>(at(fence - linesBefore), CHUNK_IN_USE);
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

// Free memory whose pages the system may have back: whole pages of WebAssembly within free chunks, some at a time, each
// once until the chunk changes that it lies in. From `lockUnused` to `unlockUnused` nobody allocates, so nobody uses
// what is given back meanwhile.

/** 2 MiB, as a huge page has. */
const PAGES_MAX: u32 = 32;

/**
 * Locks the allocator and answers the first of some free pages << 8 | their number; 0, and nothing is locked, where
 * there are none.
 */
export function lockUnused(): u32 {
  if (!lock(OWNER)) return 0;
  for (let bin = binOf(LINES_PER_PAGE); bin < <u32>BINS; bin++) {
    for (let chunk = load<u32>(binAt(bin)); chunk; chunk = load<u32>(at(chunk), CHUNK_NEXT)) {
      const pages = takePages(chunk);
      if (pages) return pages;
    }
  }
  unlock();
  return 0;
}

export function unlockUnused(): void {
  unlock();
}

/** The next whole pages of a free chunk, its header left out; 0 behind the last ones. */
function takePages(chunk: u32): u32 {
  const from = max(chunk + 1, load<u32>(at(chunk), CHUNK_GIVEN_TO));
  const first = (from + LINES_PER_PAGE - 1) / LINES_PER_PAGE;
  const end = min((chunk + load<u32>(at(chunk), CHUNK_LINES)) / LINES_PER_PAGE, first + PAGES_MAX);
  if (end <= first) return 0;
  store<u32>(at(chunk), end * LINES_PER_PAGE, CHUNK_GIVEN_TO);
  return (first << 8) | (end - first);
}

/**
 * Makes an arena of what has been read back into its memory from a checkpoint (checkpoints.md): the memory may be
 * larger than it was, and nobody reads what had been retired. No reader is inside. `end` is the line behind the
 * last chunk in use: of a free chunk, or of the fence. Requires that the words of the header are those of the image.
 */
export function restoreArena(end: u32): void {
  if (end != load<u32>(FENCE_AT)) removeFree(end);
  const fence = <u32>memory.size() * LINES_PER_PAGE - 1;
  setFence(fence);
  if (fence > end) addFree(end, fence - end);
  freeAllRetired();
}

function freeAllRetired(): void {
  for (let chunk = load<u32>(RETIRED_FIRST_AT); chunk; ) {
    const next = load<u32>(at(chunk), CHUNK_NEXT);
    giveBack(chunk);
    chunk = next;
  }
  store<u32>(RETIRED_FIRST_AT, 0);
  store<u32>(RETIRED_LAST_AT, 0);
  store<u32>(RETIRED_LINES_AT, 0);
}

/**
 * A piece of the arena that grows with what is put into it: address, bytes it has room for, bytes in use. Three words
 * of a larger block; every variable part of the index of words is one.
 */
@unmanaged
export class Area {
  at: u32;
  bytes: u32;
  used: u32;
}

/**
 * Room for `more` bytes behind those in use, which are kept, also for who still reads them. False, and nothing changed,
 * when memory is full.
 */
export function reserve(area: Area, more: usize): bool {
  const needed = <usize>area.used + more;
  if (needed <= <usize>area.bytes) return true;
  const grown = allocateGrown(OWNER, area.bytes, needed);
  if (!grown) return false;
  memory.copy(<usize>grown, area.at, area.used);
  const old: usize = area.at;
  atomic.store<u32>(changetype<usize>(area), <u32>grown);
  area.bytes = <u32>(grown >> 32);
  retire(old);
  return true;
}

/** Gives back an area that readers may be reading: its address stays, for them. */
export function retireArea(area: Area): void {
  retire(area.at);
}

/** Gives back an area that no other thread has seen. */
export function releaseArea(area: Area): void {
  release(area.at);
  area.at = 0;
  area.bytes = 0;
  area.used = 0;
}

/** Gives back what is not in use. */
export function trimArea(area: Area): void {
  if (!area.at) return;
  if (!area.used) return releaseArea(area);
  shrink(area.at, area.used);
  area.bytes = area.used;
}

export function areaLines(area: Area): u32 {
  return area.at ? linesOf(area.at) : 0;
}
