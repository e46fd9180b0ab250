// The allocator of an arena. It allocates chunks of 64-byte lines, finds free ones through bins by size, and merges
// neighbours when they are freed (good fit with boundary tags, after Masmano et al., "TLSF", 2004). The memory grows by
// memory.grow. The file also has `Area`, a growing array in the arena. Any thread may allocate, under the lock word of
// the arena; everything else is owner only.
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
  LAST_ROW_VERSION_AT,
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
  STATE_AT,
  USED_AT,
  VERSION_AT,
} from '../../memory/layout';
import { addFree, at, binAt, binOf, find, giveBack, lock, removeFree, take, unlock } from './chunks';
import { freeRetired, retire } from './epochs';

const LINES_PER_PAGE: u32 = 1024;
const GROW_PAGES_MIN = 16;

/**
 * Empties the arena. Requires that no other thread uses the memory. The counters of row versions and epochs keep their
 * values.
 */
export function format(): void {
  const known = load<u32>(MAGIC_AT) == MAGIC;
  atomic.store<u32>(OPEN_AT, 0);
  atomic.store<u32>(STATE_AT, 0);
  if (!known) {
    store<u32>(LAST_ROW_VERSION_AT, 1);
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

/** Clears the addresses of the segment directory and of the retired blocks, which the format discards. */
function clearState(): void {
  store<u32>(DIRECTORY_AT, 0);
  store<u32>(RETIRED_FIRST_AT, 0);
  store<u32>(RETIRED_LAST_AT, 0);
  store<u32>(RETIRED_LINES_AT, 0);
  store<u32>(DAMAGED_AT, 0);
}

/**
 * Allocates `bytes` of uninitialized memory, aligned to a line, for the owner. Returns its address, or 0 when memory is
 * full.
 */
export function allocate(bytes: usize): usize {
  return allocateFor(OWNER, bytes);
}

/** As `allocate`, for any thread; `holder` is its value in the allocator's lock. */
export function allocateFor(holder: u32, bytes: usize): usize {
  const lines = <u32>((bytes + LINE_BYTES - 1) / LINE_BYTES) + 1;
  if (!lock(holder)) return 0;
  let chunk = find(lines);
  if (!chunk && freeRetired(RECLAIM_STEP)) chunk = find(lines);
  if (!chunk && grow(lines)) chunk = find(lines);
  // Memory cannot grow, so all retired blocks that can be freed are freed, however long that takes.
  while (!chunk && freeRetired(RECLAIM_STEP)) chunk = find(lines);
  if (chunk) take(chunk, lines);
  unlock();
  return chunk ? at(chunk + 1) : 0;
}

/**
 * Allocates a block of at least `needed` bytes that replaces one of `capacity` bytes: half as large again as before if
 * there is memory for that. Returns the address in the lower 32 bits and the new capacity in the upper 32; 0 when
 * memory is full.
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
 * Frees a block from `allocate` that no other thread has seen; ignores 0. Blocks that other threads may be reading are
 * retired instead (epochs.ts).
 */
export function release(address: usize): void {
  releaseFor(OWNER, address);
}

/** As `release`, for any thread. */
export function releaseFor(holder: u32, address: usize): void {
  if (!address || !lock(holder)) return;
  giveBack(<u32>(address / LINE_BYTES) - 1);
  unlock();
}

/** Frees the lines of an allocated block after its first `bytes`. */
function shrink(address: usize, bytes: usize): void {
  const chunk = <u32>(address / LINE_BYTES) - 1;
  const kept = <u32>((bytes + LINE_BYTES - 1) / LINE_BYTES) + 1;
  if (!lock(OWNER)) return;
  let rest = load<u32>(at(chunk), CHUNK_LINES) - kept;
  const after = chunk + kept + rest;
  const isNextFree = !load<u32>(at(after), CHUNK_IN_USE);
  // A remainder of one line would be a header without a body.
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

/** The number of lines that an allocated block takes, including its header. */
export function linesOf(address: usize): u32 {
  return load<u32>(address - LINE_BYTES, CHUNK_LINES);
}

/**
 * Writes the fence, a chunk of one line that is always in use. It ends the arena, so no chunk has to check whether it
 * is the last.
 */
function setFence(line: u32): void {
  store<u32>(at(line), 1, CHUNK_LINES);
  store<u32>(at(line), 1, CHUNK_IN_USE);
  store<u32>(FENCE_AT, line);
}

/**
 * Grows the memory for a chunk of `lines`: by an eighth of its size, or by what is needed if that is more or if the
 * larger step fails.
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

// Returning free memory to the operating system: whole WebAssembly pages within free chunks, a few at a time, and each
// page once until its chunk changes. The allocator stays locked from `lockUnused` to `unlockUnused`, so nobody uses the
// pages while they are returned.

/** 2 MiB, the size of a huge page. */
const PAGES_MAX: u32 = 32;

/**
 * Locks the allocator and returns a run of free pages as (first page << 8) | count. Returns 0, and leaves the allocator
 * unlocked, when there are none.
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

/** Unlocks the allocator after `lockUnused`. */
export function unlockUnused(): void {
  unlock();
}

/** The next run of whole pages in a free chunk, without its header; 0 when no further run is left. */
function takePages(chunk: u32): u32 {
  const from = max(chunk + 1, load<u32>(at(chunk), CHUNK_GIVEN_TO));
  const first = (from + LINES_PER_PAGE - 1) / LINES_PER_PAGE;
  const end = min((chunk + load<u32>(at(chunk), CHUNK_LINES)) / LINES_PER_PAGE, first + PAGES_MAX);
  if (end <= first) return 0;
  store<u32>(at(chunk), end * LINES_PER_PAGE, CHUNK_GIVEN_TO);
  return (first << 8) | (end - first);
}

/**
 * Completes an arena whose bytes have been restored from a checkpoint (checkpoints.md). The memory may have grown since
 * the image was taken, so the fence moves; blocks that were retired then are freed, as nobody reads them. `end` is the
 * line after the last chunk in use, where a free chunk or the fence begins. Requires that the header words are those of
 * the image, and that no reader is inside.
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
 * A growing array in the arena: its address, its capacity in bytes, and the bytes in use. It is embedded as three words
 * in a larger record.
 */
@unmanaged
export class Area {
  at: u32;
  bytes: u32;
  used: u32;
}

/**
 * Makes room for `more` bytes after those in use. When the area moves, its contents are copied and the old block is
 * retired, so readers may go on reading it. False, with nothing changed, when memory is full.
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

/** Retires the block of an area that readers may be reading. The area keeps its address for them. */
export function retireArea(area: Area): void {
  retire(area.at);
}

/** Frees the block of an area that no other thread has seen. */
export function releaseArea(area: Area): void {
  release(area.at);
  area.at = 0;
  area.bytes = 0;
  area.used = 0;
}

/** Frees the unused capacity of an area. */
export function trimArea(area: Area): void {
  if (!area.at) return;
  if (!area.used) return releaseArea(area);
  shrink(area.at, area.used);
  area.bytes = area.used;
}

export function areaLines(area: Area): u32 {
  return area.at ? linesOf(area.at) : 0;
}
