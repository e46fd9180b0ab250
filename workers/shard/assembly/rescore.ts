// What a walk found, scored again by rows: the best live candidates go to the best of the search or of the insertion,
// by the scores that answers have. Used by searches on any thread and by insertions of the owner.
import { ROOT_ROW_BYTES } from '../layout';
import { batched, putInBatch, touch } from './batch';
import { offer } from './best';
import { cosine } from './distance';
import { keyOf } from './keys';
import { nearAt, NEAR_LIVE, nearOrdinal } from './near';
import { queryIn } from './query';

/** Rows that are touched together: a third of them fill the first cache. */
const TOUCHED_ROWS: u32 = 16;

/**
 * Puts the next candidates from `place` on into BATCH, live ones alone where `liveOnly`, up to `max`, and touches their
 * rows; answers place << 8 | how many.
 */
export function takeNear(scratch: usize, root: usize, place: u32, size: u32, max: u32, liveOnly: bool): u32 {
  let count: u32 = 0;
  for (; place < size && count < min(max, TOUCHED_ROWS); place++) {
    const key = nearAt(scratch, place);
    if (liveOnly && !(key & NEAR_LIVE)) continue;
    putInBatch(scratch, count++, nearOrdinal(key));
  }
  touch(scratch, root, count, load<u32>(root, ROOT_ROW_BYTES));
  return (place << 8) | count;
}

/** Offers the `max` best candidates by the scores of their rows. */
export function offerNear(scratch: usize, root: usize, size: u32, max: u32, liveOnly: bool): void {
  for (let place: u32 = 0, left = max; place < size && left > 0; ) {
    const taken = takeNear(scratch, root, place, size, left, liveOnly);
    place = taken >> 8;
    const count = taken & 255;
    left -= count;
    for (let i: u32 = 0; i < count; i++)
      offer(scratch, keyOf(cosine(root, queryIn(scratch), batched(scratch, i)), batched(scratch, i)));
  }
}
