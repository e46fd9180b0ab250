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
import { assert } from '../base/assert.js';
import type { StoreMeter } from '../base/meters.js';
import { type ReadGate, throughGate } from '../base/read-gate.js';
import { Checksum } from './damage.js';
import { DiskState, areSynced, makeWhole } from './disk.js';
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

/** Using a closed environment would make the library read freed memory. */
const CLOSED = 'a closed environment is not used';

/** An open LMDB environment with named tables. */
export class Environment<Names extends string> {
  private isClosed = false;
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
   * frees nothing when the thread ends.
   */
  static attach<Names extends string>(directory: string, names: readonly Names[]): Environment<Names> {
    const env = openEnv(directory, names.length);
    // The tables are open already, so a read transaction finds them and changes nothing.
    return new Environment(directory, env, openTables(env, names, false));
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
    const txn = this.disk.guard(() => this.env.beginTxn({ readOnly: true }));
    return { tables: this.tables(txn), end: () => txn.abort() };
  }

  /** Closes the environment. The owner calls it exactly once, when no transaction is open any more. */
  close(): void {
    assert(!this.isClosed, 'an environment is closed once');
    this.isClosed = true;
    this.env.close();
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
  env.open({ path, mapSize: MAP_BYTES, maxDbs: tables, readOnly, noMetaSync: false, noSync: false });
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
