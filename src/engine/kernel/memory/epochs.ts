// Epoch-based reclamation (Fraser, "Practical lock-freedom", 2004; with a single list, as in RCU). Memory that readers
// may still be reading is retired, and is freed once all readers have left the epoch in which it was retired. Only the
// owner retires; any thread that needs memory may free retired blocks, under the allocator's lock.
//
// Why this is safe: a reader that enters stores the epoch in its place (A), and then loads `OPEN_AT` (B); it reads
// everything else after B. The owner, when it retires a block, removes the last way to it (C), notes the epoch (D), and
// looks at all places before it frees the block (E). A, B, C and E are sequentially consistent. If the reader found a
// way to the block, it did so before C; so A comes before C and E, and E sees an epoch that was loaded before A and is
// at most that of D, and the block is kept. If E sees no reader, or a later epoch, the reader entered after C and finds
// no way to the block.
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
  READER_LINES,
  RETIRED_FIRST_AT,
  RETIRED_LAST_AT,
  RETIRED_LINES_AT,
} from '../../memory/layout';
import { at, giveBack, lock, unlock } from './chunks';

/**
 * Frees a block as soon as no reader can see it; ignores 0. Requires that no shared address leads to the block any
 * more. Owner only.
 */
export function retire(address: usize): void {
  if (!address || !lock(OWNER)) return;
  const chunk = <u32>(address / LINE_BYTES) - 1;
  const epoch = atomic.load<u32>(EPOCH_AT);
  if (oldestInside(epoch + 2) == epoch + 2) giveBack(chunk);
  else addRetired(chunk, epoch);
  unlock();
}

/**
 * Frees up to `max` retired blocks and returns how many. Fewer than `max` means that none is left, or that readers may
 * still see the others. Owner only.
 */
export function reclaim(max: u32): u32 {
  if (!load<u32>(RETIRED_FIRST_AT) || !lock(OWNER)) return 0;
  const freed = freeRetired(max);
  unlock();
  return freed;
}

/** Frees up to `max` retired blocks, oldest first, and returns how many. Requires the lock. */
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
 * Begins a new epoch and returns the one that ends. Once `haveLeft` is true of it, no reader sees anything that the
 * owner had removed before this call. Owner only.
 */
export function endEpoch(): u32 {
  const epoch = atomic.load<u32>(EPOCH_AT);
  if (!lock(OWNER)) return epoch;
  atomic.store<u32>(EPOCH_AT, epoch + 2);
  unlock();
  return epoch;
}

/** True when no reader is inside `epoch`, which has ended, or an earlier one. */
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

/**
 * Begins a new epoch if a block has been retired in the current one. Returns the current epoch, in which no block has
 * been retired.
 */
function nextEpoch(): u32 {
  const epoch = atomic.load<u32>(EPOCH_AT);
  if (load<u32>(at(load<u32>(RETIRED_LAST_AT)), CHUNK_EPOCH) != epoch) return epoch;
  atomic.store<u32>(EPOCH_AT, epoch + 2);
  return epoch + 2;
}

/** The oldest epoch that a reader is inside of, if it is older than `none`; else `none`. */
function oldestInside(none: u32): u32 {
  let oldest = none;
  const end = atomic.load<u32>(READERS_END_AT);
  for (let number: u32 = 0; number < end; number++) {
    const line: usize = READERS_AT + (number % READER_LINES) * LINE_BYTES;
    const epoch = atomic.load<u32>(line + (number / READER_LINES) * READER_BYTES, READER_EPOCH);
    if (epoch && isBefore(epoch, oldest)) oldest = epoch;
  }
  return oldest;
}

/** Epochs wrap around, so they are compared by their difference; epochs in use are never 2^31 apart. @inline */
function isBefore(epoch: u32, other: u32): bool {
  return <i32>(epoch - other) < 0;
}
