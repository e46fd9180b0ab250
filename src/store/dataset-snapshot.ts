// Everything that a data directory holds, as of one moment, for a process that is not the server: LMDB lets other
// processes read along, whatever becomes of the server meanwhile. Used by the archive process. It has to be ended, or
// the pages it sees are never used again.
import { join } from 'node:path';
import type { CollectionId } from '../contract/ids.js';
import { placeOfShard, QUERY_LOG as LOG_PLACE } from '../contract/shared-meters.js';
import { collectionPrefix } from './keys.js';
import { Environment } from './lmdb.js';
import { QUERY_LOG, shardNames } from './paths.js';
import { LOG_TABLES } from './query-log-tables.js';
import { idOfQueryKey } from './query-records.js';
import { SHARD_TABLES, ShardTxn } from './shard-txn.js';
import type { Tables } from './tables.js';

export class DatasetSnapshot {
  private constructor(
    readonly shards: readonly ShardTxn[],
    private readonly log: Tables<(typeof LOG_TABLES)[number]>,
    private readonly ends: readonly (() => void)[],
  ) {}

  /**
   * Opens the stores, each within `held`, which runs it while nothing is committed to the store at a place. What it
   * answers takes the snapshot; whoever calls that sees to it that nothing is written meanwhile.
   */
  static async prepare(
    directory: string,
    shards: number,
    held: <T>(place: number, open: () => T) => Promise<T>,
  ): Promise<() => DatasetSnapshot> {
    const environments: Environment<(typeof SHARD_TABLES)[number]>[] = [];
    for (const [shard, name] of shardNames(shards).entries())
      environments.push(
        await held(placeOfShard(shard), () => Environment.openToRead(join(directory, name), SHARD_TABLES)),
      );
    const queryLog = await held(LOG_PLACE, () => Environment.openToRead(join(directory, QUERY_LOG), LOG_TABLES));
    return () => {
      const opened = environments.map((environment) => environment.snapshot());
      const log = queryLog.snapshot();
      return new DatasetSnapshot(
        opened.map(({ tables }) => new ShardTxn(tables)),
        log.tables,
        [...opened, log].map(({ end }) => end),
      );
    };
  }

  /**
   * The logged searches of a collection, the oldest first: ids of 16 bytes and records as the store has them, undefined
   * where they are damaged.
   */
  *queries(logId: CollectionId): Generator<{ id: Buffer; record: Buffer | undefined }> {
    for (const { key, value } of this.log.queries.inspect(collectionPrefix(logId)))
      yield { id: idOfQueryKey(key), record: value };
  }

  end(): void {
    for (const end of this.ends) end();
  }
}
