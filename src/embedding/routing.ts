// Which of the instances of a space does a piece of work: the one with the least under way of those that answer; where
// it fails, the next one, each of them once. Called by embedders.ts; front thread.
import type { Leaving } from '../base/departure.js';
import { AppError } from '../contract/errors.js';
import { isUnavailable, type WatchedInstance } from './watched-instance.js';

export interface Work<T> {
  /** Bytes of text: what the load is counted in. */
  bytes: number;
  /** `isLast`: no other instance will be asked for it. */
  run: (key: string, isLast: boolean) => Promise<T>;
  signal: Leaving | undefined;
}

/** Rejects with `embedder_unavailable` where no instance could do it; with any other error as it comes. */
export async function route<T>(pool: readonly WatchedInstance[], { bytes, run, signal }: Work<T>): Promise<T> {
  let untried = pool.filter(({ isBroken }) => !isBroken);
  let failure: unknown = new AppError('embedder_unavailable', undefined, { retryAfterS: 1 });
  for (let next = leastLoaded(untried); next; next = leastLoaded(untried)) {
    const chosen = next;
    untried = untried.filter((instance) => instance !== chosen && !instance.isBroken);
    const isLast = untried.length === 0;
    try {
      return await chosen.call(bytes, (key) => run(key, isLast), signal);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      failure = error;
      untried = untried.filter(({ isBroken }) => !isBroken);
    }
  }
  throw failure;
}

/** One that has not answered yet is asked only where no other is left. The first of equals. */
function leastLoaded(instances: readonly WatchedInstance[]): WatchedInstance | undefined {
  const usable = instances.filter(({ state }) => state === 'usable');
  const among = usable.length > 0 ? usable : instances;
  return among.reduce<WatchedInstance | undefined>(
    (least, instance) => (least && least.underway <= instance.underway ? least : instance),
    undefined,
  );
}
