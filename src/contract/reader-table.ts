// The places of readers in the memory of a shard, as far as the front thread has to know them: it clears those of
// threads that have died. The layout is that of workers/shard/layout.ts; a test holds the two against each other.

export const READER_TABLE = {
  at: 1024,
  places: 64,
  placeBytes: 64,
  thread: 0,
  epoch: 4,
  lockAt: 76,
  damagedAt: 640,
} as const;

/**
 * Frees what a thread that is gone has held of a shard's memory: its place among the readers, and the allocator's lock.
 * If it died within the allocator, the arena is marked as damaged: its owner ends, and the next one formats it.
 */
export function clearReader(memory: WebAssembly.Memory, threadId: number): void {
  const { at, places, placeBytes, thread, epoch, lockAt, damagedAt } = READER_TABLE;
  const words = new Int32Array(memory.buffer, 0, (at + places * placeBytes) >> 2);
  const id = threadId + 1;
  if (Atomics.load(words, lockAt >> 2) === id) {
    Atomics.store(words, damagedAt >> 2, 1);
    Atomics.store(words, lockAt >> 2, 0);
  }
  for (let place = at; place < at + places * placeBytes; place += placeBytes) {
    if (Atomics.load(words, (place + thread) >> 2) !== id) continue;
    Atomics.store(words, (place + epoch) >> 2, 0);
    Atomics.store(words, (place + thread) >> 2, 0);
  }
}
