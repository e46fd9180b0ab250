// The rows that are about to be scored together: their ordinals, in the scratch of the thread, and the loads that bring
// their vectors near before. Used by scans and walks on any thread.
import { BATCH, LINE_BYTES, TOUCHED } from '../layout';
import { rowWordsAt, vectorAt } from './rows';

/**
 * Of longer rows only the beginning is touched: what is touched should still be in the second cache when it is scored.
 */
const TOUCH_BYTES_MAX: usize = 8192;

/** @inline */
export function putInBatch(scratch: usize, place: u32, ordinal: u32): void {
  store<u32>(scratch + ((<usize>place) << 2), ordinal, BATCH);
}

/** @inline */
export function batched(scratch: usize, place: u32): u32 {
  return load<u32>(scratch + ((<usize>place) << 2), BATCH);
}

/**
 * Loads a byte of every line of the first `count` rows before they are scored: WebAssembly has no prefetch, but these
 * loads overlap. 5 to 12 % faster than no touch or the first line alone (node dist/load/recall.js --rows 30000, with
 * each in turn). The sum is kept, or nothing would be loaded.
 * @inline
 */
export function touch(scratch: usize, root: usize, count: u32, rowBytes: usize): void {
  const bytes = min<usize>(rowBytes, TOUCH_BYTES_MAX);
  let touched: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const vector = vectorAt(root, batched(scratch, i));
    touched ^= load<u8>(rowWordsAt(root, batched(scratch, i)));
    for (let at = vector; at < vector + bytes; at += LINE_BYTES) touched ^= load<u8>(at);
  }
  store<u32>(scratch, touched, TOUCHED);
}
