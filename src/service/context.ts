// What every use case works with; made once by main.
// Types only: the use cases take it as their first argument.
import type { Log } from '../base/log.js';
import type { Chunking } from '../contract/resources.js';
import type { BatchPool } from '../pool/batch-pool.js';
import type { EmbedPool } from '../pool/embed-pool.js';
import type { ShardPool } from '../pool/shard-pool.js';
import type { Catalog } from './catalog.js';

export interface Context {
  readonly catalog: Catalog;
  readonly shards: ShardPool;
  readonly embed: EmbedPool;
  readonly batch: BatchPool;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly chunking: Required<Chunking>;
  readonly metadataBytesMax: number;
}
