// Tries again what fails because a worker or an endpoint is away for a moment: a job is not to fail of that. Used by
// the other files of this folder, on the front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type ErrorCode } from '../../contract/errors.js';

const PASSING: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'shard_unavailable',
  'embedder_unavailable',
  'overloaded',
  'not_ready',
]);
/** Twice as long each time: some 13 s altogether. */
const FIRST_WAIT_MS = 100;
const ATTEMPTS_MAX = 8;
/** What asks for more patience than this has none to expect here. */
const RETRY_AFTER_S_MAX = 30;

/** Rejects with the last failure, or as soon as the signal is aborted. */
export async function retrying<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || signal?.aborted || !isPassing(error)) throw error;
      await sleep(FIRST_WAIT_MS * 2 ** (attempt - 1), undefined, { signal }).catch(() => undefined);
    }
  }
}

const isPassing = (error: unknown): boolean =>
  error instanceof AppError && PASSING.has(error.code) && (error.options.retryAfterS ?? 0) <= RETRY_AFTER_S_MAX;
