// The lock of a shard's arena: a word that names its holder. The owner and the readers (for their scratch) take it for
// moments. A reader killed within it leaves the arena half changed: whoever clears its place says so and frees the lock
// (src/contract/reader-table.ts), and from then on nobody gets memory until the arena is formatted.
import { LOCK_AT } from '../layout';
import { DAMAGED_AT, LOCKS_AT, OPEN_AT, OWNER } from '../reader-layout';

const SPINS_MAX = 1 << 30;

/**
 * False when the arena is damaged, or for a reader when it is closed: an owner killed within the lock never frees it,
 * and the next one waits for all readers to leave. A holder that was killed and that nobody clears lets others trap
 * after seconds.
 */
export function lock(holder: u32): bool {
  for (let spins = 0; atomic.cmpxchg<u32>(LOCK_AT, 0, holder) != 0; spins++) {
    if (holder != OWNER && !atomic.load<u32>(OPEN_AT)) return false;
    if (spins == SPINS_MAX) unreachable();
  }
  // Whoever copies the memory sees by it that the allocator has been at work (checkpoint/arena-image.ts).
  atomic.store<u32>(LOCKS_AT, load<u32>(LOCKS_AT) + 1);
  if (!atomic.load<u32>(DAMAGED_AT)) return true;
  unlock();
  return false;
}

/** @inline */
export function unlock(): void {
  atomic.store<u32>(LOCK_AT, 0);
}
