// Asks what can be told only once the words or the metadata of a collection are indexed: again and again until it is.
// Used by search-shards.ts, on the front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../contract/errors.js';

/** The first such search of a large collection waits for its index, up to this long. */
const WAIT_MAX_MS = 20_000;
const RECHECK_MS = 10;

/**
 * `ask` answers null while the index is being built. Throws 503 `shard_unavailable` when it is not complete in time; it
 * goes on being built.
 */
export async function askIndexed<T>(ask: () => Promise<T | null>): Promise<T> {
  const untilMs = performance.now() + WAIT_MAX_MS;
  for (;;) {
    const answer = await ask();
    if (answer !== null) return answer;
    if (performance.now() > untilMs)
      throw new AppError('shard_unavailable', 'The collection is still being indexed.', { retryAfterS: 5 });
    await sleep(RECHECK_MS);
  }
}
