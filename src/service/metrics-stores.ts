// The stores on disk and the memory of the shards: commits with their sync, how much of each LMDB map is used, what
// each shard holds, and what the caches of the search workers had. Workers count in shared memory
// (contract/shared-meters.ts); what the shards hold they are asked for with the inventory. Part of the metrics
// (metrics-report.ts); front thread.
import { Counter, Gauge, type Registry } from 'prom-client';
import {
  CATALOG,
  COMMIT_SECONDS,
  placeOfShard,
  QUERY_LOG,
  type Commits,
  type SharedMeters,
} from '../contract/shared-meters.js';
import { MAP_BYTES } from '../store/lmdb.js';
import { shardName } from '../store/paths.js';
import type { Context } from './context.js';
import { lookedUpHistogram } from './metrics-histograms.js';
import { lookedUp } from './metrics-looked-up.js';

export function lookUpStores(
  registry: Registry,
  { sharedMeters, shards, metrics, queryCache, queryLog, memories }: Context,
): void {
  const read = (): [string, Commits][] => storesOf(sharedMeters, shards.size);
  const common = { labelNames: ['store'] as const, registers: [registry] };
  lookedUpHistogram(
    registry,
    {
      name: 'sheaf_store_commit_seconds',
      help: 'Time of commits, with the sync to the disk that ends each.',
      labelNames: common.labelNames,
    },
    () =>
      read().map(([store, { counts, seconds }]) => ({
        labels: { store },
        bounds: COMMIT_SECONDS,
        counts,
        sum: seconds,
      })),
  );
  new Counter({
    ...common,
    name: 'sheaf_store_commit_failures_total',
    help: 'Commits that failed: nothing of them was acknowledged.',
    collect() {
      this.reset();
      for (const [store, { failures }] of read()) this.inc({ store }, failures);
    },
  });
  new Gauge({
    ...common,
    name: 'sheaf_store_used_bytes',
    help: 'Pages of the map of a store that have been used; freed ones are used again.',
    collect() {
      for (const [store, { usedBytes }] of read()) this.set({ store }, usedBytes);
    },
  });
  lookedUp(registry, Gauge, 'sheaf_store_map_bytes', 'Where the map of each store ends.', () => MAP_BYTES);
  lookUpShards(registry, metrics.shardTotals);
  lookUpMemory(registry, {
    shard_arenas: () => bytesOf(memories),
    query_cache: () => queryCache.bytes,
    query_log_waiting: () => queryLog.waitingBytes,
  });
  lookedUp(
    registry,
    Counter,
    'sheaf_hit_cache_hits_total',
    'Hits whose chunks the search workers had in memory.',
    () => sharedMeters.hitCache.hits,
  );
  lookedUp(
    registry,
    Counter,
    'sheaf_hit_cache_misses_total',
    'Hits whose records were read.',
    () => sharedMeters.hitCache.misses,
  );
}

function storesOf(meters: SharedMeters, shards: number): [string, Commits][] {
  const ofShards = Array.from({ length: shards }, (_, shard): [string, Commits] => [
    shardName(shard),
    meters.store(placeOfShard(shard)).read(),
  ]);
  return [['catalog', meters.store(CATALOG).read()], ['query-log', meters.store(QUERY_LOG).read()], ...ofShards];
}

/** As of when the shards were last asked. */
function lookUpShards(registry: Registry, totals: Context['metrics']['shardTotals']): void {
  const told = [
    ['sheaf_shard_documents', 'Documents of the shard.', 'documents'],
    ['sheaf_shard_chunks', 'Chunks of the shard.', 'chunks'],
    ['sheaf_shard_memory_used_bytes', 'Memory of the shard that vectors, graphs and postings take.', 'memoryBytes'],
  ] as const;
  for (const [name, help, field] of told) {
    new Gauge({
      name,
      help,
      labelNames: ['shard'],
      registers: [registry],
      collect() {
        for (const [shard, had] of totals) this.set({ shard: String(shard) }, had[field]);
      },
    });
  }
}

function lookUpMemory(registry: Registry, components: Readonly<Record<string, () => number>>): void {
  const help =
    'Memory by what it is for: arenas of the shards as far as they have grown, vectors of query texts, logged searches on their way to the disk. The heap is nodejs_heap_size_used_bytes.';
  new Gauge({
    name: 'sheaf_memory_bytes',
    help,
    labelNames: ['component'],
    registers: [registry],
    collect() {
      for (const component in components) this.set({ component }, components[component]?.() ?? 0);
    },
  });
}

const bytesOf = (memories: readonly (readonly WebAssembly.Memory[])[]): number =>
  memories.flat().reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
