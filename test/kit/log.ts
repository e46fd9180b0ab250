// Logs for tests: one that discards everything, and one that keeps what is logged at level error.
import type { Log } from '../../src/base/log.js';

export const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** `faults` receives each message logged at level error, followed by its fields. */
export function faultLog(): { log: Log; faults: string[] } {
  const faults: string[] = [];
  const error: Log['error'] = (fields, message) => void faults.push(`${message} ${JSON.stringify(fields)}`);
  return { log: { ...SILENT, error }, faults };
}
