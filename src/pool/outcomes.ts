// Turns what comes back from a worker into values and errors of this thread: the one place where errors cross threads.
// Used by the three pools, on the front thread.
import type { Log } from '../base/log.js';
import { AppError, type ErrorCode } from '../contract/errors.js';
import type { LogNote } from '../base/log.js';
import type { Outcome } from '../contract/errors.js';
import type { Ask } from './lane.js';

/** A fault of ours in a worker. It has been logged; a client is told `internal_error`. */
export class WorkerFault extends Error {
  override readonly name = 'WorkerFault';
}

/** Logs what a worker wants logged; a message of another kind is let alone. */
export function logNote(log: Log, { level, fields, message }: Partial<LogNote>): void {
  if (level) log[level](fields ?? {}, message ?? '');
}

/** The value of an outcome. Throws AppError for a refusal, WorkerFault for a fault. */
export function valueOf<T>(outcome: Outcome<T>, log: Log): T {
  if ('value' in outcome) return outcome.value;
  if ('error' in outcome) throw AppError.fromWire(outcome.error);
  log.error({ fault: outcome.fault }, 'a worker failed a command');
  throw new WorkerFault('a worker failed a command');
}

/** Answers each ask of a batch with its outcome; they stand in the same order. */
export function settleAll<Q, A>(batch: readonly Ask<Q, A>[], outcomes: readonly Outcome<A>[], log: Log): void {
  batch.forEach(({ resolve, reject }, i) => {
    try {
      resolve(valueOf(outcomes[i] as Outcome<A>, log));
    } catch (error) {
      reject(error);
    }
  });
}

/**
 * The value of a task's outcome. A task whose worker died under it is refused with `whenDead`, to be tried again; one
 * that is refused already stays so.
 */
export async function settled<T>(task: Promise<Outcome<T>>, whenDead: ErrorCode, log: Log): Promise<T> {
  let outcome: Outcome<T>;
  try {
    outcome = await task;
  } catch (error) {
    if (error instanceof AppError) throw error;
    log.warn({ reason: (error as Error).message }, 'a worker died with a task under way');
    throw new AppError(whenDead, undefined, { retryAfterS: 1 });
  }
  return valueOf(outcome, log);
}

/** Throws AppError, or WorkerFault, of the first that was not done: for whoever wants all of them or none. */
export function assertStored(outcomes: readonly Outcome<unknown>[]): void {
  for (const outcome of outcomes) {
    if ('error' in outcome) throw AppError.fromWire(outcome.error);
    if ('fault' in outcome) throw new WorkerFault(outcome.fault);
  }
}
