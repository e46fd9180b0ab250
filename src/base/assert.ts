// Assertions for our own faults. A failed one ends the worker it happens in (its shard is then rebuilt from LMDB), or
// on the front thread the request it happens in; it never travels to a client. Callers' faults are AppError instead.

export class AssertionFailed extends Error {
  override readonly name = 'AssertionFailed';
}

/** Throws AssertionFailed with `message` when `condition` is false. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message);
}

/** Returns `value`, asserting that it is there: for look-ups that cannot miss unless we have a bug. */
export function defined<T>(value: T | null | undefined, what: string): T {
  assert(value !== undefined && value !== null, `missing: ${what}`);
  return value;
}
