// The working memory of one kernel instance (one thread): areas that grow, small arrays and counters. It stands in the arena
// because shared memory is all a kernel has; its address goes with every call, as instances must not have globals.
import { SCRATCH_AREAS, SCRATCH_BEST, SCRATCH_BYTES, SCRATCH_INPUT, SCRATCH_OUTPUT, SCRATCH_POOL } from '../layout';
import { allocate, release } from './arena';

/** Makes a scratch block with areas for up to `k` answers and a pool of `poolEntries`; 0 when memory is full. */
export function createScratch(k: u32, poolEntries: u32): usize {
  const scratch = allocate(SCRATCH_BYTES);
  if (!scratch) return 0;
  memory.fill(scratch, 0, SCRATCH_BYTES);
  if (ensureAnswers(scratch, k) && ensureArea(scratch, SCRATCH_POOL, <usize>poolEntries << 3)) return scratch;
  releaseScratch(scratch);
  return 0;
}

export function releaseScratch(scratch: usize): void {
  for (let area: usize = 0; area < <usize>SCRATCH_AREAS; area++) release(load<u32>(scratch + (area << 3)));
  release(scratch);
}

/** Gives an area room for `bytes`; what it held is lost when it grows. False, and nothing changed, when memory is full. */
export function ensureArea(scratch: usize, area: usize, bytes: usize): bool {
  const capacity: usize = load<u32>(scratch + area, 4);
  if (bytes <= capacity) return true;
  const address = allocate(max(bytes, capacity + (capacity >> 1)));
  if (!address) return false;
  release(load<u32>(scratch + area));
  store<u32>(scratch + area, <u32>address);
  store<u32>(scratch + area, <u32>bytes, 4);
  return true;
}

/** Room for the k best and for the three arrays of an answer. */
export function ensureAnswers(scratch: usize, k: u32): bool {
  return ensureArea(scratch, SCRATCH_BEST, <usize>k << 3) && ensureArea(scratch, SCRATCH_OUTPUT, <usize>k * 12);
}

/** Address where the caller puts a vector of `dim` floats before stage, search and scores; 0 when memory is full. */
export function ensureInput(scratch: usize, dim: u32): usize {
  return ensureArea(scratch, SCRATCH_INPUT, <usize>dim << 2) ? areaAt(scratch, SCRATCH_INPUT) : 0;
}

@inline export function areaAt(scratch: usize, area: usize): usize {
  return load<u32>(scratch + area);
}
