// What a front thread needs beside its HTTP server: a copy of the catalog and the keys, searches that run on its own
// thread, and calls of the main thread for everything else. Front threads only.
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import type { CollectionId } from '../api/ids.js';
import type { Unit } from '../api/memory-placement.js';
import { LogProgress, type SharedProgress } from '../base/log-progress.js';
import { SharedMeters } from '../base/meters.js';
import type { RpcPeer } from '../base/rpc.js';
import type { CancelSignal } from '../base/signals.js';
import type { Log } from '../base/log.js';
import { LinkServer, type Listening, NodeLinks } from '../cluster/node-links.js';
import type { Config } from '../config/config.js';
import type { BuiltinEmbedder } from '../embedding/builtin/embedder.js';
import type { QueryText } from '../embedding/messages.js';
import { BUILTIN } from '../embedding/spaces.js';
import type { CollectionCount } from '../engine/search/count.js';
import type { CollectionSearch, SearchWorkerStart } from '../engine/search/params.js';
import type { SearchStep } from '../engine/search/step-messages.js';
import type { ShardSet } from '../engine/search/snapshot.js';
import type { DocumentRead } from '../engine/stored-documents.js';
import type { ShardAnswer, ShardCommands } from '../engine/write/commands.js';
import type { FrontCounts, Metrics } from '../observability/metrics.js';
import type { EmbedPool } from '../pool/embed-pool.js';
import { FRONT_CELLS, type FrontPorts } from '../pool/front-messages.js';
import { QUERY_LOG_WAITING_BYTES_MAX } from '../api/limits.js';
import { type CatalogEvent, CatalogState } from './collections/catalog-state.js';
import { type HeldMemory, MemoryHolders } from './cluster/memory-holders.js';
import { RoutedSearches } from './cluster/routed-searches.js';
import { type WorkContext, answerSearches, workHere } from './cluster/search-answers.js';
import type { RecordsContext } from './documents/documents.js';
import { InlineReads } from './documents/inline-reads.js';
import { Rerankers } from './embedding/rerankers.js';
import { FairTurns } from './fair-turns.js';
import type { LoggedSearchContext } from './query-log/logged-search.js';
import { LogBuffer } from './query-log/log-buffer.js';
import { LogLink } from './query-log/log-link.js';
import type { SampledSearch } from './recall/sampler.js';
import { InlineSearches } from './search/inline-searches.js';
import type { EmbeddedIn } from './search/query.js';
import { KeyRing } from './tenants/keys.js';
import { configuredLimits } from './tenants/limits.js';

/** What a front thread gets when it starts. */
export interface FrontStart extends SearchWorkerStart, FrontPorts {
  readonly config: Config;
  /** '' where there is none. */
  readonly adminKey: string;
  /** The packed file of the built-in embedder, in shared memory; undefined if the thread must read it itself. */
  readonly embedderFile: Uint8Array | undefined;
  /** Emptied when the thread starts. */
  readonly temporaryDirectory: string;
  /** Of a node of a cluster that shares the memory with others. */
  readonly sharing:
    | {
        /** The id of the node. */
        readonly node: string;
        /** An id of this process. */
        readonly process: string;
        /** The number of this thread. */
        readonly front: number;
        readonly progress: SharedProgress;
        readonly listening: Listening;
      }
    | undefined;
}

/** A change that the main thread sends to every front thread. */
export type StateChange =
  | { readonly catalog: CatalogEvent }
  | { readonly damaged: CollectionId[] }
  | { readonly held: HeldMemory };

/**
 * The copy of the catalog, the tenants and the keys. `refresh` takes up everything that the main thread has sent; a
 * front thread calls it before it authenticates a request and before it looks up a collection, so that no request is
 * served by what a change that has been answered replaced.
 */
export class FrontState {
  readonly state: CatalogState;
  private damaged: ReadonlySet<CollectionId> = new Set();
  /** Where the nodes of a cluster share the memory, it is sent before the first request. */
  private heldMemory: HeldMemory | undefined;
  private applied = 0;

  private readonly port: MessagePort;
  private readonly cells: Int32Array;

  constructor({ config: { auth, tenantLimits, search }, adminKey, state: port, cells }: FrontStart) {
    this.port = port;
    this.cells = cells;
    const ring = new KeyRing(adminKey, auth.keys);
    this.state = new CatalogState({ language: search.language, limits: configuredLimits(tenantLimits), ring });
    // While no request comes, changes are applied as they arrive.
    port.on('message', (change: StateChange) => this.apply(change));
  }

  readonly refresh = (): void => {
    while (Atomics.load(this.cells, FRONT_CELLS.sent) !== this.applied) {
      const received = receiveMessageOnPort(this.port) as { message: StateChange } | undefined;
      if (!received) return;
      this.apply(received.message);
    }
  };

  readonly isDamaged = (collection: CollectionId): boolean => this.damaged.has(collection);

  readonly held = (): HeldMemory => {
    this.refresh();
    return this.heldMemory as HeldMemory;
  };

  private apply(change: StateChange): void {
    this.applied = (this.applied + 1) | 0;
    if ('catalog' in change) this.state.apply(change.catalog);
    else if ('held' in change) this.heldMemory = change.held;
    else this.damaged = new Set(change.damaged);
  }
}

/** The calls that a front thread makes, with their inputs. */
export interface FrontCalls {
  search: { search: CollectionSearch; tenant: string };
  count: { count: CollectionCount; tenant: string };
  step: { step: SearchStep; tenant: string };
  prepare: { shard: number; request: ShardCommands['prepare']['request'] };
  read: { shard: number; op: DocumentRead; request: ShardCommands[DocumentRead]['request'] };
  embedQuery: { collection: EmbeddedIn; query: QueryText; owner: string };
  rerank: { request: Parameters<EmbedPool['rerank']>[0]; tenant: string | undefined };
  /** A port to a log worker. */
  'log.connect': undefined;
  'recall.offer': { collection: CollectionId; sampled: SampledSearch };
  /** Appends a barrier to the command log of the cluster, and answers its sequence. */
  'log.barrier': undefined;
  /** This node searches what others should hold. */
  'memory.standsIn': { units: readonly Unit[] };
  /** This thread answers searches of other nodes at a port. */
  'memory.answersAt': { port: number };
}

interface FrontServicesOptions {
  readonly start: FrontStart;
  readonly state: FrontState;
  readonly shards: ShardSet;
  readonly peer: () => RpcPeer;
  readonly embedder: BuiltinEmbedder;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** The contexts of the use cases that front threads run themselves. */
export interface FrontServices {
  readonly search: LoggedSearchContext;
  readonly records: RecordsContext;
  readonly queryLog: LogBuffer;
}

export function createFrontServices(options: FrontServicesOptions): FrontServices {
  const { start, state, shards, peer, metrics, log } = options;
  const { config, cells } = start;
  const fronts = config.frontThreads;
  const call = <O extends keyof FrontCalls, T>(op: O, input: FrontCalls[O], signal?: CancelSignal): Promise<T> =>
    peer().call<T>(op, input, signal);
  const { catalog } = state.state;
  const turns = new FairTurns();
  const inline = new InlineSearches({
    shards,
    turns,
    workers: {
      request: (search, tenant, signal) => call('search', { search, tenant }, signal),
      step: (step, tenant, signal) => call('step', { step, tenant }, signal),
    },
    isDamaged: state.isDamaged,
  });
  const prepared = {
    size: start.memories.length,
    request: (shard: number, _op: unknown, request: unknown) =>
      call('prepare', { shard, request: request as ShardCommands['prepare']['request'] }),
  } as LoggedSearchContext['search']['shards'];
  const own: WorkContext = {
    searches: {
      request: (search, tenant, signal) => inline.request(search, tenant, signal),
      count: (count, tenant, signal) => call('count', { count, tenant }, signal),
      step: (step, tenant, signal) => inline.step(step, tenant, signal),
    },
    shards: prepared,
  };
  const searches = start.sharing ? sharedSearches(options, start.sharing, own) : inline;
  const queryLog = new LogBuffer({
    store: new LogLink(() => call('log.connect', undefined)).store,
    enabled: config.queryLog.enabled,
    waitingBytesMax: QUERY_LOG_WAITING_BYTES_MAX / fronts,
    meter: SharedMeters.over(start.meters).queryLog,
    log,
    gathered: (change) => Atomics.add(cells, FRONT_CELLS.gathered, change),
  });
  const current: Pick<typeof catalog, 'find' | 'findById' | 'findByLog' | 'get' | 'pageOfTenant'> = {
    find: (tenant, name) => (state.refresh(), catalog.find(tenant, name)),
    findById: (id) => (state.refresh(), catalog.findById(id)),
    findByLog: (logId) => (state.refresh(), catalog.findByLog(logId)),
    get: (tenant, name) => (state.refresh(), catalog.get(tenant, name)),
    pageOfTenant: (tenant, after, max) => (state.refresh(), catalog.pageOfTenant(tenant, after, max)),
  };
  const reads = new InlineReads({
    shards,
    turns,
    owners: {
      request: <O extends DocumentRead>(shard: number, op: O, request: ShardCommands[O]['request']) =>
        call<'read', ShardAnswer<O>>('read', { shard, op, request }),
    },
    find: (id) => catalog.findById(id),
    isDamaged: state.isDamaged,
  });
  const records: RecordsContext = {
    catalog: current,
    shadows: state.state.shadows,
    shards: reads,
    quarantine: { has: state.isDamaged },
  };
  const offers = new Offers(config.tuning.recallSampleMs, (collection, sampled) =>
    call('recall.offer', { collection, sampled }),
  );
  const loggedSearch: LoggedSearchContext = {
    search: {
      catalog: current,
      shadows: {
        dualWriteTargets: (live, nowMs) => (state.refresh(), state.state.shadows.dualWriteTargets(live, nowMs)),
      },
      textVector: async (collection, query, owner, signal) =>
        collection.embedder_type === BUILTIN.space.embedder_type
          ? embedHere(options, query.text)
          : call('embedQuery', { collection, query, owner }, signal),
      searches,
      shards: prepared,
      rerankers: new Rerankers(config.rerankers, {
        rerank: (request, tenant, signal) => call('rerank', { request, tenant }, signal),
      }),
      recallSampler: offers,
      settings: config.search,
      common: config.common,
      nowMs: Date.now,
    },
    catalog: current,
    queryLog,
    metrics,
    searchesUnderWay: {
      during: async (work) => {
        Atomics.add(cells, FRONT_CELLS.searches, 1);
        try {
          return await work();
        } finally {
          Atomics.sub(cells, FRONT_CELLS.searches, 1);
        }
      },
    },
    nowMs: Date.now,
  };
  return { search: loggedSearch, records, queryLog };
}

/** The searches of a node that shares the memory with others, whose searches it answers. */
function sharedSearches(
  { start, state, peer, log }: FrontServicesOptions,
  { node, process, front, progress: shared, listening }: NonNullable<FrontStart['sharing']>,
  context: WorkContext,
): RoutedSearches {
  const progress = new LogProgress(shared);
  const meter = SharedMeters.over(start.meters).routed;
  const tell = <O extends keyof FrontCalls>(op: O, input: FrontCalls[O]): void =>
    void peer()
      .call(op, input)
      .catch(() => undefined);
  LinkServer.listen(listening, front).then(
    (links) => {
      answerSearches(process, { ...context, progress, links, meter, log });
      tell('memory.answersAt', { port: links.address.port });
    },
    // The main thread answers in its place.
    (error: Error) => log.warn({ reason: error.message }, 'a front thread cannot answer other nodes'),
  );
  const holders = new MemoryHolders(state.held);
  return new RoutedSearches({
    searches: context.searches,
    here: (work, tenant, signal) => workHere(context, work, tenant, signal),
    holders,
    standsIn: (units) => tell('memory.standsIn', { units }),
    progress,
    ask: new NodeLinks({ node, front, addressOf: holders.addressOf, log }).ask,
    node,
    meter,
  });
}

/** The built-in embedder takes less time than a call of another thread. */
function embedHere({ embedder, metrics }: FrontServicesOptions, text: string): Float32Array {
  const startedAtMs = performance.now();
  const vector = embedder.vectorsOf([text]);
  const ms = performance.now() - startedAtMs;
  metrics.embedders.called({ key: BUILTIN.key, kind: 'queries', texts: 1, ms, failed: false });
  return vector;
}

/** Offers searches to the recall sampler of the main thread, no more often than it can use them. */
class Offers {
  private dueAtMs = 0;

  constructor(
    private readonly everyMs: number,
    private readonly send: (collection: CollectionId, sampled: SampledSearch) => Promise<unknown>,
  ) {}

  readonly offer: LoggedSearchContext['search']['recallSampler']['offer'] = ({ id }, { vector, k, filter }) => {
    if (this.everyMs === 0 || performance.now() < this.dueAtMs) return;
    this.dueAtMs = performance.now() + this.everyMs;
    this.send(id, { vector, k, ...(filter && { filter }) }).catch(() => undefined);
  };
}

/** What a front thread reports of itself. */
export interface FrontReport {
  readonly counts: FrontCounts;
  /** Logged searches that are not on disk yet. */
  readonly logWaitingBytes: number;
}
