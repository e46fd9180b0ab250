// Names and places of what a data directory holds. Pure; asked by whatever opens it: the workers of the server,
// the archive process, check and repair.
import { join } from 'node:path';

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
