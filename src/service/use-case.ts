// The inputs of a use case, which are the validated input of its route and the caller, and the translation of internal
// errors to its error code. Runs on front threads and on the main thread.
import type { AnswerOf, InputOf, JsonOperations } from '../api/route.js';
import { AppError, type ErrorCode } from '../api/errors.js';
import type { CancelSource } from '../base/signals.js';
import { WorkerError } from '../base/rpc.js';
import type { Actor } from './tenants/actor.js';

/** The caller of a use case, such as an HTTP request. */
export interface Caller {
  /** The id of the request. */
  readonly id: string;
  readonly actor: Actor;
  /** Aborted when the caller disconnects. Created on first access. */
  readonly signal: AbortSignal;
  /** The same signal for work that only waits in a queue, without the cost of an `AbortSignal`. */
  readonly cancelSource: CancelSource;
  /** A header of the request by its lower-case name; '' if absent. */
  header(name: string): string;
  /** The trace context for calls to other services; undefined if the request is not traced. */
  readonly trace?: { readonly traceparent: string } | undefined;
}

/** A function per JSON route of an area, by the name of its operation. It throws AppError. */
export type UseCases<Routes> = {
  readonly [O in JsonOperations<Routes>]: (
    input: InputOf<Routes[O]>,
    caller: Caller,
  ) => AnswerOf<Routes[O]> | Promise<AnswerOf<Routes[O]>>;
};

/**
 * Returns what `work` returns. The internal error of a worker, which has been logged already, becomes an AppError with
 * `code`.
 */
export async function withErrorCode<T>(code: ErrorCode, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof WorkerError ? new AppError(code) : error;
  }
}
