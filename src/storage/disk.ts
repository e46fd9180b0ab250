// How failed writes are classified, and how names in directories become durable. If the disk is full, the write fails
// and the next one is tried as usual. After any other failure (EIO of a write or a sync, EROFS) the environment accepts
// no more writes: a kernel that could not write pages marks them clean, and a later sync reports nothing, so no later
// commit in the same environment can be trusted. When the disk accepts writes again, the owner ends, and the next one
// opens the environment again. DiskState: on the thread that owns the environment. Functions for names: any thread.
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../api/errors.js';
import { AssertionFailed } from '../base/assert.js';
import { DamagedRecord } from './damage.js';

/** Minimum pause between two probes of a failed disk, in milliseconds. */
const PROBE_PAUSE_MS = 1000;
/** LMDB reports a partial write as EIO. If less than this is free, EIO is taken for a full disk. */
const LITTLE_SPACE_BYTES = 16 << 20;
const PROBE_BYTES = 4096;
const { ENOSPC, EDQUOT, EIO } = constants.errno;
const MDB = {
  PAGE_NOTFOUND: -30797,
  CORRUPTED: -30796,
  PANIC: -30795,
  MAP_FULL: -30792,
  CURSOR_FULL: -30787,
  PAGE_FULL: -30786,
  MAP_RESIZED: -30785,
  BAD_TXN: -30782,
};
/**
 * LMDB errors that malformed pages cause. The map of an environment is never enlarged, so MAP_RESIZED means a damaged
 * meta page.
 */
const DAMAGE: ReadonlySet<number> = new Set([
  MDB.PAGE_NOTFOUND,
  MDB.CORRUPTED,
  MDB.CURSOR_FULL,
  MDB.PAGE_FULL,
  MDB.MAP_RESIZED,
]);

/** The error code that node-lmdb sets: an errno, or one of LMDB's own. */
const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'number'
    ? (error as unknown as { code: number }).code
    : undefined;

/** Whether the environment has to be opened again, because the meta page of a commit could not be written. */
export const isPanic = (error: unknown): boolean => codeOf(error) === MDB.PANIC;

/** Whether the disk of one environment accepts writes. */
export class DiskState {
  private hasFailed = false;
  private probedAtMs = 0;

  /** `environment`: the name for error messages. */
  constructor(
    private readonly directory: string,
    private readonly environment: string,
  ) {}

  /**
   * Call it before a write. Throws AppError `storage_failed` while writes are not accepted. Once the disk accepts them
   * again it throws AssertionFailed, which ends the owner.
   */
  admit(): void {
    if (!this.hasFailed) return;
    const nowMs = performance.now();
    if (nowMs - this.probedAtMs >= PROBE_PAUSE_MS) {
      this.probedAtMs = nowMs;
      if (this.takesWrites())
        throw new AssertionFailed(
          `${this.environment}: the disk accepts writes again; the environment must be opened again`,
        );
    }
    throw new AppError('storage_failed', undefined, { retryAfterS: 1 });
  }

  /** Runs `work`, mapping its errors with `told`. */
  guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.told(error);
    }
  }

  /** Refuses writes until the environment is opened again. */
  fail(): void {
    this.hasFailed = true;
    this.probedAtMs = performance.now();
  }

  /** Maps an error of a transaction to the error to throw instead. */
  told(error: unknown): unknown {
    const code = codeOf(error);
    if (code === undefined) return error;
    if (DAMAGE.has(code)) return this.damaged();
    if (isPanic(error))
      return new AssertionFailed(
        `${this.environment}: the meta page of a commit could not be written; the environment must be opened again`,
      );
    if (code === MDB.MAP_FULL || code === ENOSPC || code === EDQUOT || (code === EIO && this.hasLittleSpace()))
      return new AppError('storage_full', undefined, { retryAfterS: 1 });
    if (code < 0) return error;
    this.fail();
    return new AppError('storage_failed', undefined, { retryAfterS: 1 });
  }

  /**
   * The same for an error inside a transaction without earlier failures. If the page with the table names is damaged,
   * LMDB reports a bad transaction.
   */
  reportedWithin(error: unknown): unknown {
    return codeOf(error) === MDB.BAD_TXN ? this.damaged() : this.told(error);
  }

  private damaged(): DamagedRecord {
    return new DamagedRecord(`${this.environment}: pages of the store are malformed`, {
      environment: this.environment,
      table: '',
      key: Buffer.alloc(0),
    });
  }

  private hasLittleSpace(): boolean {
    try {
      const { bavail, bsize } = statfsSync(this.directory);
      return bavail * bsize < LITTLE_SPACE_BYTES;
    } catch {
      return false;
    }
  }

  private takesWrites(): boolean {
    const probe = join(this.directory, '.probe');
    try {
      const handle = openSync(probe, 'w');
      writeSync(handle, Buffer.alloc(PROBE_BYTES));
      syncAndClose(handle);
      rmSync(probe);
      syncAndClose(openSync(join(this.directory, 'data.mdb'), 'r+'));
      return true;
    } catch {
      return false;
    }
  }
}

function syncAndClose(handle: number): void {
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Syncs a directory. A new file survives a power failure only if its directory has been synced too. */
export function syncDirectory(path: string): void {
  syncAndClose(openSync(path, 'r'));
}

/** Syncs directories. Returns false if that failed for any of them. */
export function areSynced(paths: readonly string[]): boolean {
  try {
    for (const path of paths) syncDirectory(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Creates a directory with the contents that `fill` writes. It has a temporary name until it is synced, because LMDB
 * cannot open files whose first pages a power failure has torn.
 */
export function makeWhole(directory: string, fill: (path: string) => void): void {
  const making = `${directory}.making`;
  rmSync(making, { recursive: true, force: true });
  mkdirSync(making, { recursive: true });
  fill(making);
  syncDirectory(making);
  rmSync(directory, { recursive: true, force: true });
  renameSync(making, directory);
}
