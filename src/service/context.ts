// What every use case works with; made once by main.
// Types only: the use cases take it as their first argument.
import type { Log } from '../base/log.js';
import type { Language, SearchMode } from '../api/choices.js';
import type { FusionSettings } from '../api/search.js';
import type { Chunking } from '../api/collections.js';
import type { SharedMeters } from '../base/meters.js';
import type { ShardAnswer } from '../engine/write/commands.js';
import type { Embedders } from './embedding/embedders.js';
import type { QueryCache } from './embedding/query-cache.js';
import type { Rerankers } from './embedding/rerankers.js';
import type { ArchivePool } from '../pool/archive-pool.js';
import type { BatchPool } from '../pool/batch-pool.js';
import type { EmbedPool } from '../pool/embed-pool.js';
import type { PoolMetrics } from '../pool/pool-metrics.js';
import type { Quarantine } from '../pool/quarantine.js';
import type { SearchPool } from '../pool/search-pool.js';
import type { ShardPool } from '../pool/shard-pool.js';
import type { ChunkLedger } from './tenants/limits.js';
import type { TenantRegistry } from './tenants/registry.js';
import type { Catalog } from './collections/catalog.js';
import type { EventHub } from './events/event-hub.js';
import type { FanOut } from './search/fan-out.js';
import type { Metrics } from '../observability/metrics.js';
import type { RecallSampler, UnderWay } from './recall/sampler.js';
import type { FileIds } from './ingest/file-ids.js';
import type { QueryLog } from './query-log/query-log.js';
import type { ReindexJobs } from './reindex/jobs.js';
import type { StagedCollections } from './collections/shadow-collections.js';

export interface Context {
  readonly catalog: Catalog;
  readonly staged: StagedCollections;
  readonly reindexJobs: ReindexJobs;
  readonly events: EventHub;
  readonly tenants: TenantRegistry;
  readonly chunkLedger: ChunkLedger;
  readonly fileIds: FileIds;
  readonly shards: ShardPool;
  readonly quarantine: Quarantine;
  readonly searches: SearchPool;
  readonly fanOut: FanOut;
  /** The threads behind the embedders; the use cases ask `embedders`. */
  readonly embed: EmbedPool;
  readonly embedders: Embedders;
  readonly rerankers: Rerankers;
  readonly queryCache: QueryCache;
  readonly batch: BatchPool;
  readonly archives: ArchivePool;
  readonly queryLog: QueryLog;
  readonly searchesUnderWay: UnderWay;
  readonly recallsUnderWay: UnderWay;
  readonly recallSampler: RecallSampler;
  readonly metrics: Metrics;
  /** What each shard had when it was last asked. */
  readonly shardTotals: Map<number, ShardAnswer<'totals'>>;
  readonly poolMetrics: PoolMetrics;
  /** What the workers count. */
  readonly sharedMeters: SharedMeters;
  /** Of each shard its arenas. */
  readonly memories: readonly (readonly WebAssembly.Memory[])[];
  readonly log: Log;
  readonly nowMs: () => number;
  readonly chunking: Required<Chunking>;
  readonly metadataBytesMax: number;
  readonly batchLimits: { readonly itemsMax: number; readonly lineBytesMax: number };
  readonly search: SearchSettings;
  readonly common: CommonSettings;
}

export interface SearchSettings {
  readonly modes: readonly SearchMode[];
  readonly boostWeight: number;
  readonly stringOperators: boolean;
  /** Of mode hybrid, where a search does not say. */
  readonly fusion: FusionSettings;
  /** Whether modes boost and hybrid answer by words alone while the embedder does not answer. */
  readonly degrade: boolean;
  /** Of collections that name none. */
  readonly language: Language;
}

/** The collection that `/v1/search` and `include_common` search, where enabled. */
interface CommonSettings {
  readonly enabled: boolean;
  readonly tenant: string;
  readonly collection: string;
}
