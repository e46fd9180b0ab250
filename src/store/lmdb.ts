// The one door to node-lmdb: environments, tables of byte keys and byte values, transactions.
// Thread rule: one thread owns an environment and alone writes to it; others may attach to read. node-lmdb shares an environment
// that is open twice in a process and its first close frees it for all (0.10.1), so a worker that takes over from a dead one opens,
// closes and opens again: what the dead one left (a half-written transaction, reader slots) goes with the first handle.
// Every commit is synced to disk before it returns; noSync, which may corrupt at a power cut, is never used.
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { assert } from '../base/assert.js';
import { AppError } from '../contract/errors.js';
import { syncDirectory } from './sync.js';
import type { Table, Tables } from './tables.js';
import { entriesBelow, entriesFrom, keysFrom, type ByteCursor } from './walk.js';

// node-lmdb is CommonJS without static exports: an import statement would only give its default.
const lmdb = createRequire(import.meta.url)('node-lmdb') as typeof import('node-lmdb');
type LmdbTxn = import('node-lmdb').Txn;
type LmdbDbi = import('node-lmdb').Dbi;

const BYTE_KEYS = { keyIsBuffer: true } as const;
/** Address space, not disk: the file grows with what is written. */
const MAP_BYTES = 2 ** 39;

/** The library would read freed memory. */
const CLOSED = 'a closed environment is not used';

export class Environment<Names extends string> {
  private isClosed = false;

  private constructor(
    private readonly env: import('node-lmdb').Env,
    private readonly dbis: Record<Names, LmdbDbi>,
  ) {}

  /** Opens or makes the environment in `directory` with the named tables. `takeOver`: a thread that died had it open. */
  static open<Names extends string>(directory: string, names: readonly Names[], takeOver: boolean): Environment<Names> {
    mkdirSync(directory, { recursive: true });
    if (takeOver) openEnv(directory, names.length).close();
    const env = openEnv(directory, names.length);
    for (const path of [directory, dirname(directory)]) syncDirectory(path);
    const dbis = {} as Record<Names, LmdbDbi>;
    for (const name of names) dbis[name] = env.openDbi({ name, create: true, ...BYTE_KEYS });
    return new Environment(env, dbis);
  }

  /**
   * Reads along in an environment that its owner has open in this process, and will not close before this thread has stopped reading.
   * It is never closed by the one that attached: the library keeps a handle until then, and frees nothing when the thread ends.
   */
  static attach<Names extends string>(directory: string, names: readonly Names[]): Environment<Names> {
    const env = openEnv(directory, names.length);
    const dbis = {} as Record<Names, LmdbDbi>;
    // Open already: a read transaction finds it and changes nothing.
    for (const name of names) dbis[name] = env.openDbi({ name, create: false, ...BYTE_KEYS });
    return new Environment(env, dbis);
  }

  /** Runs `work` in one write transaction and commits it with sync; anything thrown aborts it whole. */
  write<T>(work: (tables: Tables<Names>) => T): T {
    assert(!this.isClosed, CLOSED);
    const txn = this.env.beginTxn();
    try {
      const result = work(this.tables(txn));
      txn.commit();
      return result;
    } catch (error) {
      abort(txn);
      throw asStorageError(error);
    }
  }

  /** Runs `work` on one snapshot. */
  read<T>(work: (tables: Tables<Names>) => T): T {
    const { tables, end } = this.snapshot();
    try {
      return work(tables);
    } finally {
      end();
    }
  }

  /** What was committed before; to be ended once. */
  snapshot(): { tables: Tables<Names>; end: () => void } {
    assert(!this.isClosed, CLOSED);
    const txn = this.env.beginTxn({ readOnly: true });
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
    for (const name of Object.keys(this.dbis) as Names[]) tables[name] = openTable(txn, this.dbis[name]);
    return tables;
  }
}

function openEnv(path: string, tables: number): import('node-lmdb').Env {
  const env = new lmdb.Env();
  env.open({ path, mapSize: MAP_BYTES, maxDbs: tables, noMetaSync: false, noSync: false });
  return env;
}

/** A commit that failed has closed its transaction already; aborting it again throws, and there is nothing left to undo. */
function abort(txn: LmdbTxn): void {
  try {
    txn.abort();
  } catch {
    // Closed by the failed commit.
  }
}

function asStorageError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  return /MDB_MAP_FULL|No space left|ENOSPC/.test(message) ? new AppError('storage_full') : error;
}

function openTable(txn: LmdbTxn, dbi: LmdbDbi): Table {
  const openCursor = (): ByteCursor => new lmdb.Cursor(txn, dbi, BYTE_KEYS) as unknown as ByteCursor;
  return {
    get: (key) => txn.getBinary(dbi, key, BYTE_KEYS) ?? undefined,
    has: (key) => txn.getBinary(dbi, key, BYTE_KEYS) !== null,
    put: (key, value) => txn.putBinary(dbi, key, value, BYTE_KEYS),
    delete: (key) => remove(txn, dbi, key),
    entries: (prefix, from = prefix) => entriesFrom(openCursor, prefix, from),
    keys: (prefix) => keysFrom(openCursor, prefix),
    entriesBelow: (prefix, before) => entriesBelow(openCursor, prefix, before),
  };
}

function remove(txn: LmdbTxn, dbi: LmdbDbi, key: Buffer): boolean {
  try {
    txn.del(dbi, key, BYTE_KEYS);
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('MDB_NOTFOUND')) return false;
    throw error;
  }
}
