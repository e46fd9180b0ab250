// Releases what a dead thread held of a shard's memory, and defines how a stored ordinal names an arena and a row. Any
// thread.
import type { Ordinal } from '../../api/ids.js';
import { DAMAGED_AT, LOCK_AT, READERS_AT, READERS_MAX, READER_BYTES, READER_EPOCH, READER_THREAD } from './layout.js';

/**
 * Releases what a dead thread held of a shard's memory: its place among the readers, and the allocator's lock. If the
 * thread died while it held the lock, the arena is marked as damaged; its owner then ends, and the next owner formats
 * it.
 */
export function clearReader(memory: WebAssembly.Memory, threadId: number): void {
  const end = READERS_AT + READERS_MAX * READER_BYTES;
  const words = new Int32Array(memory.buffer, 0, end >> 2);
  const id = threadId + 1;
  if (Atomics.load(words, LOCK_AT >> 2) === id) {
    Atomics.store(words, DAMAGED_AT >> 2, 1);
    Atomics.store(words, LOCK_AT >> 2, 0);
  }
  for (let place = READERS_AT; place < end; place += READER_BYTES) {
    if (Atomics.load(words, (place + READER_THREAD) >> 2) !== id) continue;
    Atomics.store(words, (place + READER_EPOCH) >> 2, 0);
    Atomics.store(words, (place + READER_THREAD) >> 2, 0);
  }
}

// A WebAssembly memory is limited to 4 GiB, so a shard has several of them, its arenas. A stored ordinal combines the
// number of an arena with a row in it; inside an arena, ordinals are rows.

/**
 * Number of arenas of a shard. The first one is the home arena, which records where segments have more arenas. An arena
 * that was never used costs 10 GiB of address space, 4 KiB of memory and 0.1 ms.
 */
export const ARENAS = 8;
const ROW_BITS = 28;
const ROW_MASK = 2 ** ROW_BITS - 1;

export const arenaOf = (stored: Ordinal): number => stored >>> ROW_BITS;

export const rowOf = (stored: Ordinal): Ordinal => (stored & ROW_MASK) as Ordinal;

export const storedOrdinal = (arena: number, row: Ordinal): Ordinal => (((arena << ROW_BITS) | row) >>> 0) as Ordinal;
