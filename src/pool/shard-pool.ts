// The shards as seen from the main thread. Each shard has one worker thread that owns it, and two request queues, for
// reads and writes. A worker that dies is replaced at once; until its successor has opened the shard, requests are
// rejected with 503 `shard_unavailable` instead of waiting. Runs on the main thread.
import { AppError, type Result, shardUnavailable } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import { type Placement, shardsOf } from '../api/placement.js';
import type { Log } from '../base/log.js';
import { clearReader } from '../engine/memory/ownership.js';
import {
  type ShardAnswer,
  type ShardCommand,
  type ShardCommands,
  type ShardOp,
  type ShardWorkerStart,
  type SharedShards,
  collectionIn,
  isOfCatalog,
  traitsOf,
} from '../engine/write/commands.js';
import type { LogBatch, LogTarget } from '../engine/write/log-message.js';
import type { LogResults } from '../engine/write/logged.js';
import type { PoolMetrics } from './pool-metrics.js';
import type { Quarantine } from './quarantine.js';
import { type PendingRequest, REQUESTS_WAITING_MAX, RequestQueue, type RequestQueueOptions } from './request-queue.js';
import { WorkerPool, settleAll } from './worker-pool.js';
import { WriteGate } from './write-gate.js';

/** Pause after a failed opening. The worker is then replaced, because it may have left resources half open. */
export const OPEN_AGAIN_MS = 1000;

/** Two messages in flight keep the worker busy; few requests per message keep the queue at the worker short. */
const READS: RequestQueueOptions<ShardCommand> = {
  requestsMax: 8,
  messagesInFlightMax: 2,
  waitingMax: REQUESTS_WAITING_MAX,
};

/**
 * A write message is one commit, during which the shard answers no reads; the cost limit keeps it to some milliseconds.
 */
const WRITES: RequestQueueOptions<ShardCommand> = {
  requestsMax: 128,
  messagesInFlightMax: 1,
  costMax: 64,
  quantum: 16,
  waitingMax: REQUESTS_WAITING_MAX,
  costOf: costOfWrite,
};

/**
 * One message of the command log is synced while another one is applied. With more under way, messages are smaller, and
 * every one of them is synced by itself: 16 made a third fewer writes a second than 2 (`load cluster puts`). One at a
 * time, which waits for what is being applied, made as many for 32 clients, and a tenth fewer for 256.
 */
const LOGGED_WRITES: RequestQueueOptions<ShardCommand> = { ...WRITES, messagesInFlightMax: 2 };

/** Number of chunks that one step of a copy writes; changing a page of documents takes about as long. */
const COPY_COST = 64;

/** The number of chunks that the command writes, as far as known; 1 for other commands. */
function costOfWrite(command: ShardCommand): number {
  if (command.op === 'copyShadow' || command.op === 'deleteDocuments' || command.op === 'patchDocuments')
    return COPY_COST;
  return 'vectors' in command ? Math.max(1, command.vectors.length / command.collection.dim) : 1;
}

/**
 * The command log of a cluster: what changes a shard or the catalog goes into the log first, and every node applies it
 * from there.
 */
export interface CommandLog {
  /**
   * Appends commands. `settled` is called with their results, synchronously and in the order of the log, once this node
   * has applied them. Rejects with AppError if they may not be in the log.
   */
  append(
    target: LogTarget,
    commands: readonly ShardCommand[],
    settled: (results: Result<Answer>[]) => void,
  ): Promise<void>;
}

interface ShardPoolOptions {
  /** Defines the number of shards: one per memory. */
  shared: SharedShards;
  log: Log;
  /** Opens a shard with its new worker by the commands `loadCatalog` and `open`; rejects on failure. */
  open: (shard: number) => Promise<void>;
  /** Called once the shard accepts all commands. */
  opened: (shard: number) => Promise<void>;
  /** The tenant of a collection, under which its requests are queued; undefined if the collection is gone. */
  tenantOf: (collection: CollectionId) => string | undefined;
  /** The collection that has taken over the name of this one, which is still kept; undefined if none has. */
  successorOf: (collection: CollectionId) => CollectionId | undefined;
  quarantine: Quarantine;
  /** Absent on a single machine. */
  commandLog?: CommandLog | undefined;
  metrics?: PoolMetrics;
}

interface RequestHooks<O extends ShardOp> {
  /** Called in the order of the answers, as soon as they arrive. */
  answered?: (answer: ShardAnswer<O>) => void;
  /** For writes: called when the write has ended in whatever way, before anybody can hold the gate of its collection. */
  ended?: () => void;
}

type Answer = ShardAnswer<ShardOp>;
type ShardQueue = RequestQueue<ShardCommand, Answer>;

interface OwnedShard {
  /** An open shard accepts all commands; it is ready when `opened` has completed too. */
  state: 'down' | 'opening' | 'open' | 'ready';
  /** Incremented when the shard gets or loses a worker. */
  generation: number;
  readonly reads: ShardQueue;
  readonly writes: ShardQueue;
  readonly worker: WorkerPool;
}

const targetOf = (shard: number, { request }: PendingRequest<ShardCommand, Answer>): LogTarget =>
  isOfCatalog(request.op) ? 'catalog' : shard;

const isOpen = ({ state }: OwnedShard): boolean => state === 'open' || state === 'ready';

const takes = (owned: OwnedShard, op: ShardOp): boolean =>
  isOpen(owned) || (owned.state === 'opening' && traitsOf(op).opens === true);

export class ShardPool {
  /** The gate that can block writes. */
  readonly gate = new WriteGate();
  private readonly shards: OwnedShard[];
  private closing = false;

  constructor(private readonly options: ShardPoolOptions) {
    const { memories } = options.shared;
    const starts = new SharedArrayBuffer(memories.length * Int32Array.BYTES_PER_ELEMENT);
    this.shards = memories.map((_, shard) => this.create(shard, starts));
  }

  get size(): number {
    return this.shards.length;
  }

  /** The number of shards that accept all commands. */
  get openCount(): number {
    return this.shards.filter(isOpen).length;
  }

  /** The number of shards whose opening is complete. */
  get readyCount(): number {
    return this.shards.filter(({ state }) => state === 'ready').length;
  }

  /**
   * Sends a command to the owner of a shard. Commands of one turn of the event loop share a message; only one message
   * of writes is in flight at a time. Tenants are served in turn. Rejects with AppError (a client error,
   * `shard_unavailable`, `overloaded`, `collection_changed`) or WorkerError.
   */
  async request<O extends ShardOp>(
    shard: number,
    op: O,
    request: ShardCommands[O]['request'],
    { answered, ended }: RequestHooks<O> = {},
  ): Promise<ShardAnswer<O>> {
    const owned = this.shards[shard] as OwnedShard;
    const command = { op, ...request } as ShardCommand;
    const { writes, isGuarded } = traitsOf(op);
    // All is checked after passing the gate, because worker and collection may have been replaced meanwhile.
    const send = async (): Promise<Answer> => {
      if (this.closing || !takes(owned, op)) throw shardUnavailable();
      if (this.isLate(command)) throw new AppError('collection_changed', undefined, { retryAfterS: 1 });
      return owned[writes ? 'writes' : 'reads'].request(
        command,
        this.tenantIn(command),
        undefined,
        answered as ((answer: Answer) => void) | undefined,
      );
    };
    const collection = collectionIn(command);
    return (await this.options.quarantine.watch(isGuarded && collection, () =>
      writes ? this.gate.shared(collection, ended ? () => send().finally(ended) : send) : send(),
    )) as ShardAnswer<O>;
  }

  /** Sends the same command to the owner of every shard; the answers are in the order of the shards. */
  requestAll<O extends ShardOp>(op: O, request: ShardCommands[O]['request']): Promise<ShardAnswer<O>>[] {
    return this.shards.map((_, shard) => this.request(shard, op, request));
  }

  /** Sends the same command to the owners of the shards of a collection; the answers are in the order of its shards. */
  requestOf<O extends ShardOp>(
    collection: Placement,
    op: O,
    request: ShardCommands[O]['request'],
  ): Promise<ShardAnswer<O>>[] {
    return shardsOf(collection, this.size).map((shard) => this.request(shard, op, request));
  }

  /**
   * Releases what a thread that has ended held of the shared memories as a reader. Any command makes the owners clean up
   * the rest.
   */
  releaseReader(threadId: number): void {
    for (const memory of this.options.shared.memories.flat()) clearReader(memory, threadId);
    if (!this.closing) void Promise.allSettled(this.requestAll('counts', { collections: [] }));
  }

  /** Terminates the worker of a shard, as a crash would. */
  async kill(shard: number): Promise<void> {
    await this.shards[shard]?.worker.kill();
  }

  /** Rejects all queued and later requests, closes the shards, and ends the threads. */
  async close(): Promise<void> {
    this.closing = true;
    this.shards.forEach(failQueues);
    await Promise.all(this.shards.map(closeShard));
  }

  /**
   * Whether a client's write would reach only a collection that another has taken the name over from, where nobody would
   * find it.
   */
  private isLate(command: ShardCommand): boolean {
    const collection = collectionIn(command);
    if (!traitsOf(command.op).isOfClient || collection === undefined) return false;
    const successor = this.options.successorOf(collection);
    if (successor === undefined) return false;
    const others = ('dualWrites' in command && command.dualWrites) || [];
    return !others.some((other) => ('collection' in other ? other.collection : other).id === successor);
  }

  private create(shard: number, starts: SharedArrayBuffer): OwnedShard {
    const { shared, log, metrics } = this.options;
    const { commandLog } = this.options;
    const queue = (
      options: RequestQueueOptions<ShardCommand>,
      name: string,
      send: (batch: PendingRequest<ShardCommand, Answer>[]) => Promise<void>,
    ): ShardQueue => new RequestQueue({ ...options, metrics: metrics?.queue('shard', name) }, send);
    const toOwner = (batch: PendingRequest<ShardCommand, Answer>[]): Promise<void> => this.send(shard, batch);
    const owned: OwnedShard = {
      state: 'down',
      generation: 0,
      reads: queue(READS, 'reads', toOwner),
      writes: commandLog
        ? queue(LOGGED_WRITES, 'writes', (batch) => this.log(commandLog, shard, batch))
        : queue(WRITES, 'writes', toOwner),
      worker: new WorkerPool({
        program: new URL('../../workers/shard/worker.js', import.meta.url),
        name: 'a shard worker',
        threads: 1,
        workerData: { ...shared, shard, starts } satisfies ShardWorkerStart,
        log,
        created: () => void this.open(shard),
        destroyed: () => {
          owned.state = 'down';
          owned.generation++;
          failQueues(owned);
        },
      }),
    };
    metrics?.watch('shard', owned.worker);
    return owned;
  }

  private async send(shard: number, batch: PendingRequest<ShardCommand, Answer>[]): Promise<void> {
    const { worker } = this.shards[shard] as OwnedShard;
    let results: Result<Answer>[];
    try {
      results = (await worker.run(batch.map(({ request }) => request))) as Result<Answer>[];
    } catch (error) {
      this.options.log.warn({ shard, reason: (error as Error).message }, 'a shard worker died while running commands');
      for (const { reject } of batch) reject(shardUnavailable());
      return;
    }
    settleAll(batch, results, this.options.log);
  }

  /** Sends writes by the command log, in messages for the shard and for the catalog. */
  private async log(
    commandLog: CommandLog,
    shard: number,
    batch: PendingRequest<ShardCommand, Answer>[],
  ): Promise<void> {
    const messages: Promise<void>[] = [];
    for (let from = 0; from < batch.length; ) {
      const target = targetOf(shard, batch[from] as PendingRequest<ShardCommand, Answer>);
      let end = from + 1;
      while (end < batch.length && targetOf(shard, batch[end] as PendingRequest<ShardCommand, Answer>) === target)
        end++;
      const some = batch.slice(from, end);
      const commands = some.map(({ request }) => request);
      messages.push(
        commandLog
          .append(target, commands, (results) => settleAll(some, results, this.options.log))
          .catch((error: unknown) => some.forEach(({ reject }) => reject(error))),
      );
      from = end;
    }
    await Promise.all(messages);
  }

  /**
   * Applies messages of the command log. Rejects with 503 `shard_unavailable` if the shard is not open, or its worker has
   * died meanwhile: the same messages are then applied again, and what has been applied already is left out.
   */
  async apply(batch: LogBatch): Promise<LogResults> {
    const owned = this.shards[batch.target === 'catalog' ? 0 : batch.target] as OwnedShard;
    if (this.closing || !isOpen(owned)) throw shardUnavailable();
    return (await owned.worker.run(batch, { name: 'apply' })) as LogResults;
  }

  /**
   * Copies the environments of all shards and of the catalog below a new folder, each as of a moment of its own. Rejects
   * with 503 `shard_unavailable` if a shard is not open or its worker dies meanwhile.
   */
  async copyTo(directory: string): Promise<void> {
    if (this.closing || this.openCount < this.size) throw shardUnavailable();
    // One after the other, so that only one of them keeps its pages from being reused at a time.
    for (const { worker } of this.shards) await worker.run(directory, { name: 'copyTo' });
  }

  /** Opens the shard with its new worker. */
  private async open(shard: number): Promise<void> {
    if (this.closing) return;
    const owned = this.shards[shard] as OwnedShard;
    const { log } = this.options;
    const generation = ++owned.generation;
    const isOwned = (): boolean => !this.closing && owned.generation === generation;
    owned.state = 'opening';
    const startedAtMs = performance.now();
    try {
      await this.options.open(shard);
      if (!isOwned()) return;
      owned.state = 'open';
      await this.options.opened(shard);
      if (!isOwned()) return;
      owned.state = 'ready';
      log.info({ shard, openMs: Math.round(performance.now() - startedAtMs) }, 'shard open');
    } catch (error) {
      // If the worker has died meanwhile, its successor opens the shard and must not be terminated.
      if (!isOwned()) return;
      log.error({ shard, error: (error as Error).stack }, 'a shard could not be opened; opening it will be retried');
      setTimeout(() => void (isOwned() && this.kill(shard)), OPEN_AGAIN_MS).unref();
    }
  }

  /** The tenant that a command is queued under; '' for internal commands. */
  private tenantIn(command: ShardCommand): string {
    if (!('collection' in command)) return '';
    const { collection } = command;
    const { tenantOf } = this.options;
    if (typeof collection === 'number') return tenantOf(collection) ?? '';
    return ('tenant' in collection ? collection.tenant : tenantOf(collection.id)) ?? '';
  }
}

function failQueues({ reads, writes }: OwnedShard): void {
  for (const queue of [reads, writes]) queue.fail(shardUnavailable());
}

/** A worker that is down, or hangs while loading, has nothing to close. */
async function closeShard(owned: OwnedShard): Promise<void> {
  const { worker } = owned;
  if ((await worker.whenReady()) && owned.state !== 'down') await worker.run([], { name: 'close' }).catch(() => {});
  await worker.end();
}
