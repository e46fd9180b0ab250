// Assertions about the program itself. A failed one in a worker ends the worker, whose shard is then recovered; on the
// main thread and on front threads it fails the current request. Its message never reaches a client. Errors of callers
// are AppError instead. Any thread.

export class AssertionFailed extends Error {
  override readonly name = 'AssertionFailed';
}

/** Throws AssertionFailed with `message` if `condition` is falsy. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message);
}

/** Returns `value`, asserting that it exists: for look-ups that can only fail because of a bug. */
export function defined<T>(value: T | null | undefined, what: string): T {
  assert(value !== undefined && value !== null, `missing: ${what}`);
  return value;
}
