// How a shard worker finds its shard: a slot a shard in shared memory, holding the thread that owns it. The front
// thread vacates the slot of a worker that has died; a new worker takes the first vacant one, waiting where there is
// none yet. Layout of the slots (Int32): [owner thread id, how often the shard has been claimed] for each shard.
import { threadId } from 'node:worker_threads';

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
