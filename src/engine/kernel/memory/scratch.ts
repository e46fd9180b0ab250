// The working memory of one kernel instance: areas that grow, small arrays and counters. It stands in the arena because
// shared memory is all a kernel has; its address goes with every call, as instances must not have globals. Any thread,
// each with its own.
import {
  AREA_CAPACITY,
  FENCE,
  HOLDER,
  SCRATCH_AREAS,
  SCRATCH_BEST,
  SCRATCH_BYTES,
  SCRATCH_INPUT,
  SCRATCH_OUTPUT,
  SCRATCH_POOL,
} from '../../memory/layout';
import { allocateFor, allocateGrown, releaseFor } from './arena';

/**
 * Makes a scratch block with areas for up to `k` answers and a pool of `poolEntries`, for the thread that the
 * allocator's lock knows as `holder`; 0 when memory is full.
 */
export function createScratch(k: u32, poolEntries: u32, holder: u32): usize {
  const scratch = allocateFor(holder, SCRATCH_BYTES);
  if (!scratch) return 0;
  memory.fill(scratch, 0, SCRATCH_BYTES);
  store<u32>(scratch, holder, HOLDER);
  if (ensureAnswers(scratch, k) && ensureArea(scratch, SCRATCH_POOL, (<usize>poolEntries) << 3)) return scratch;
  releaseScratch(scratch);
  return 0;
}

export function releaseScratch(scratch: usize): void {
  const holder = load<u32>(scratch, HOLDER);
  for (let area: usize = 0; area < <usize>SCRATCH_AREAS; area++) releaseFor(holder, load<u32>(scratch + (area << 3)));
  releaseFor(holder, scratch);
}

/**
 * Gives an area room for `bytes`, and half as much again as it had where memory has it; what it held is lost when it
 * grows. False, and nothing changed, when memory is full.
 */
export function ensureArea(scratch: usize, area: usize, bytes: usize): bool {
  const capacity: usize = load<u32>(scratch + area, AREA_CAPACITY);
  if (bytes <= capacity) return true;
  const holder = load<u32>(scratch, HOLDER);
  const grown = allocateGrown(holder, capacity, bytes);
  if (!grown) return false;
  const old = load<u32>(scratch + area);
  // In this order a thread that is killed here leaves a scratch that another can take over.
  store<u32>(scratch + area, <u32>grown);
  store<u32>(scratch + area, <u32>(grown >> 32), AREA_CAPACITY);
  releaseFor(holder, old);
  return true;
}

/** Room for the k best and for the three arrays of an answer. */
export function ensureAnswers(scratch: usize, k: u32): bool {
  return ensureArea(scratch, SCRATCH_BEST, (<usize>k) << 3) && ensureArea(scratch, SCRATCH_OUTPUT, <usize>k * 12);
}

/** Address where the caller puts a vector of `dim` floats before stage, search and scores; 0 when memory is full. */
export function ensureInput(scratch: usize, dim: u32): usize {
  return ensureArea(scratch, SCRATCH_INPUT, (<usize>dim) << 2) ? areaAt(scratch, SCRATCH_INPUT) : 0;
}

/** @inline */
export function areaAt(scratch: usize, area: usize): usize {
  return load<u32>(scratch + area);
}

/**
 * Keeps reads and writes of rows, which are not atomic, on their side of a look at a stamp or a change of it, on
 * processors that reorder more than x86 does (memory-layout.md, rule 11). What this thread read before it, it has read
 * before any atomic load behind it; what it writes behind it, nobody sees before any atomic store ahead of it. A
 * read-modify-write of the thread's own scratch, for what the compiler makes of `atomic.fence` does not validate.
 * @inline
 */
export function fence(scratch: usize): void {
  atomic.add<u32>(scratch, 1, FENCE);
}
