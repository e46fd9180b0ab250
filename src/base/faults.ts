// A fault as text, and the end of a thread by one.
// Called by the workers where their commands fail, on their own threads.

/** For the log: the stack, where there is one. */
export const faultOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error);

/** Ends this thread as what nobody catches does. Never resolves: what was under way is answered by its end. */
export function endThread(error: unknown): Promise<never> {
  setImmediate(() => {
    throw error;
  });
  return new Promise(() => {});
}
