// The candidates of a walk through the graph: one sorted array, best first, with live and removed nodes in it, in the
// scratch of the thread. Removed ones are way-points: they are expanded, but only live ones count towards ef (Malkov &
// Yashunin 2016, as hnswlib does). A key is score 32 | ordinal 30 | live 1 | expanded 1; scores alone are compared,
// equal ones stay in the order of their coming.
import { SCRATCH_POOL } from '../layout';
import { areaAt, ensureArea } from './scratch';

export const NEAR_LIVE: i64 = 2;
export const EXPANDED: i64 = 1;

/** @inline */
export function nearKey(score: i32, ordinal: u32, live: bool): i64 {
  return ((<i64>score) << 32) | <i64>(ordinal << 2) | (live ? NEAR_LIVE : 0);
}

/** @inline */
export function nearScore(key: i64): i32 {
  return <i32>(key >> 32);
}

/** @inline */
export function nearOrdinal(key: i64): u32 {
  return <u32>key >> 2;
}

/** Room for removed nodes beside ef live ones. @inline */
export function nearMax(ef: u32): u32 {
  return 2 * ef + 64;
}

/** Makes room for the candidates of a walk of breadth `ef`. False when memory is full. */
export function ensureNear(scratch: usize, ef: u32): bool {
  return ensureArea(scratch, SCRATCH_POOL, (<usize>(nearMax(ef) + 1)) << 3);
}

/** @inline */
export function nearAt(scratch: usize, place: u32): i64 {
  return load<i64>(areaAt(scratch, SCRATCH_POOL) + ((<usize>place) << 3));
}

/**
 * Puts a key into the sorted array of `size` keys and answers its place. Four keys move at a time, as far as all four
 * are worse.
 * @inline
 */
export function insertNear(pool: usize, size: u32, key: i64): u32 {
  let at = pool + ((<usize>size) << 3);
  const score = nearScore(key);
  for (const first = pool + 32; at >= first && nearScore(load<i64>(at - 32)) < score; at -= 32) {
    const before = v128.load(at - 32);
    const after = v128.load(at - 16);
    v128.store(at - 24, before);
    v128.store(at - 8, after);
  }
  for (; at > pool; at -= 8) {
    const before = load<i64>(at - 8);
    if (nearScore(before) >= score) break;
    store<i64>(at, before);
  }
  store<i64>(at, key);
  return <u32>((at - pool) >> 3);
}
