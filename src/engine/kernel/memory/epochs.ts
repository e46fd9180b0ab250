// Memory that readers may still be reading is retired, and freed once all readers have left the epoch it was retired in
// (Fraser, "Practical lock-freedom", 2004; the form with one list is that of RCU). The owner retires; whoever needs
// memory frees, under the lock.
//
// Why it is sound: a reader, entering, stores the epoch in its place (A) and then loads OPEN (B); what it reads comes
// after B. The owner, retiring, unlinks the block (C), notes the epoch (D), and before it frees looks at all places
// (E). A, B, C and E are sequentially consistent. If the reader found a way to the block, it read that before C; so A
// is before C and E, and E sees an epoch read before A, which is at most that of D: the block stays. If E sees nobody,
// or a later epoch, the reader entered after C and finds no way to it.
import {
  CHUNK_EPOCH,
  CHUNK_LINES,
  CHUNK_NEXT,
  EPOCH_AT,
  LINE_BYTES,
  OWNER,
  READERS_AT,
  READERS_END_AT,
  READER_BYTES,
  READER_EPOCH,
  RETIRED_FIRST_AT,
  RETIRED_LAST_AT,
  RETIRED_LINES_AT,
} from '../../memory/layout';
import { at, giveBack, lock, unlock } from './chunks';

/** Gives a block back once no reader can see it; 0 is ignored. Requires that nothing leads to it any more. */
export function retire(address: usize): void {
  if (!address || !lock(OWNER)) return;
  const chunk = <u32>(address / LINE_BYTES) - 1;
  const epoch = atomic.load<u32>(EPOCH_AT);
  if (oldestInside(epoch + 2) == epoch + 2) giveBack(chunk);
  else addRetired(chunk, epoch);
  unlock();
}

/**
 * Frees up to `max` retired blocks, and answers how many it freed: fewer when nothing is left, or readers may still see
 * what is.
 */
export function reclaim(max: u32): u32 {
  if (!load<u32>(RETIRED_FIRST_AT) || !lock(OWNER)) return 0;
  const freed = freeRetired(max);
  unlock();
  return freed;
}

/** Frees up to `max` retired blocks, the oldest first; answers how many. Requires the lock. */
export function freeRetired(max: u32): u32 {
  const first = load<u32>(RETIRED_FIRST_AT);
  if (!first) return 0;
  const oldest = oldestInside(nextEpoch());
  let freed: u32 = 0;
  for (let chunk = first; chunk && freed < max && isBefore(load<u32>(at(chunk), CHUNK_EPOCH), oldest); freed++) {
    const next = load<u32>(at(chunk), CHUNK_NEXT);
    store<u32>(RETIRED_FIRST_AT, next);
    if (!next) store<u32>(RETIRED_LAST_AT, 0);
    store<u32>(RETIRED_LINES_AT, load<u32>(RETIRED_LINES_AT) - load<u32>(at(chunk), CHUNK_LINES));
    giveBack(chunk);
    chunk = next;
  }
  return freed;
}

/**
 * Begins a new epoch and answers the one that ends: what the owner has unlinked before is seen by no reader once
 * `haveLeft` says so of it.
 */
export function endEpoch(): u32 {
  const epoch = atomic.load<u32>(EPOCH_AT);
  if (!lock(OWNER)) return epoch;
  atomic.store<u32>(EPOCH_AT, epoch + 2);
  unlock();
  return epoch;
}

/** True when no reader is inside an epoch up to this one, which has ended. */
export function haveLeft(epoch: u32): bool {
  return oldestInside(epoch + 2) == epoch + 2;
}

function addRetired(chunk: u32, epoch: u32): void {
  store<u32>(at(chunk), 0, CHUNK_NEXT);
  store<u32>(at(chunk), epoch, CHUNK_EPOCH);
  const last = load<u32>(RETIRED_LAST_AT);
  if (last) store<u32>(at(last), chunk, CHUNK_NEXT);
  else store<u32>(RETIRED_FIRST_AT, chunk);
  store<u32>(RETIRED_LAST_AT, chunk);
  store<u32>(RETIRED_LINES_AT, load<u32>(RETIRED_LINES_AT) + load<u32>(at(chunk), CHUNK_LINES));
}

/** An epoch in which nothing has been retired. */
function nextEpoch(): u32 {
  const epoch = atomic.load<u32>(EPOCH_AT);
  if (load<u32>(at(load<u32>(RETIRED_LAST_AT)), CHUNK_EPOCH) != epoch) return epoch;
  atomic.store<u32>(EPOCH_AT, epoch + 2);
  return epoch + 2;
}

/** The oldest epoch that a reader is inside of; `none` where there is no reader, or none in an older one. */
function oldestInside(none: u32): u32 {
  let oldest = none;
  const end = READERS_AT + atomic.load<u32>(READERS_END_AT) * READER_BYTES;
  for (let place: usize = READERS_AT; place < <usize>end; place += READER_BYTES) {
    const epoch = atomic.load<u32>(place, READER_EPOCH);
    if (epoch && isBefore(epoch, oldest)) oldest = epoch;
  }
  return oldest;
}

/** Epochs wrap around; no two in use are ever that far apart. @inline */
function isBefore(epoch: u32, other: u32): bool {
  return <i32>(epoch - other) < 0;
}
