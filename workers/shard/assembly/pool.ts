// The candidates of a walk through the graph: one sorted array of keys, best first, with live and removed rows in it.
// Removed rows are way-points: they are expanded, but only live ones count towards ef (Malkov & Yashunin 2016, as hnswlib does).
import { POOL_LIVE, POOL_LIVE_MAX, POOL_SIZE, SCRATCH_POOL } from '../layout';
import { LIVE } from './keys';
import { areaAt, ensureArea } from './scratch';

/** Room for removed rows beside ef live ones. */
@inline function capacityOf(ef: u32): u32 {
  return 2 * ef + 64;
}

/** Empties the pool for a walk that looks for `ef` live rows. False when memory is full. */
export function clearPool(scratch: usize, ef: u32): bool {
  store<u32>(scratch, 0, POOL_SIZE);
  store<u32>(scratch, 0, POOL_LIVE);
  store<u32>(scratch, ef, POOL_LIVE_MAX);
  return ensureArea(scratch, SCRATCH_POOL, <usize>capacityOf(ef) << 3);
}

@inline export function poolSize(scratch: usize): u32 {
  return load<u32>(scratch, POOL_SIZE);
}

@inline export function poolKey(scratch: usize, place: u32): u64 {
  return load<u64>(areaAt(scratch, SCRATCH_POOL) + (<usize>place << 3));
}

/** A key below this one cannot be among the ef best: 0 until there are ef live rows. */
@inline export function poolBound(scratch: usize): u64 {
  const full = load<u32>(scratch, POOL_LIVE) >= load<u32>(scratch, POOL_LIVE_MAX);
  return full ? poolKey(scratch, poolSize(scratch) - 1) : 0;
}

/** Adds a key above the bound and answers its place. */
export function insert(scratch: usize, key: u64): u32 {
  if (poolSize(scratch) == capacityOf(load<u32>(scratch, POOL_LIVE_MAX))) dropLast(scratch);
  const pool = areaAt(scratch, SCRATCH_POOL);
  const size = poolSize(scratch);
  let place = size;
  for (; place > 0; place--) {
    const before = load<u64>(pool + (<usize>(place - 1) << 3));
    if (before >= key) break;
    store<u64>(pool + (<usize>place << 3), before);
  }
  store<u64>(pool + (<usize>place << 3), key);
  store<u32>(scratch, size + 1, POOL_SIZE);
  if (key & LIVE) store<u32>(scratch, load<u32>(scratch, POOL_LIVE) + 1, POOL_LIVE);
  trim(scratch);
  return place;
}

/** Drops live rows beyond ef, and removed rows behind the last live one. */
@inline function trim(scratch: usize): void {
  const liveMax = load<u32>(scratch, POOL_LIVE_MAX);
  while (load<u32>(scratch, POOL_LIVE) >= liveMax) {
    const lastIsLive = (poolKey(scratch, poolSize(scratch) - 1) & LIVE) != 0;
    if (lastIsLive && load<u32>(scratch, POOL_LIVE) == liveMax) break;
    dropLast(scratch);
  }
}

function dropLast(scratch: usize): void {
  const last = poolSize(scratch) - 1;
  if (poolKey(scratch, last) & LIVE) store<u32>(scratch, load<u32>(scratch, POOL_LIVE) - 1, POOL_LIVE);
  store<u32>(scratch, last, POOL_SIZE);
}
