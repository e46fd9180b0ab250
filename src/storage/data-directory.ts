// The data directory: the names of what it holds, and how it is made, checked for whether this server can use it, and
// held for one process. It remembers what is fixed when it is made (layout version, number of shards). Names: any
// thread. The directory itself: the front thread, or a command line.
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
import { OperatorError } from '../base/operator-error.js';
import { syncDirectory } from './disk.js';
// The front thread keeps node-lmdb loaded for as long as the process lives: the last worker to end would unload the
// library first and collect what was made by it after. Without this, test/unit/service/query-log.test.ts crashed in
// every third run.
import './lmdb.js';

export const CATALOG = 'catalog';
export const QUERY_LOG = 'query-log';
export const CHECKPOINTS = 'checkpoints';

/** Of the environment of a shard, and of its folder of checkpoints. */
export const shardName = (shard: number): string => `shard-${shard}`;
export const shardNames = (shards: number): string[] => Array.from({ length: shards }, (_, shard) => shardName(shard));

export const shardPath = (directory: string, shard: number): string => join(directory, shardName(shard));
/** Of a shard. */
export const checkpointPath = (directory: string, shard: number): string =>
  join(directory, CHECKPOINTS, shardName(shard));

const IDENTITY = 'sheaf.json';
/** 2: checksums behind all values. */
const LAYOUT_VERSION = 2;

interface Identity {
  magic: 'sheaf';
  layout: number;
  shards: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<64>;
  /** CRC-32 of the others. */
  checksum: number;
}

const checksumOf = ({ magic, layout, shards }: Omit<Identity, 'checksum'>): number =>
  crc32(`${magic} ${layout} ${shards}`);

/** A reason why the directory cannot be used. */
export class DataDirectoryError extends OperatorError {
  override readonly name = 'DataDirectoryError';
}

export interface DataDirectory {
  readonly path: string;
  readonly shards: number;
  /** Lets another process have it. */
  release(): void;
}

/**
 * Opens or makes the directory. A new one gets `shards` shards, and is not made where that is undefined; an old one
 * keeps its number. Throws DataDirectoryError, with nothing changed in a folder that is not ours.
 */
export async function openDataDirectory(path: string, shards?: number): Promise<DataDirectory> {
  assertOurs(path, shards === undefined);
  makeWritable(path);
  const real = realpathSync(path);
  const lock = await hold(real);
  try {
    const identity = readIdentity(real) ?? makeIdentity(real, Math.min(shards as number, SHARDS_MAX));
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

/** What may lie in a folder that is to become a data directory: of an operator, a file system, a start cut short. */
const BEFORE_IDENTITY = /^(admin\.key|lost\+found|sheaf\.json\.new|\.probe-\d+)$/;

/** Why a folder cannot be a data directory, as a sentence: it holds what no server of ours has put there. */
export function whyForeign(path: string, mustBeThere = false): string | undefined {
  const entries = entriesOf(path);
  if (entries?.includes(IDENTITY)) return undefined;
  const ours = entries?.filter((name) => /^(catalog|shard-\d+)$/.test(name)) ?? [];
  if (ours.length > 0)
    return `${path} has ${ours.sort().join(', ')}, but no ${IDENTITY}: bring that file back from a backup`;
  if (mustBeThere) return `${path} is no data directory: it has no ${IDENTITY}`;
  if (entries?.every((name) => BEFORE_IDENTITY.test(name)) ?? true) return undefined;
  return `${path} is not empty, and no data directory: choose an empty folder, or one that is not there yet, by SHEAF_DATA_DIR or data_dir in sheaf.yaml`;
}

/** undefined where there is no folder that can be read: making it writable says why. */
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
    // Not always recursive: where the file system says ENOENT below an existing directory (/proc), Node 20 tries for
    // ever.
    if (!existsSync(path)) mkdirSync(path, { recursive: !existsSync(dirname(resolve(path))) });
    const probe = join(path, `.probe-${process.pid}`);
    writeFileSync(probe, '');
    rmSync(probe);
  } catch (error) {
    throw new DataDirectoryError(
      `data_dir ${path} is not writable (${(error as NodeJS.ErrnoException).code}): choose another by SHEAF_DATA_DIR or data_dir in sheaf.yaml`,
    );
  }
}

/**
 * An abstract socket (Linux) named after the directory's inode: the kernel frees it however the process ends, so it is
 * never stale.
 */
function hold(path: string): Promise<Server> {
  const { dev, ino } = statSync(path);
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () =>
      reject(
        new DataDirectoryError(
          `data_dir ${path} is in use by another sheaf process: stop it, or choose another directory by SHEAF_DATA_DIR`,
        ),
      ),
    );
    server.listen(`\0sheaf-${dev}-${ino}`, () => resolve(server.unref()));
  });
}

/** The catalog is made before any shard. Without it ids would be given again that shards have documents of. */
function assertCatalog(path: string, shards: number): void {
  const has = (environment: string): boolean => existsSync(join(path, environment, 'data.mdb'));
  const present = shardNames(shards).filter(has);
  if (present.length > 0 && !has(CATALOG))
    throw new DataDirectoryError(`${path} has no catalog beside ${present.join(', ')}: bring back its folder catalog`);
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
  if (typia.is<Pick<Identity, 'magic' | 'layout'>>(identity) && identity.layout !== LAYOUT_VERSION) {
    throw new DataDirectoryError(`${file} has layout ${identity.layout}; this server reads layout ${LAYOUT_VERSION}`);
  }
  if (!typia.is<Identity>(identity) || identity.checksum !== checksumOf(identity))
    throw new DataDirectoryError(`${file} is damaged: it should name magic, layout and shards, with their checksum`);
  return identity;
}

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
