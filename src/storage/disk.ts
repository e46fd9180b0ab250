// What a failed write says of the disk. Full: the write is refused, the next one is tried like any other. Anything else
// (EIO of a write or of a sync, EROFS): the environment takes no more writes. A kernel that could not write pages takes
// them for clean, and a later sync says nothing of them; so no commit after a failed one is believed in the same
// environment. When the disk takes writes again, the owner ends itself, and the next one opens anew. And names in
// directories that survive a power cut. The state: the thread that owns the environment. Names: any thread.
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../api/errors.js';
import { AssertionFailed } from '../base/assert.js';
import { DamagedRecord } from './damage.js';

/** Between two looks at a disk that has failed. */
const PROBE_PAUSE_MS = 1000;
/** LMDB tells a write that found room for a part of it as EIO: below so much free space it is taken for what it is. */
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
 * What LMDB notices of pages that make no sense. The map of an environment is never made larger: a meta page that says
 * so is damaged.
 */
const DAMAGE: ReadonlySet<number> = new Set([
  MDB.PAGE_NOTFOUND,
  MDB.CORRUPTED,
  MDB.CURSOR_FULL,
  MDB.PAGE_FULL,
  MDB.MAP_RESIZED,
]);

/** As node-lmdb throws it: an errno, or one of LMDB's own. */
const codeOf = (error: unknown): number | undefined =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'number'
    ? (error as unknown as { code: number }).code
    : undefined;

export class DiskState {
  private hasFailed = false;
  private probedAtMs = 0;

  /** `environment`: as it is told of. */
  constructor(
    private readonly directory: string,
    private readonly environment: string,
  ) {}

  /**
   * Throws `storage_failed` while writes are not taken; AssertionFailed, which ends the owner, when they could be
   * again.
   */
  admit(): void {
    if (!this.hasFailed) return;
    const nowMs = performance.now();
    if (nowMs - this.probedAtMs >= PROBE_PAUSE_MS) {
      this.probedAtMs = nowMs;
      if (this.takesWrites())
        throw new AssertionFailed(`${this.environment}: the disk takes writes again, the environment is opened anew`);
    }
    throw new AppError('storage_failed', undefined, { retryAfterS: 1 });
  }

  /** Runs `work`, and tells what it fails with. */
  guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.told(error);
    }
  }

  /** No writes until it has been opened anew. */
  fail(): void {
    this.hasFailed = true;
    this.probedAtMs = performance.now();
  }

  /** The error to tell in place of one that a transaction has failed with. */
  told(error: unknown): unknown {
    const code = codeOf(error);
    if (code === undefined) return error;
    if (DAMAGE.has(code)) return this.damaged();
    if (code === MDB.PANIC)
      return new AssertionFailed(
        `${this.environment}: the end of a commit could not be written, the environment is opened anew`,
      );
    if (code === MDB.MAP_FULL || code === ENOSPC || code === EDQUOT || (code === EIO && this.hasLittleSpace()))
      return new AppError('storage_full', undefined, { retryAfterS: 1 });
    if (code < 0) return error;
    this.fail();
    return new AppError('storage_failed', undefined, { retryAfterS: 1 });
  }

  /**
   * The same within a transaction that nothing has failed in before: where the page that names the tables is damaged,
   * LMDB takes it for a bad one.
   */
  toldWithin(error: unknown): unknown {
    return codeOf(error) === MDB.BAD_TXN ? this.damaged() : this.told(error);
  }

  private damaged(): DamagedRecord {
    return new DamagedRecord(`${this.environment}: pages of the store make no sense`, {
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

/** Makes names in a directory durable: a new file survives a power cut only when its directory has been synced too. */
export function syncDirectory(path: string): void {
  syncAndClose(openSync(path, 'r'));
}

/** False where one of them could not be. */
export function areSynced(paths: readonly string[]): boolean {
  try {
    for (const path of paths) syncDirectory(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * Makes a directory and what `fill` puts into it, under another name until that is synced: LMDB cannot open files whose
 * first pages a power cut has torn.
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
