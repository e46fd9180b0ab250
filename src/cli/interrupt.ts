// Ctrl-C during long work: the first one ends the work in good order, a second one ends the process as usual. Called by
// long commands; the only place of the command line that listens to signals.

/** Exit code of a program ended by SIGINT. */
export const INTERRUPTED = 130;

export async function withInterrupt<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = (): void => controller.abort();
  process.once('SIGINT', interrupt);
  try {
    return await work(controller.signal);
  } finally {
    process.off('SIGINT', interrupt);
  }
}
