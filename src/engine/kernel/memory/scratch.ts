// The working memory of one kernel instance: growing areas, small arrays and counters. It is in the arena because the
// kernel has no other memory, and its address is passed with every call because instances must not have globals. Any
// thread, each with its own scratch.
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
 * Creates a scratch with areas for `k` answers and a candidate pool of `poolEntries`. `holder` is the thread's value in
 * the allocator's lock. Returns the address, or 0 when memory is full.
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

/** Frees a scratch and its areas. The thread that it belongs to must not use it any more. */
export function releaseScratch(scratch: usize): void {
  const holder = load<u32>(scratch, HOLDER);
  for (let area: usize = 0; area < <usize>SCRATCH_AREAS; area++) releaseFor(holder, load<u32>(scratch + (area << 3)));
  releaseFor(holder, scratch);
}

/**
 * Grows an area to at least `bytes`, with half its old capacity in addition if there is memory for it. The contents are
 * lost when it grows. False, with nothing changed, when memory is full.
 */
export function ensureArea(scratch: usize, area: usize, bytes: usize): bool {
  const capacity: usize = load<u32>(scratch + area, AREA_CAPACITY);
  if (bytes <= capacity) return true;
  const holder = load<u32>(scratch, HOLDER);
  const grown = allocateGrown(holder, capacity, bytes);
  if (!grown) return false;
  const old = load<u32>(scratch + area);
  // This order leaves a valid scratch if the thread is killed here, so that another thread can take it over.
  store<u32>(scratch + area, <u32>grown);
  store<u32>(scratch + area, <u32>(grown >> 32), AREA_CAPACITY);
  releaseFor(holder, old);
  return true;
}

/** Makes room for the k best keys and for the three arrays of an answer. False when memory is full. */
export function ensureAnswers(scratch: usize, k: u32): bool {
  return ensureArea(scratch, SCRATCH_BEST, (<usize>k) << 3) && ensureArea(scratch, SCRATCH_OUTPUT, <usize>k * 12);
}

/**
 * Makes room for `dim` floats in the input area, from which `stage`, `search` and `scoresOf` take their vector. Returns
 * its address, or 0 when memory is full.
 */
export function ensureInput(scratch: usize, dim: u32): usize {
  return ensureArea(scratch, SCRATCH_INPUT, (<usize>dim) << 2) ? areaAt(scratch, SCRATCH_INPUT) : 0;
}

/** @inline */
export function areaAt(scratch: usize, area: usize): usize {
  return load<u32>(scratch + area);
}

/**
 * A memory fence for the non-atomic reads and writes of rows around a check or a change of the row version, on
 * processors that reorder more than x86 (memory-layout.md, rule 11). Reads before the fence come before atomic loads
 * after it; writes after the fence become visible after atomic stores before it. It is a read-modify-write of a word in
 * the thread's own scratch, because the compiler's output for `atomic.fence` does not validate.
 * @inline
 */
export function fence(scratch: usize): void {
  atomic.add<u32>(scratch, 1, FENCE);
}
