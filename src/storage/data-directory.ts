// The data directory: the names of its contents, its creation, the check that this server can use it, and its lock
// against other processes. It stores what is fixed at creation (layout version, number of shards). Names: any thread.
// The directory itself: the main thread, or a command-line process.
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type Server, createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { crc32 } from 'node:zlib';
import typia, { type tags } from 'typia';
import { SHARDS_MAX } from '../api/limits.js';
import { LOG_STORES_MAX } from '../base/meters.js';
import { OperatorError } from '../base/operator-error.js';
import { syncDirectory } from './disk.js';
// The main thread keeps node-lmdb loaded for the lifetime of the process. Otherwise the last worker to end would
// unload the library before its objects are collected; without this import, test/unit/service/query-log.test.ts crashed
// in every third run.
import './lmdb.js';

export const CATALOG = 'catalog';
export const QUERY_LOG = 'query-log';
export const CHECKPOINTS = 'checkpoints';
/** For uploaded files, and copies of backups that are restored; emptied when the server starts. */
export const TEMPORARY = 'sheaf-tmp';

/** Name of a shard's environment, and of its folder of checkpoints. */
export const shardName = (shard: number): string => `shard-${shard}`;
export const shardNames = (shards: number): string[] => Array.from({ length: shards }, (_, shard) => shardName(shard));

/** Name of the environment of a store of the query log. The first has the name that a single one always had. */
export const logName = (store: number): string => (store === 0 ? QUERY_LOG : `${QUERY_LOG}-${store}`);

const LOG_NAMES: readonly string[] = Array.from({ length: LOG_STORES_MAX }, (_, store) => logName(store));

/** The stores of the query log that a data directory has, and the first one in any case. */
export const storedLogs = (directory: string): string[] =>
  LOG_NAMES.filter((name) => name === QUERY_LOG || existsSync(join(directory, name, 'data.mdb')));

/** All stores of the query log where `writers` log workers write: those, and what more workers have left behind. */
export const logNames = (directory: string, writers: number): string[] =>
  LOG_NAMES.slice(0, Math.max(writers, 1 + LOG_NAMES.indexOf(storedLogs(directory).at(-1) as string)));

export const shardPath = (directory: string, shard: number): string => join(directory, shardName(shard));
/** Folder of a shard's checkpoints. */
export const checkpointPath = (directory: string, shard: number): string =>
  join(directory, CHECKPOINTS, shardName(shard));

const IDENTITY = 'sheaf.json';
/**
 * Version 2 added checksums to all values, version 3 the spread of collections. A server that does not know spreads would
 * look for documents in the wrong shards, so a directory of version 2 becomes one of version 3 when it is served.
 */
const LAYOUT_VERSION = 3;
const LAYOUT_BEFORE_SPREADS = 2;

interface Identity {
  magic: 'sheaf';
  layout: number;
  shards: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<64>;
  /** CRC-32 of the other fields. */
  checksum: number;
}

const checksumOf = ({ magic, layout, shards }: Omit<Identity, 'checksum'>): number =>
  crc32(`${magic} ${layout} ${shards}`);

/** The data directory cannot be used; the message says why. */
export class DataDirectoryError extends OperatorError {
  override readonly name = 'DataDirectoryError';
}

/** An open data directory, locked for this process. */
export interface DataDirectory {
  readonly path: string;
  readonly shards: number;
  /** Releases the lock, so that another process can use the directory. */
  release(): void;
}

/**
 * Opens or creates the data directory. A new one gets `shards` shards; if that is undefined, none is created. An
 * existing one keeps its number of shards, and is marked as one that this version has served. Throws DataDirectoryError; a folder that is not a data directory is left
 * unchanged.
 */
export async function openDataDirectory(path: string, shards?: number): Promise<DataDirectory> {
  assertOurs(path, shards === undefined);
  makeWritable(path);
  const real = realpathSync(path);
  const lock = await hold(real);
  try {
    const found = readIdentity(real);
    const identity = found ?? makeIdentity(real, Math.min(shards as number, SHARDS_MAX));
    if (identity.layout !== LAYOUT_VERSION && shards !== undefined) makeIdentity(real, identity.shards);
    assertCatalog(real, identity.shards);
    return {
      path: real,
      shards: identity.shards,
      release: () => lock.close(),
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

/**
 * Names that a folder may contain before it becomes a data directory: from an operator, a file system, or an
 * interrupted start.
 */
const BEFORE_IDENTITY = /^(admin\.key|lost\+found|sheaf\.json\.new|\.probe-\d+)$/;

/**
 * Why a folder cannot be a data directory, as a sentence; undefined if it can. A folder with contents that no Sheaf
 * server has written is rejected.
 */
export function whyForeign(path: string, mustBeThere = false): string | undefined {
  const entries = entriesOf(path);
  if (entries?.includes(IDENTITY)) return undefined;
  const ours = entries?.filter((name) => /^(catalog|shard-\d+)$/.test(name)) ?? [];
  if (ours.length > 0)
    return `${path} has ${ours.sort().join(', ')}, but no ${IDENTITY}: restore that file from a backup`;
  if (mustBeThere) return `${path} is not a data directory: it has no ${IDENTITY}`;
  if (entries?.every((name) => BEFORE_IDENTITY.test(name)) ?? true) return undefined;
  return `${path} is not empty and not a data directory: set SHEAF_DATA_DIR, or data_dir in sheaf.yaml, to an empty or new folder`;
}

/** undefined if the folder cannot be read; `makeWritable` then reports the reason. */
function entriesOf(path: string): string[] | undefined {
  try {
    return readdirSync(path);
  } catch {
    return undefined;
  }
}

function assertOurs(path: string, mustBeThere: boolean): void {
  const why = whyForeign(path, mustBeThere);
  if (why !== undefined) throw new DataDirectoryError(`data_dir ${why}`);
}

function makeWritable(path: string): void {
  try {
    // Not always recursive: if the file system reports ENOENT below an existing directory (/proc), Node 20 retries for
    // ever.
    if (!existsSync(path)) mkdirSync(path, { recursive: !existsSync(dirname(resolve(path))) });
    const probe = join(path, `.probe-${process.pid}`);
    writeFileSync(probe, '');
    rmSync(probe);
  } catch (error) {
    throw new DataDirectoryError(
      `data_dir ${path} is not writable (${(error as NodeJS.ErrnoException).code}): choose another with SHEAF_DATA_DIR or data_dir in sheaf.yaml`,
    );
  }
}

/**
 * Locks the directory by an abstract socket (Linux) named after its inode. The kernel releases it however the process
 * ends, so the lock is never stale.
 */
function hold(path: string): Promise<Server> {
  const { dev, ino } = statSync(path);
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () =>
      reject(
        new DataDirectoryError(
          `data_dir ${path} is in use by another sheaf process: stop it, or choose another directory with SHEAF_DATA_DIR`,
        ),
      ),
    );
    server.listen(`\0sheaf-${dev}-${ino}`, () => resolve(server.unref()));
  });
}

/**
 * The catalog is created before any shard. Without it, collection ids would be assigned again that shards still have
 * documents of.
 */
function assertCatalog(path: string, shards: number): void {
  const has = (environment: string): boolean => existsSync(join(path, environment, 'data.mdb'));
  const present = shardNames(shards).filter(has);
  if (present.length > 0 && !has(CATALOG))
    throw new DataDirectoryError(
      `${path} has ${present.join(', ')}, but no catalog: restore its folder catalog from a backup`,
    );
}

function readIdentity(path: string): Identity | undefined {
  const file = join(path, IDENTITY);
  if (!existsSync(file)) return undefined;
  let identity: unknown;
  try {
    identity = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    identity = undefined;
  }
  if (typia.is<Pick<Identity, 'magic' | 'layout'>>(identity) && !isReadable(identity)) {
    throw new DataDirectoryError(
      `${file} has layout ${identity.layout}; this server reads layouts ${LAYOUT_BEFORE_SPREADS} and ${LAYOUT_VERSION}`,
    );
  }
  if (!typia.is<Identity>(identity) || identity.checksum !== checksumOf(identity))
    throw new DataDirectoryError(`${file} is damaged: it must contain magic, layout and shards, with their checksum`);
  return identity;
}

const isReadable = ({ layout }: Pick<Identity, 'layout'>): boolean =>
  layout === LAYOUT_VERSION || layout === LAYOUT_BEFORE_SPREADS;

function makeIdentity(path: string, shards: number): Identity {
  const named = { magic: 'sheaf', layout: LAYOUT_VERSION, shards } as const;
  const identity: Identity = { ...named, checksum: checksumOf(named) };
  const file = join(path, IDENTITY);
  const handle = openSync(`${file}.new`, 'w', 0o644);
  writeFileSync(handle, `${JSON.stringify(identity)}\n`);
  fsyncSync(handle);
  closeSync(handle);
  renameSync(`${file}.new`, file);
  syncDirectory(path);
  return identity;
}
