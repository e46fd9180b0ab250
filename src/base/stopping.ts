// Waits for what has to end before the process does, and says so in the log if that takes long. Main thread.
import type { Log } from './log.js';

const LATE_MS = 10_000;

/** Resolves and rejects with `ending`; after ten seconds the log has a warning that names it. */
export async function untilEnded(log: Pick<Log, 'warn'>, what: string, ending: Promise<unknown>): Promise<void> {
  const late = setTimeout(() => log.warn({ waitsFor: what }, 'the server is still stopping'), LATE_MS);
  await ending.finally(() => clearTimeout(late));
}
