// The one door to node-lmdb: environments, tables of byte keys and byte values, transactions.
// Thread rule: one thread owns an environment and alone writes to it; others may attach to read. node-lmdb shares an
// environment that is open twice in a process and its first close frees it for all (0.10.1), so a worker that takes
// over from a dead one opens, closes and opens again: what the dead one left (a half-written transaction, reader slots)
// goes with the first handle. Another process opens one only while its owner is kept from committing, by the latch
// (docs/internals/lmdb.md says why). Every commit is synced to disk before it returns; noSync, which may corrupt at a power cut, is
// never used. Values stand behind checksums.
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { assert } from '../base/assert.js';
import type { StoreMeter } from '../base/meters.js';
import { type Latch, passing } from '../base/read-gate.js';
import { Checksum } from './damage.js';
import { DiskState, areSynced, makeWhole } from './disk.js';
import { coverPages } from './lmdb-file.js';
import { BYTE_KEYS, type ByteCursor, type ByteTxn, type Tables, checkedTable, openTable, toldTable } from './table.js';

interface Ending {
  commit(): void;
  abort(): void;
}

interface Measured {
  info(): { lastPageNumber: number };
  stat(): { pageSize: number };
}

/** Returns when it is on the disk. Throws what the library throws, and has counted that. */
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

/** How far into the file pages have been used; those that fell free since are among them. */
const usedBytes = (env: Measured): number => (env.info().lastPageNumber + 1) * env.stat().pageSize;

/**
 * A commit that failed has closed its transaction already; aborting it again throws, and there is nothing left to undo.
 */
function abort(txn: Ending): void {
  try {
    txn.abort();
  } catch {
    // Closed by the failed commit.
  }
}

// node-lmdb is CommonJS without static exports: an import statement would only give its default.
const lmdb = createRequire(import.meta.url)('node-lmdb') as typeof import('node-lmdb');
type LmdbTxn = import('node-lmdb').Txn;
type LmdbDbi = import('node-lmdb').Dbi;

/** Address space, not disk: the file grows with what is written. */
export const MAP_BYTES = 2 ** 39;

/** The library would read freed memory. */
const CLOSED = 'a closed environment is not used';

export class Environment<Names extends string> {
  private isClosed = false;
  private readonly checksums: Record<Names, Checksum>;
  private readonly disk: DiskState;

  private constructor(
    directory: string,
    private readonly env: import('node-lmdb').Env,
    private readonly dbis: Record<Names, LmdbDbi>,
    private readonly meter?: StoreMeter,
    private readonly latch?: Latch,
  ) {
    const name = basename(directory);
    this.checksums = Object.fromEntries(Object.keys(dbis).map((table) => [table, new Checksum(name, table)])) as Record<
      Names,
      Checksum
    >;
    this.disk = new DiskState(directory, name);
  }

  /**
   * Opens or makes the environment in `directory` with the named tables. `takeOver`: a thread that died had it open.
   * `latch`: where other processes read along.
   */
  static open<Names extends string>(
    directory: string,
    names: readonly Names[],
    takeOver: boolean,
    meter?: StoreMeter,
    latch?: Latch,
  ): Environment<Names> {
    latch?.reset();
    if (takeOver) openEnv(directory, names.length).close();
    if (!existsSync(join(directory, 'data.mdb'))) makeWhole(directory, (path) => makeEnv(path, names));
    coverPages(directory, MAP_BYTES);
    const env = openEnv(directory, names.length);
    const opened = new Environment(directory, env, openTables(env, names, true), meter, latch);
    meter?.opened(usedBytes(env));
    // A disk that does not take it may have what is to be read.
    if (!areSynced([directory, dirname(directory)])) opened.disk.fail();
    return opened;
  }

  /**
   * Reads along in an environment that its owner has open in this process, and will not close before this thread has
   * stopped reading. It is never closed by the one that attached: the library keeps a handle until then, and frees
   * nothing when the thread ends.
   */
  static attach<Names extends string>(directory: string, names: readonly Names[]): Environment<Names> {
    const env = openEnv(directory, names.length);
    // Open already: a read transaction finds it and changes nothing.
    return new Environment(directory, env, openTables(env, names, false));
  }

  /**
   * Reads along in an environment of another process, which may close it or die meanwhile. It makes no commit while
   * this runs: see `latch`.
   */
  static openToRead<Names extends string>(directory: string, names: readonly Names[]): Environment<Names> {
    const env = openEnv(directory, names.length, true);
    return new Environment(directory, env, openTables(env, names, false));
  }

  /**
   * Runs `work` in one write transaction and commits it with sync; anything thrown aborts it whole. Throws
   * `storage_full`, and `storage_failed` (disk.ts) from a commit that failed on until the environment has been opened
   * anew.
   */
  write<T>(work: (tables: Tables<Names>) => T): T {
    assert(!this.isClosed, CLOSED);
    return passing(this.latch, () => {
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

  /** What was committed before; to be ended once. */
  snapshot(): { tables: Tables<Names>; end: () => void } {
    assert(!this.isClosed, CLOSED);
    const txn = this.disk.guard(() => this.env.beginTxn({ readOnly: true }));
    return { tables: this.tables(txn), end: () => txn.abort() };
  }

  /** Exactly once, by the owner, when nothing runs on it any more. */
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
      tables[name] = checkedTable(toldTable(raw, this.disk), this.checksums[name]);
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
