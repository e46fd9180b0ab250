// A node's part in a cluster: its id, which stays with its data directory, and its connection to the stream. Runs on the
// main thread.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MemoryPlacement } from '../api/memory-placement.js';
import { LogProgress } from '../base/log-progress.js';
import type { Log } from '../base/log.js';
import type { Config } from '../config/config.js';
import { CATALOG_TABLES } from '../storage/catalog-records.js';
import { CATALOG, type DataDirectory, shardNames } from '../storage/data-directory.js';
import { Journal, type LogPosition, beginStream, readPosition } from '../storage/journal.js';
import { Environment } from '../storage/lmdb.js';
import { SHARD_TABLES } from '../storage/shard-reader.js';
import { isEmpty } from '../storage/table.js';
import { NoCopy, putInPlace, takeCopy } from './data-copy.js';
import { wayToJoin } from './joining.js';
import type { LogStream } from './log-stream.js';
import { LinkServer, type Listening, type NodeAddress, newKey } from './node-links.js';
import { LateStream } from './late-stream.js';
import { ClusterUnavailable, EMPTY, openNats } from './nats.js';
import type { KnownNode, KnownNodes } from './node-states.js';

export interface ClusterNode {
  readonly id: string;
  /** Of this run of the node. */
  readonly process: string;
  readonly name: string;
  readonly stream: LogStream;
  /** Answers other nodes on the main thread. */
  readonly links: LinkServer;
  /** What front threads answer by. */
  readonly listening: Listening;
  /** The ports of front threads that answer, by their numbers. */
  readonly frontPorts: Map<number, number>;
  /** Where other nodes reach this one. */
  readonly address: () => NodeAddress;
  readonly progress: LogProgress;
  /** How the nodes shared the memory when this one ended; undefined if every node holds everything. */
  readonly placement: MemoryPlacement | undefined;
  /** Keeps the nodes that share the memory for the next start. */
  keepMembers(members: readonly string[]): void;
  /** The other nodes as they were known when this one ended, and how they are kept for the next start. */
  readonly known: KnownNodes;
}

/** The data directory holds the id of the node, by which others know it whatever its address is. */
const ID_FILE = 'node-id';
/** The ids of the nodes that share the memory. */
const MEMBERS_FILE = 'node-members';
/** The other nodes that were heard of, with what they need of the log. */
const KNOWN_FILE = 'node-peers';

/** How a node begins. */
export interface JoinOptions {
  /** Takes a copy of another node's data, whatever the log has. */
  readonly copies?: boolean;
}

/**
 * Joins the cluster of the configuration: finds the stream, and where the log does not lead from the data that is there to
 * that of the other nodes, takes a copy of theirs. Throws ClusterSetupError or NoCopy if that is not possible.
 */
export async function joinCluster(
  { cluster, host, journalBytesMax }: Pick<Config, 'cluster' | 'host' | 'journalBytesMax'>,
  directory: Pick<DataDirectory, 'path' | 'shards'>,
  log: Log,
  { copies: takesCopy = false }: JoinOptions = {},
): Promise<ClusterNode> {
  const { name } = cluster;
  const { path, shards } = directory;
  putInPlace(path, shards);
  const { origin, known } = beginningOf(path, journalBytesMax);
  const id = nodeId(path);
  const find = (settleMs: number): Promise<LogStream> =>
    openNats({ ...cluster, cluster: name, shards }, origin, log, settleMs);
  const open = async (): Promise<LogStream> => {
    const stream = await find(known === undefined ? SETTLE_MS : SETTLE_KNOWN_MS);
    try {
      await meet(stream, directory, id, takesCopy || (origin === EMPTY && stream.origin !== EMPTY), log);
      return stream;
    } catch (error) {
      await stream.close();
      throw error;
    }
  };
  const stream = await open().catch((error: unknown) => {
    if (known === undefined || !(error instanceof ClusterUnavailable)) throw error;
    log.warn({ reason: error.message }, 'the node serves reads only, until the command log answers');
    return new LateStream(known, () => find(0), log);
  });
  log.info({ node: id, cluster: name }, 'the server is a node of a cluster');
  const { searchCopies: copies, placement, listen, advertise } = cluster;
  const listening = { listen: listen === '' ? `${host}:0` : listen, advertised: advertise, key: newKey() };
  const links = await LinkServer.listen(listening).catch(async (error: unknown) => {
    await stream.close();
    throw error;
  });
  const frontPorts = new Map<number, number>();
  return {
    id,
    process: randomUUID(),
    name,
    stream,
    links,
    listening,
    frontPorts,
    address: () => ({ ...links.address, fronts: [...frontPorts.values()] }),
    progress: LogProgress.of(stream.id, shards, stream.rebuild?.earlier),
    placement:
      copies === 0
        ? undefined
        : { members: keptMembers(path), own: id, copies, ...(placement === 'shards' && { shards }) },
    keepMembers: (members) => writeFileSync(join(path, MEMBERS_FILE), `${members.join('\n')}\n`),
    known: {
      nodes: knownNodes(path),
      keep: (nodes) => writeFileSync(join(path, KNOWN_FILE), JSON.stringify(nodes)),
    },
  };
}

/** A file that was not written whole names no node that there is, and the first nodes that are heard of correct it. */
function keptMembers(path: string): string[] {
  const file = join(path, MEMBERS_FILE);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
}

/** A file that was not written whole counts as none; the nodes that are there are heard of again. */
function knownNodes(path: string): KnownNode[] {
  const file = join(path, KNOWN_FILE);
  if (!existsSync(file)) return [];
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as KnownNode[];
  } catch {
    return [];
  }
}

/** How long a node waits for the stream when it starts, and one that has data to serve meanwhile. */
const SETTLE_MS = 30_000;
const SETTLE_KNOWN_MS = 10_000;
/** How long a node looks for another one that gives a copy, if it needs one, and if it can do without. */
const COPY_WAIT_MS = 20_000;
const OFFER_WAIT_MS = 3000;
/** A copy is there sooner than so many messages are applied. */
const APPLIED_SOON = 2000;

/** Makes the data such that the messages of the stream can be applied to it. */
async function meet(
  stream: LogStream,
  { path, shards }: Pick<DataDirectory, 'path' | 'shards'>,
  node: string,
  copies: boolean,
  log: Log,
): Promise<void> {
  const targets = targetsOf(path, shards).map((target) => ({ ...target, position: positionOf(target) }));
  const { first, last } = await stream.state();
  const way = copies ? 'copy' : wayToJoin(node, targets, stream, first);
  const take = (waitMs: number): Promise<void> => takeCopy({ stream, node, path, shards, waitMs, log });
  if (way === 'copy') return take(COPY_WAIT_MS);
  if (way === 'continue' && last - first >= APPLIED_SOON && targets.every(({ position }) => !position))
    return take(OFFER_WAIT_MS).catch((error: unknown) => {
      if (!(error instanceof NoCopy)) throw error;
    });
  if (way === 'begin')
    for (const target of targets)
      if (target.position?.stream !== stream.id) inEnvironment(target, (env) => beginStream(env, stream.id));
}

/** An environment that applies the log, and the name of its messages. */
interface Target {
  readonly name: string;
  readonly folder: string;
  readonly tables: readonly string[];
}

const targetsOf = (path: string, shards: number): Target[] => [
  { name: 'catalog', folder: join(path, CATALOG), tables: CATALOG_TABLES },
  ...shardNames(shards).map((name, shard) => ({ name: String(shard), folder: join(path, name), tables: SHARD_TABLES })),
];

const positionOf = (target: Target): LogPosition | undefined =>
  existsSync(join(target.folder, 'data.mdb')) ? inEnvironment(target, readPosition) : undefined;

function inEnvironment<T>({ folder, tables }: Target, work: (env: Environment<'journal'>) => T): T {
  const env = Environment.open(folder, tables as readonly 'journal'[], false);
  try {
    return work(env);
  } finally {
    env.close();
  }
}

/** The id is bound to the folder, so a copy of the directory is another node. */
function nodeId(path: string): string {
  const file = join(path, ID_FILE);
  const { dev, ino } = statSync(path);
  const folder = `${dev}-${ino}`;
  const [id = '', own] = existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ') : [];
  if (own === folder) return id;
  const made = randomUUID();
  writeFileSync(file, `${made} ${folder}\n`);
  return made;
}

/**
 * What the data directory begins with, so that nodes that begin with different data do not share a stream: `empty`, or
 * the id of its journal, which copies have in common. '' for a directory that has applied the log already; `known` is the
 * id of its stream then.
 */
function beginningOf(path: string, journalBytesMax: number): { origin: string; known?: string } {
  const catalog = join(path, CATALOG);
  if (!existsSync(join(catalog, 'data.mdb'))) return { origin: EMPTY };
  const env = Environment.open(catalog, CATALOG_TABLES, false);
  try {
    const position = readPosition(env);
    if (position) return { origin: '', known: position.stream };
    const isNew = env.read(({ collections, tenants }) => [collections, tenants].every(isEmpty));
    return { origin: isNew ? EMPTY : (Journal.open(env, { bytesMax: journalBytesMax })?.head.id ?? '') };
  } finally {
    env.close();
  }
}
