// How a shard worker finds its shard: a slot a shard in shared memory, holding the thread that owns it. The front
// thread vacates the slot of a worker that has died; a new worker takes the first vacant one, waiting where there is
// none yet. Layout of the slots (Int32): [owner thread id, how often the shard has been claimed] for each shard.
import { threadId } from 'node:worker_threads';
import type { Ordinal } from '../../api/ids.js';
import { DAMAGED_AT, LOCK_AT, READERS_AT, READERS_MAX, READER_BYTES, READER_EPOCH, READER_THREAD } from './layout.js';

const SLOT_WORDS = 2;
const RECHECK_MS = 50;

export interface Claim {
  shard: number;
  /** True when another worker had the shard before, in this process. */
  takeOver: boolean;
}

/** Takes a vacant shard. Blocks this thread (never the front thread) until one is vacant. */
export function claimShard(owners: Int32Array): Claim {
  for (;;) {
    for (let slot = 0; slot < owners.length; slot += SLOT_WORDS) {
      if (Atomics.compareExchange(owners, slot, 0, threadId) !== 0) continue;
      return { shard: slot / SLOT_WORDS, takeOver: Atomics.add(owners, slot + 1, 1) > 0 };
    }
    Atomics.wait(owners, 0, Atomics.load(owners, 0), RECHECK_MS);
  }
}

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

// The arenas of a shard, and how an ordinal names one. A WebAssembly memory ends at 4 GiB, so a shard has several, its
// arenas. An ordinal as the store has it is the number of the arena and the row there; inside an arena, rows alone are
// used. Pure; used by every thread.

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
