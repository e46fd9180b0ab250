// How a write transaction of LMDB ends: committed with sync, which is measured, or aborted. Called by lmdb.ts, on the
// thread that owns the environment.
import type { StoreMeter } from '../contract/shared-meters.js';

interface Ending {
  commit(): void;
  abort(): void;
}

interface Measured {
  info(): { lastPageNumber: number };
  stat(): { pageSize: number };
}

/** Returns when it is on the disk. Throws what the library throws, and has counted that. */
export function commit(txn: Ending, env: Measured, meter: StoreMeter | undefined): void {
  const startedAtMs = performance.now();
  try {
    txn.commit();
  } catch (error) {
    meter?.failed();
    throw error;
  }
  meter?.committed(performance.now() - startedAtMs, usedBytes(env));
}

/** How far into the file pages have been used; those that fell free since are among them. */
export const usedBytes = (env: Measured): number => (env.info().lastPageNumber + 1) * env.stat().pageSize;

/**
 * A commit that failed has closed its transaction already; aborting it again throws, and there is nothing left to undo.
 */
export function abort(txn: Ending): void {
  try {
    txn.abort();
  } catch {
    // Closed by the failed commit.
  }
}
