// The filter of a search: a bitmap of the ordinals it may answer, one bit an ordinal, in the scratch of the thread that
// searches. The caller wrote it there (ensureAllowed of words/query.ts). Any thread.
import { ALLOWED_END, NONE, ROOT_LIVE, ROOT_ROWS_END, SCRATCH_ALLOWED } from '../layout';
import { hasRow, isLive } from './rows';
import { areaAt } from './scratch';

/** `end` is the number of ordinals in the bitmap, a multiple of 32; NONE for a search without a filter. @inline */
export function setFilter(scratch: usize, end: u32): void {
  store<u32>(scratch, end, ALLOWED_END);
}

/** @inline */
export function isFiltered(scratch: usize): bool {
  return load<u32>(scratch, ALLOWED_END) != NONE;
}

/** True without a filter. @inline */
export function isAllowed(scratch: usize, ordinal: u32): bool {
  const end = load<u32>(scratch, ALLOWED_END);
  if (end == NONE) return true;
  return (
    ordinal < end &&
    ((load<u8>(areaAt(scratch, SCRATCH_ALLOWED) + (<usize>ordinal >> 3)) >> (<u8>ordinal & 7)) & 1) != 0
  );
}

/** The bits of 32 ordinals from 32 * `word` on, without those at or above `end`. Requires a filter. @inline */
export function allowedBits(scratch: usize, word: u32, end: u32): u32 {
  const bits = load<u32>(areaAt(scratch, SCRATCH_ALLOWED) + ((<usize>word) << 2));
  const left = end - (word << 5);
  return left >= 32 ? bits : bits & ((1 << left) - 1);
}

/** Where the filter ends for rows below `rowsEnd`. @inline */
export function filterEnd(scratch: usize, rowsEnd: u32): u32 {
  return min(rowsEnd, load<u32>(scratch, ALLOWED_END));
}

/** Ordinals below `end` in a bitmap of at least as many. */
export function countAllowed(scratch: usize, end: u32): u32 {
  let count: u32 = 0;
  for (let word: u32 = 0; word << 5 < end; word++) count += popcnt(allowedBits(scratch, word, end));
  return count;
}

/** Rows that there are to be found. */
export function reachable(scratch: usize, root: usize): u32 {
  return isFiltered(scratch)
    ? countLiveAllowed(scratch, root, atomic.load<u32>(root, ROOT_ROWS_END))
    : atomic.load<u32>(root, ROOT_LIVE);
}

/** Live rows that the filter admits. */
function countLiveAllowed(scratch: usize, root: usize, rowsEnd: u32): u32 {
  const end = filterEnd(scratch, rowsEnd);
  let count: u32 = 0;
  for (let word: u32 = 0; word << 5 < end; word++) {
    for (let bits = allowedBits(scratch, word, end); bits; bits &= bits - 1) {
      const ordinal = (word << 5) + ctz(bits);
      count += <u32>(hasRow(root, ordinal) && isLive(root, ordinal));
    }
  }
  return count;
}
