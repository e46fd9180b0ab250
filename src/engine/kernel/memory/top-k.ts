// The k best rows seen so far: a binary heap of keys with the worst on top, in the scratch of the searching thread,
// which is the only one to use it. Any thread.
import { BEST_MAX, BEST_SIZE, SCRATCH_BEST } from '../../memory/layout';
import { areaAt } from './scratch';

// A key is a u64 whose integer order is the order of answers: higher score first, then lower ordinal. Bits: score in
// sortable form 32 | complement of the ordinal 30 | 0 for the last 2.
const ORDINAL_MASK: u32 = 0x3fffffff;

/**
 * Makes a key. IEEE floats sort as integers once the sign bit, or every bit of a negative number, is flipped. @inline
 */
export function keyOf(score: f32, ordinal: u32): u64 {
  const bits = reinterpret<u32>(score);
  const sortable = bits ^ (<u32>(<i32>bits >> 31) | 0x80000000);
  return ((<u64>sortable) << 32) | <u64>((~ordinal & ORDINAL_MASK) << 2);
}

/** @inline */
export function ordinalOf(key: u64): u32 {
  return ~(<u32>key >> 2) & ORDINAL_MASK;
}

/** @inline */
export function scoreOf(key: u64): f32 {
  const sortable = <u32>(key >> 32);
  const bits = sortable ^ (<u32>(<i32>~sortable >> 31) | 0x80000000);
  return reinterpret<f32>(bits);
}

/** Empties the heap and sets its capacity to `k`. */
export function clearBest(scratch: usize, k: u32): void {
  store<u32>(scratch, 0, BEST_SIZE);
  store<u32>(scratch, k, BEST_MAX);
}

/** Adds `key` if it is among the k best. No key may be added twice. @inline */
export function offer(scratch: usize, key: u64): void {
  const heap = areaAt(scratch, SCRATCH_BEST);
  const size = load<u32>(scratch, BEST_SIZE);
  if (size < load<u32>(scratch, BEST_MAX)) {
    store<u32>(scratch, size + 1, BEST_SIZE);
    siftUp(heap, size, key);
  } else if (key > load<u64>(heap)) {
    siftDown(heap, size, key);
  }
}

/** @inline */
export function isBestFull(scratch: usize): bool {
  return load<u32>(scratch, BEST_SIZE) == load<u32>(scratch, BEST_MAX);
}

/** The worst of the best keys. Requires that the heap is not empty. @inline */
export function bestBound(scratch: usize): u64 {
  return load<u64>(areaAt(scratch, SCRATCH_BEST));
}

/** The number of rows in the heap that have at least this score. */
export function countFrom(scratch: usize, score: f32): u32 {
  const heap = areaAt(scratch, SCRATCH_BEST);
  let count: u32 = 0;
  for (let i: u32 = 0; i < load<u32>(scratch, BEST_SIZE); i++)
    count += u32(scoreOf(load<u64>(heap + ((<usize>i) << 3))) >= score);
  return count;
}

/** Sorts the heap in place, best first, and returns its size. Afterwards the heap can only be read or cleared. */
export function sortBest(scratch: usize): u32 {
  const heap = areaAt(scratch, SCRATCH_BEST);
  const size = load<u32>(scratch, BEST_SIZE);
  for (let end = size; end > 1; end--) {
    const worst = load<u64>(heap);
    const last = load<u64>(heap + ((<usize>(end - 1)) << 3));
    siftDown(heap, end - 1, last);
    store<u64>(heap + ((<usize>(end - 1)) << 3), worst);
  }
  return size;
}

function siftUp(heap: usize, from: u32, key: u64): void {
  let place = from;
  while (place > 0) {
    const parent = (place - 1) >> 1;
    const above = load<u64>(heap + ((<usize>parent) << 3));
    if (above <= key) break;
    store<u64>(heap + ((<usize>place) << 3), above);
    place = parent;
  }
  store<u64>(heap + ((<usize>place) << 3), key);
}

/** Replaces the top of a heap of `size` keys by `key`. */
function siftDown(heap: usize, size: u32, key: u64): void {
  let place: u32 = 0;
  for (let child: u32 = 1; child < size; child = 2 * place + 1) {
    if (child + 1 < size && load<u64>(heap + ((<usize>(child + 1)) << 3)) < load<u64>(heap + ((<usize>child) << 3)))
      child++;
    const below = load<u64>(heap + ((<usize>child) << 3));
    if (below >= key) break;
    store<u64>(heap + ((<usize>place) << 3), below);
    place = child;
  }
  store<u64>(heap + ((<usize>place) << 3), key);
}
