// The front threads as the service sees them: it sends them each change of the catalog and of the damaged collections,
// answers their calls, and asks them for what they have counted and logged. Without front threads every question has an
// empty answer. Runs on the main thread.
import type { ClusterNode } from '../cluster/node.js';
import { SharedMeters } from '../base/meters.js';
import { Moved, type RpcHandler, type RpcPeer } from '../base/rpc.js';
import type { CancelSignal } from '../base/signals.js';
import type { Log } from '../base/log.js';
import type { Config } from '../config/config.js';
import type { ReplicatedLog } from '../cluster/command-log.js';
import type { SharedShards, ShardCommands } from '../engine/write/commands.js';
import type { Metrics } from '../observability/metrics.js';
import type { EmbedPool } from '../pool/embed-pool.js';
import { FRONT_CELLS } from '../pool/front-messages.js';
import { FrontPool } from '../pool/front-pool.js';
import type { LogPool } from '../pool/log-pool.js';
import type { PoolMetrics } from '../pool/pool-metrics.js';
import type { Quarantine } from '../pool/quarantine.js';
import type { SearchPool } from '../pool/search-pool.js';
import type { ShardPool } from '../pool/shard-pool.js';
import type { CatalogState } from './collections/catalog-state.js';
import type { FrontCalls, FrontReport, FrontStart, StateChange } from './front.js';
import type { MemoryPlacer } from './cluster/memory-placer.js';
import type { RecallSampler } from './recall/sampler.js';
import type { TextVector } from './search/query.js';

export interface FrontsContext {
  readonly config: Config;
  readonly adminKey: string;
  /** The folder of the temporary files of the front with this number. */
  readonly temporaryDirectoryOf: (front: number) => string;
  /** What a front thread gets for its HTTP server when it starts. */
  readonly startOf: (front: number) => object;
  /** Called when a front thread has ended. */
  readonly exited: (front: number) => void;
  readonly state: CatalogState;
  readonly quarantine: Quarantine;
  readonly shared: SharedShards;
  readonly embedderFile: Uint8Array | undefined;
  readonly searches: Pick<SearchPool, 'request' | 'count' | 'step'>;
  /** Absent on a single machine. */
  readonly node: Pick<ClusterNode, 'id' | 'process' | 'progress' | 'listening' | 'frontPorts'> | undefined;
  /** Absent if this server holds everything in memory. */
  readonly sharing: { readonly placer: Pick<MemoryPlacer, 'held' | 'subscribe' | 'standsIn'> } | undefined;
  readonly shards: Pick<ShardPool, 'request' | 'releaseReader'>;
  readonly textVector: TextVector;
  readonly embed: Pick<EmbedPool, 'rerank'>;
  readonly logs: Pick<LogPool, 'connect'>;
  readonly recallSampler: Pick<RecallSampler, 'offer'>;
  /** Absent on a single machine. */
  readonly commandLog: Pick<ReplicatedLog, 'barrier'> | undefined;
  readonly poolMetrics: PoolMetrics;
  readonly log: Log;
}

/** Answers the requests that a front thread forwards. */
type Forwarded = (peer: () => RpcPeer) => Readonly<Record<string, RpcHandler>>;

export class Fronts {
  private pool: FrontPool | undefined;
  private reports: readonly FrontReport[] = [];

  constructor(private readonly metrics: Pick<Metrics, 'absorb'>) {}

  /** Starts the threads. Changes of the catalog reach them from now on. */
  start(context: FrontsContext, forwarded: Forwarded): FrontPool {
    const { config, state, quarantine, sharing, poolMetrics, log } = context;
    const damaged = (): StateChange => ({ damaged: quarantine.all() });
    const pool = new FrontPool({
      threads: config.frontThreads,
      startOf: (front) => ({ ...startOf(context, front), ...context.startOf(front) }),
      snapshot: () => [
        ...(state.catalog.loaded ? [{ catalog: state.snapshot() }] : []),
        damaged(),
        ...(sharing ? [{ held: sharing.placer.held() }] : []),
      ],
      handlersOf: (front, peer) => ({ ...handlersOf(context, front), ...forwarded(peer) }),
      log,
      exited: (front, threadId, cells) => {
        context.exited(front);
        context.node?.frontPorts.delete(front);
        SharedMeters.over(context.shared.meters).queryLog.add('died', Atomics.load(cells, FRONT_CELLS.gathered));
        context.shards.releaseReader(threadId);
      },
    });
    state.subscribe((catalog) => pool.broadcast({ catalog } satisfies StateChange));
    quarantine.subscribe(() => pool.broadcast(damaged()));
    sharing?.placer.subscribe((held) => pool.broadcast({ held } satisfies StateChange));
    poolMetrics.watch('front', pool);
    return (this.pool = pool);
  }

  /** Makes a thread end amid its requests, as an error in it would. For tests. */
  async kill(front: number): Promise<void> {
    await this.pool?.kill(front);
  }

  /** Resolves when every front thread can take requests, or has not become ready in time. */
  async whenReady(): Promise<void> {
    await this.pool?.whenReady();
  }

  /** Searches in progress on front threads. */
  get searchesUnderWay(): number {
    return this.pool?.sum('searches') ?? 0;
  }

  /** Sums over the latest reports. */
  sum(of: (report: FrontReport) => number): number {
    return this.reports.reduce((sum, report) => sum + of(report), 0);
  }

  /** Adds what the front threads have counted to the metrics of the main thread. */
  async collect(): Promise<void> {
    if (!this.pool) return;
    this.reports = await this.pool.callAll<FrontReport>('report');
    for (const { counts } of this.reports) this.metrics.absorb(counts);
  }

  /** Makes the front threads store the searches that they have gathered for the query log. */
  async flushLogs(): Promise<void> {
    await this.pool?.callAll('log.flush');
  }
}

function startOf(context: FrontsContext, front: number): Omit<FrontStart, 'state' | 'calls' | 'cells'> {
  const { config, adminKey, shared, embedderFile, temporaryDirectoryOf, node, sharing } = context;
  return {
    ...shared,
    hitCacheBytes: config.tuning.hitCacheBytes,
    config,
    adminKey,
    embedderFile,
    temporaryDirectory: temporaryDirectoryOf(front),
    sharing: node &&
      sharing && {
        node: node.id,
        process: node.process,
        front,
        progress: node.progress.shared,
        listening: node.listening,
      },
  };
}

function handlersOf(context: FrontsContext, front: number): Readonly<Record<string, RpcHandler>> {
  const { searches, shards, textVector, embed, logs, state, recallSampler, commandLog, node, sharing } = context;
  const handlers: { [O in keyof FrontCalls]: (input: FrontCalls[O], signal: CancelSignal) => unknown } = {
    search: ({ search, tenant }, signal) => searches.request(search, tenant, signal),
    count: ({ count, tenant }, signal) => searches.count(count, tenant, signal),
    step: ({ step, tenant }, signal) => searches.step(step, tenant, signal),
    prepare: ({ shard, request }) => shards.request(shard, 'prepare', request),
    read: ({ shard, op, request }) => shards.request(shard, op, request as ShardCommands[typeof op]['request']),
    embedQuery: ({ collection, query, owner }, signal) => textVector(collection, query, owner, signal),
    rerank: ({ request, tenant }, signal) => embed.rerank(request, tenant, signal),
    'log.connect': () => {
      const port = logs.connect(front);
      return new Moved(port, [port]);
    },
    'recall.offer': ({ collection: id, sampled }) => {
      const collection = state.catalog.findById(id);
      if (collection) recallSampler.offer(collection, sampled);
    },
    'log.barrier': () => commandLog?.barrier(),
    'memory.standsIn': ({ units }) => sharing?.placer.standsIn(units),
    'memory.answersAt': ({ port }) => void node?.frontPorts.set(front, port),
  };
  return handlers;
}
