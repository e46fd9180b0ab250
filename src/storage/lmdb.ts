// The only module that uses node-lmdb: environments, tables of byte keys and byte values, transactions. Thread rule:
// one thread owns an environment and alone writes to it; other threads may attach to read. node-lmdb (0.10.1) shares an
// environment that is opened twice in a process, and the first close frees it for all. A worker that takes over from a
// dead one therefore opens, closes and opens again: whatever the dead one left (a half-written transaction, reader
// slots) is released with the first handle. Another process may open an environment only while its owner is kept from
// committing by the read gate (see docs/internals/lmdb.md). Every commit is synced to disk before it returns; noSync,
// which can corrupt the file at a power failure, is never used. Values are protected by checksums.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { AppError } from '../api/errors.js';
import { assert } from '../base/assert.js';
import type { StoreMeter } from '../base/meters.js';
import { type ReadGate, throughGate } from '../base/read-gate.js';
import { Checksum } from './damage.js';
import { DiskState, areSynced, isPanic, makeWhole } from './disk.js';
import { coverPages } from './lmdb-file.js';
import {
  BYTE_KEYS,
  type ByteCursor,
  type ByteTxn,
  type Tables,
  checkedTable,
  openTable,
  reportingTable,
} from './table.js';

interface Ending {
  commit(): void;
  abort(): void;
}

interface Measured {
  info(): { lastPageNumber: number };
  stat(): { pageSize: number };
}

/** Commits and returns when the data is on disk. Counts failures, and throws what the library throws. */
function commit(txn: Ending, env: Measured, meter: StoreMeter | undefined): void {
  const startedAtMs = performance.now();
  try {
    txn.commit();
  } catch (error) {
    meter?.failed();
    throw error;
  }
  meter?.committed(performance.now() - startedAtMs, usedBytes(env));
}

/** Bytes of the file up to the last page ever used, including pages that are free again. */
const usedBytes = (env: Measured): number => (env.info().lastPageNumber + 1) * env.stat().pageSize;

/**
 * Aborts a transaction. A failed commit has already closed it; aborting it again throws, and there is nothing left to
 * undo.
 */
function abort(txn: Ending): void {
  try {
    txn.abort();
  } catch {
    // The failed commit has closed the transaction.
  }
}

// node-lmdb is CommonJS without static exports, so an import statement would only give its default export.
const lmdb = createRequire(import.meta.url)('node-lmdb') as typeof import('node-lmdb');
type LmdbTxn = import('node-lmdb').Txn;
type LmdbDbi = import('node-lmdb').Dbi;

/** Size of the memory map: address space, not disk. The file grows with its contents. */
export const MAP_BYTES = 2 ** 39;

/**
 * Places for readers in an environment: one for each read transaction that a thread keeps, and one for each that a dead
 * thread left behind. The lock file has 64 bytes for each. It is made longer where nobody has it open, so the
 * environments of older versions get as many; who finds it open takes what is there.
 */
export const READERS_MAX = 4096;

/** Using a closed environment would make the library read freed memory. */
const CLOSED = 'a closed environment is not used';

/** A read transaction that is kept: reset at the end of a snapshot, and renewed for the next one. */
interface KeptTxn<Names extends string> {
  readonly txn: LmdbTxn;
  readonly tables: Tables<Names>;
}

/**
 * An open LMDB environment with named tables.
 *
 * Its read transactions are kept. To begin one takes a mutex that all threads and processes share and a walk through
 * the table of readers; to renew one takes neither. A transaction that is reset keeps its place among the readers, and
 * pins no pages.
 */
export class Environment<Names extends string> {
  private isClosed = false;
  /** Kept transactions that are reset. There are as many as this thread ever had snapshots open at once. */
  private readonly idle: KeptTxn<Names>[] = [];
  /**
   * Every kept transaction. The array hangs on the library's handle, which refers to itself until it is closed, and an
   * attached one never is: so no transaction is ever collected. The library would abort it then, in an environment that
   * its owner may have closed and freed.
   */
  private readonly kept: LmdbTxn[] = [];
  private readonly checksums: Record<Names, Checksum>;
  private readonly disk: DiskState;

  private constructor(
    directory: string,
    private readonly env: import('node-lmdb').Env,
    private readonly dbis: Record<Names, LmdbDbi>,
    private readonly meter?: StoreMeter,
    private readonly gate?: ReadGate,
  ) {
    const name = basename(directory);
    this.checksums = Object.fromEntries(Object.keys(dbis).map((table) => [table, new Checksum(name, table)])) as Record<
      Names,
      Checksum
    >;
    this.disk = new DiskState(directory, name);
    Object.assign(env, { kept: this.kept });
  }

  /**
   * Opens or creates the environment in `directory` with the named tables. `takeOver`: a thread that has died had it
   * open. `gate`: the read gate, if other processes may read the environment.
   */
  static open<Names extends string>(
    directory: string,
    names: readonly Names[],
    takeOver: boolean,
    meter?: StoreMeter,
    gate?: ReadGate,
  ): Environment<Names> {
    gate?.reset();
    if (takeOver) openEnv(directory, names.length).close();
    if (!existsSync(join(directory, 'data.mdb'))) makeWhole(directory, (path) => makeEnv(path, names));
    coverPages(directory, MAP_BYTES);
    const env = openEnv(directory, names.length);
    const opened = new Environment(directory, env, openTables(env, names, true), meter, gate);
    meter?.opened(usedBytes(env));
    // A disk that does not take writes can still be read from.
    if (!areSynced([directory, dirname(directory)])) opened.disk.fail();
    return opened;
  }

  /**
   * Attaches to read an environment that its owner has open in this process, and does not close before this thread has
   * stopped reading. The attached environment is never closed: the library keeps its handle until the owner closes, and
   * frees nothing when the thread ends. Throws AppError `shard_unavailable` while the owner has to open the environment
   * again, because a commit of its meta page has failed.
   */
  static attach<Names extends string>(directory: string, names: readonly Names[]): Environment<Names> {
    const env = openEnv(directory, names.length);
    try {
      // The tables are open already, so a read transaction finds them and changes nothing.
      return new Environment(directory, env, openTables(env, names, false));
    } catch (error) {
      throw isPanic(error) ? new AppError('shard_unavailable', undefined, { retryAfterS: 1 }) : error;
    }
  }

  /**
   * Opens an environment of another process for reading. That process may close it or die meanwhile; the read gate
   * keeps it from committing while this one reads.
   */
  static openToRead<Names extends string>(directory: string, names: readonly Names[]): Environment<Names> {
    const env = openEnv(directory, names.length, true);
    return new Environment(directory, env, openTables(env, names, false));
  }

  /**
   * Runs `work` in one write transaction and commits it with sync. An exception aborts the whole transaction. Throws
   * AppError `storage_full`; after a commit has failed, throws `storage_failed` (disk.ts) until the environment has
   * been opened again.
   */
  write<T>(work: (tables: Tables<Names>) => T): T {
    assert(!this.isClosed, CLOSED);
    return throughGate(this.gate, () => {
      this.disk.admit();
      const txn = this.disk.guard(() => this.env.beginTxn());
      try {
        const result = work(this.tables(txn));
        commit(txn, this.env, this.meter);
        return result;
      } catch (error) {
        abort(txn);
        throw this.disk.told(error);
      }
    });
  }

  /** Runs `work` on one snapshot. */
  read<T>(work: (tables: Tables<Names>) => T): T {
    const { tables, end } = this.snapshot();
    try {
      return this.disk.guard(() => work(tables));
    } finally {
      end();
    }
  }

  /** A snapshot of what has been committed. `end` must be called exactly once. */
  snapshot(): { tables: Tables<Names>; end: () => void } {
    assert(!this.isClosed, CLOSED);
    const kept = this.disk.guard(() => this.renewed() ?? this.begun());
    return {
      tables: kept.tables,
      end: () => {
        kept.txn.reset();
        this.idle.push(kept);
      },
    };
  }

  /**
   * Writes a copy of the environment, as of one moment and without free pages, to a new file `data.mdb` in `directory`.
   * Other work goes on meanwhile. Rejects if the file is there, or the disk does not take it.
   */
  copyTo(directory: string): Promise<void> {
    assert(!this.isClosed, CLOSED);
    return new Promise((resolve, reject) => {
      this.env.copy(directory, true, (error: Error | null) => (error ? reject(error) : resolve()));
    });
  }

  /**
   * Closes the environment. The owner calls it exactly once, when no snapshot is open any more. The library aborts what
   * this handle has kept; what other threads have kept they must never touch again.
   */
  close(): void {
    assert(!this.isClosed, 'an environment is closed once');
    this.isClosed = true;
    this.env.close();
  }

  private renewed(): KeptTxn<Names> | undefined {
    const kept = this.idle.at(-1);
    kept?.txn.renew();
    if (kept) this.idle.pop();
    return kept;
  }

  private begun(): KeptTxn<Names> {
    const txn = this.env.beginTxn({ readOnly: true });
    this.kept.push(txn);
    return { txn, tables: this.tables(txn) };
  }

  private tables(txn: LmdbTxn): Tables<Names> {
    const tables = {} as Tables<Names>;
    for (const name of Object.keys(this.dbis) as Names[]) {
      const openCursor = (): ByteCursor => new lmdb.Cursor(txn, this.dbis[name], BYTE_KEYS) as unknown as ByteCursor;
      const raw = openTable(txn as unknown as ByteTxn<LmdbDbi>, this.dbis[name], openCursor);
      tables[name] = checkedTable(reportingTable(raw, this.disk), this.checksums[name]);
    }
    return tables;
  }
}

function openEnv(path: string, tables: number, readOnly = false): import('node-lmdb').Env {
  const env = new lmdb.Env();
  env.open({
    path,
    mapSize: MAP_BYTES,
    maxDbs: tables,
    maxReaders: READERS_MAX,
    readOnly,
    noMetaSync: false,
    noSync: false,
  });
  return env;
}

function openTables<Names extends string>(
  env: import('node-lmdb').Env,
  names: readonly Names[],
  create: boolean,
): Record<Names, LmdbDbi> {
  return Object.fromEntries(names.map((name) => [name, env.openDbi({ name, create, ...BYTE_KEYS })])) as Record<
    Names,
    LmdbDbi
  >;
}

function makeEnv(directory: string, names: readonly string[]): void {
  const env = openEnv(directory, names.length);
  openTables(env, names, true);
  env.close();
}
