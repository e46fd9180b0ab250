// A node's part in a cluster: its id, which stays with its data directory, and its connection to the stream. Runs on the
// main thread.
import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LogProgress } from '../base/log-progress.js';
import type { Log } from '../base/log.js';
import type { Config } from '../config/config.js';
import { CATALOG_TABLES } from '../storage/catalog-records.js';
import { CATALOG, type DataDirectory } from '../storage/data-directory.js';
import { Journal, readPosition } from '../storage/journal.js';
import { Environment } from '../storage/lmdb.js';
import { ALL } from '../storage/table.js';
import type { LogStream } from './log-stream.js';
import { LateStream } from './late-stream.js';
import { ClusterUnavailable, openNats } from './nats.js';

export interface ClusterNode {
  readonly id: string;
  readonly name: string;
  readonly stream: LogStream;
  readonly progress: LogProgress;
}

/** The data directory holds the id of the node, by which others know it whatever its address is. */
const ID_FILE = 'node-id';

/** Joins the cluster of the configuration. Throws ClusterSetupError if that is not possible. */
export async function joinCluster(
  { cluster, journalBytesMax }: Pick<Config, 'cluster' | 'journalBytesMax'>,
  { path, shards }: Pick<DataDirectory, 'path' | 'shards'>,
  log: Log,
): Promise<ClusterNode> {
  const { name } = cluster;
  const { origin, known } = beginningOf(path, journalBytesMax);
  const open = (): Promise<LogStream> => openNats({ ...cluster, cluster: name, shards }, origin, log);
  const stream = await open().catch((error: unknown) => {
    if (known === undefined || !(error instanceof ClusterUnavailable)) throw error;
    log.warn({ reason: error.message }, 'the node serves reads only, until the command log answers');
    return new LateStream(known, open, log);
  });
  const id = nodeId(path);
  log.info({ node: id, cluster: name }, 'the server is a node of a cluster');
  return { id, name, stream, progress: LogProgress.of(stream.id) };
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
  if (!existsSync(join(catalog, 'data.mdb'))) return { origin: 'empty' };
  const env = Environment.open(catalog, CATALOG_TABLES, false);
  try {
    const position = readPosition(env);
    if (position) return { origin: '', known: position.stream };
    const isEmpty = env.read(({ collections, tenants }) =>
      [collections, tenants].every((table) => table.keys(ALL).next().done),
    );
    return { origin: isEmpty ? 'empty' : (Journal.open(env, { bytesMax: journalBytesMax })?.head.id ?? '') };
  } finally {
    env.close();
  }
}
