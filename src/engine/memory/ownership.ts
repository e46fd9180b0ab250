// What a thread holds of a shard's memory, and how it is freed when the thread has died. And the arenas of a shard: how
// an ordinal names one. Any thread.
import type { Ordinal } from '../../api/ids.js';
import { DAMAGED_AT, LOCK_AT, READERS_AT, READERS_MAX, READER_BYTES, READER_EPOCH, READER_THREAD } from './layout.js';

/**
 * Frees what a thread that is gone has held of a shard's memory: its place among the readers, and the allocator's lock.
 * If it died within the allocator, the arena is marked as damaged: its owner ends, and the next one formats it.
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

// A WebAssembly memory ends at 4 GiB, so a shard has several, its arenas. An ordinal as the store has it is the number
// of the arena and the row there; inside an arena, rows alone are used.

/**
 * Of a shard. One that was never used costs 10 GiB of address space, 4 KiB and 0.1 ms; the first is the home, which
 * knows the others.
 */
export const ARENAS = 8;
const ROW_BITS = 28;
const ROW_MASK = 2 ** ROW_BITS - 1;

export const arenaOf = (stored: Ordinal): number => stored >>> ROW_BITS;

export const rowOf = (stored: Ordinal): Ordinal => (stored & ROW_MASK) as Ordinal;

export const storedOrdinal = (arena: number, row: Ordinal): Ordinal => (((arena << ROW_BITS) | row) >>> 0) as Ordinal;
