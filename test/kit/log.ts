// Logs for tests: one that says nothing, and one that keeps what was logged at level error.
import type { Log } from '../../src/base/log.js';

export const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** `faults`: what was logged at level error, the message first. */
export function faultLog(): { log: Log; faults: string[] } {
  const faults: string[] = [];
  const error: Log['error'] = (fields, message) => void faults.push(`${message} ${JSON.stringify(fields)}`);
  return { log: { ...SILENT, error }, faults };
}
