// The shards as the front thread sees them: each has one worker thread, which owns it, in a pool of its own, and two
// request queues. A worker that dies has a successor at once; until it has opened the shard, requests for the shard are
// refused with 503 `shard_unavailable`, never held. Front thread.
import { type Outcome, shardUnavailable } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type { Log } from '../base/log.js';
import {
  type ShardAnswer,
  type ShardCommand,
  type ShardCommands,
  type ShardOp,
  type ShardWorkerStart,
  type SharedShards,
  collectionIn,
  traitsOf,
} from '../engine/write/commands.js';
import type { PoolMetrics } from './pool-metrics.js';
import type { Quarantine } from './quarantine.js';
import { type PendingRequest, REQUESTS_WAITING_MAX, RequestQueue, type RequestQueueOptions } from './request-queue.js';
import { WorkerPool, settleAll } from './worker-pool.js';
import { WriteGate } from './write-gate.js';

/** After an opening that failed. Another worker opens the shard then: who knows what that one has left half open. */
export const OPEN_AGAIN_MS = 1000;

/** Two messages in flight keep the worker busy; few requests in each keep the queue at the worker short. */
const READS: RequestQueueOptions<ShardCommand> = {
  requestsMax: 8,
  messagesInFlightMax: 2,
  waitingMax: REQUESTS_WAITING_MAX,
};

/** One message is one commit, during which no read of the shard is answered: some milliseconds of work. */
const WRITES: RequestQueueOptions<ShardCommand> = {
  requestsMax: 128,
  messagesInFlightMax: 1,
  costMax: 64,
  quantum: 16,
  waitingMax: REQUESTS_WAITING_MAX,
  costOf: costOfWrite,
};

/** Chunks that a step of a copy writes. */
const COPY_COST = 64;

/** Chunks to write, as far as the message tells; 1 for anything else. */
function costOfWrite(command: ShardCommand): number {
  if (command.op === 'copyStaged') return COPY_COST;
  return 'vectors' in command ? Math.max(1, command.vectors.length / command.collection.dim) : 1;
}

interface ShardPoolOptions {
  /** As many shards as memories. */
  shared: SharedShards;
  log: Log;
  /** Makes the shard of a new worker usable by asking for `loadCatalog` and `open`; rejects where that fails. */
  open: (shard: number) => Promise<void>;
  /** Called once the shard takes every command. */
  opened: (shard: number) => Promise<void>;
  /** The tenant of a collection, in whose line requests about it wait; undefined for a collection that is gone. */
  tenantOf: (collection: CollectionId) => string | undefined;
  quarantine: Quarantine;
  metrics?: PoolMetrics;
}

type Answer = ShardAnswer<ShardOp>;
type ShardQueue = RequestQueue<ShardCommand, Answer>;

interface OwnedShard {
  /** An open shard takes every command; when it is ready, all that follows the opening has been done too. */
  state: 'down' | 'opening' | 'open' | 'ready';
  /** Changes when the shard gets a worker and when it loses one. */
  generation: number;
  readonly reads: ShardQueue;
  readonly writes: ShardQueue;
  readonly worker: WorkerPool;
}

const isOpen = ({ state }: OwnedShard): boolean => state === 'open' || state === 'ready';

const takes = (owned: OwnedShard, op: ShardOp): boolean =>
  isOpen(owned) || (owned.state === 'opening' && traitsOf(op).opens === true);

export class ShardPool {
  /** Where writes can be held for a moment. */
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

  /** How many shards answer now. */
  get openCount(): number {
    return this.shards.filter(isOpen).length;
  }

  /** For how many of them all has been done that follows their opening. */
  get readyCount(): number {
    return this.shards.filter(({ state }) => state === 'ready').length;
  }

  /**
   * Asks the owner of a shard. What is asked in one turn of the event loop travels together; writes in one message at a
   * time. Tenants are served in turn. `answered` is called in the order of the answers. Rejects with AppError (a client
   * error, `shard_unavailable`, `overloaded`) or WorkerFault.
   */
  async ask<O extends ShardOp>(
    shard: number,
    op: O,
    request: ShardCommands[O]['request'],
    answered?: (answer: ShardAnswer<O>) => void,
  ): Promise<ShardAnswer<O>> {
    const owned = this.shards[shard] as OwnedShard;
    const command = { op, ...request } as ShardCommand;
    const { writes, isGuarded } = traitsOf(op);
    // Behind the gate: the worker that there was in front of it may have a successor that opens the shard.
    const send = (): Promise<Answer> => {
      if (this.closing || !takes(owned, op)) throw shardUnavailable();
      return owned[writes ? 'writes' : 'reads'].ask(
        command,
        this.tenantIn(command),
        undefined,
        answered as ((answer: Answer) => void) | undefined,
      );
    };
    const collection = collectionIn(command);
    return (await this.options.quarantine.watch(isGuarded && collection, () =>
      writes ? this.gate.shared(collection, send) : send(),
    )) as ShardAnswer<O>;
  }

  /** Asks the owner of every shard the same; the answers stand in the order of the shards. */
  askAll<O extends ShardOp>(op: O, request: ShardCommands[O]['request']): Promise<ShardAnswer<O>>[] {
    return this.shards.map((_, shard) => this.ask(shard, op, request));
  }

  /** Ends the worker of a shard, as a crash would. */
  async kill(shard: number): Promise<void> {
    await this.shards[shard]?.worker.kill();
  }

  /**
   * Closes what any shard has opened, then ends the threads. Nothing that was asked before or is asked from now on is
   * done after it.
   */
  async close(): Promise<void> {
    this.closing = true;
    this.shards.forEach(failQueues);
    await Promise.all(this.shards.map(closeShard));
  }

  private create(shard: number, starts: SharedArrayBuffer): OwnedShard {
    const { shared, log, metrics } = this.options;
    const queue = (options: RequestQueueOptions<ShardCommand>, name: string): ShardQueue =>
      new RequestQueue({ ...options, metrics: metrics?.queue('shard', name) }, (batch) => this.send(shard, batch));
    const owned: OwnedShard = {
      state: 'down',
      generation: 0,
      reads: queue(READS, 'reads'),
      writes: queue(WRITES, 'writes'),
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
    let results: Outcome<Answer>[];
    try {
      results = (await worker.run(batch.map(({ request }) => request))) as Outcome<Answer>[];
    } catch (error) {
      this.options.log.warn({ shard, reason: (error as Error).message }, 'a shard worker died with requests under way');
      for (const { reject } of batch) reject(shardUnavailable());
      return;
    }
    settleAll(batch, results, this.options.log);
  }

  /** Has the shard opened by its new worker. */
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
      // The successor of one that has died meanwhile opens the shard itself, and is not to be ended for it.
      if (!isOwned()) return;
      log.error({ shard, fault: (error as Error).stack }, 'a shard could not be opened, and is tried again');
      setTimeout(() => void (isOwned() && this.kill(shard)), OPEN_AGAIN_MS).unref();
    }
  }

  /** The tenant a command is for; '' for what the server asks for itself. */
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

/** A worker that is down, or that hangs while it loads, has nothing open. */
async function closeShard(owned: OwnedShard): Promise<void> {
  const { worker } = owned;
  if ((await worker.whenLoaded()) && owned.state !== 'down') await worker.run([], { name: 'close' }).catch(() => {});
  await worker.end();
}
