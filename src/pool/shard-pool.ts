// The shard workers, one a shard, under Piscina. A worker claims its shard in a slot of shared memory; the load
// balancer sends each batch to the thread that the slot names. A worker that dies is replaced by Piscina; until the new
// one has opened the shard, whatever asks for it is refused with 503 `shard_unavailable`, never held. Front thread.
import { Piscina } from 'piscina';
import { AppError, type Outcome } from '../api/errors.js';
import type { CollectionId } from '../api/ids.js';
import type { Log, LogNote } from '../base/log.js';
import {
  type ShardAnswer,
  type ShardCommand,
  type ShardCommands,
  type ShardOp,
  type ShardWorkerStart,
  type SharedShards,
  WRITE_OPS,
  collectionIn,
} from '../engine/write/commands.js';
import type { PoolMeters } from './pool-metrics.js';
import { type Quarantine, guardedIn } from './quarantine.js';
import { type Ask, Lane, type LaneOptions } from './request-queue.js';
import { LoadedThreads, logNote, settleAll, workerOptions } from './worker-pool.js';
import { WriteGate } from './write-gate.js';

// Which thread owns which shard: a slot a shard in memory shared with the shard workers. A worker claims a vacant slot
// by itself (src/engine/memory/ownership.ts, which must agree on the layout); the front thread reads the slots, and vacates
// those of threads that have died.

/** [thread id of the owner, 0 for vacant; how often the shard has been claimed] */
const SLOT_WORDS = 2;

class OwnerSlots {
  private readonly words: Int32Array;

  constructor(readonly shards: number) {
    this.words = new Int32Array(new SharedArrayBuffer(shards * SLOT_WORDS * Int32Array.BYTES_PER_ELEMENT));
  }

  get memory(): SharedArrayBuffer {
    return this.words.buffer as SharedArrayBuffer;
  }

  /** Thread id of the owner; 0 for none. */
  ownerOf(shard: number): number {
    return Atomics.load(this.words, shard * SLOT_WORDS);
  }

  /** Lets the next worker claim the shard. */
  vacate(shard: number): void {
    Atomics.store(this.words, shard * SLOT_WORDS, 0);
    Atomics.notify(this.words, 0);
  }
}

// A shard as the pool sees it: its state and its two lanes, with their bounds, what a write costs there, and whose line
// a command waits in. Used by shard-pool.ts for every command.

/** The tenant of a collection; undefined for one that is gone. */
type TenantOf = (collection: CollectionId) => string | undefined;

/** Beyond that the server sheds: more than all requests of the default `limits.in_flight_max` can ask for at a time. */
const WAITING_MAX = 8192;

/** What makes a shard usable that has been claimed. */
const OPENING_OPS: ReadonlySet<ShardOp> = new Set<ShardOp>([
  'open',
  'loadCatalog',
  'loadStaged',
  'loadJobs',
  'loadTenants',
]);

/** After an opening that failed; by another worker: who knows what that one has left half open. */
export const OPEN_AGAIN_MS = 1000;

/**
 * Two messages under way keep the worker busy; few requests in each keep the queue at the worker short, which is not
 * fair.
 */
const READ_LANE: LaneOptions<ShardCommand> = { requestsMax: 8, messagesMax: 2, waitingMax: WAITING_MAX };

/** One message is one commit, during which no search of the shard is answered: some milliseconds of work. */
const WRITE_LANE: LaneOptions<ShardCommand> = {
  requestsMax: 128,
  messagesMax: 1,
  costMax: 64,
  quantum: 16,
  waitingMax: WAITING_MAX,
  costOf: costOfWrite,
};

/** Chunks that a step of a copy writes. */
const COPY_COST = 64;

/** Chunks to write, as far as the message tells; 1 for anything else. */
function costOfWrite(command: ShardCommand): number {
  if (command.op === 'copyStaged') return COPY_COST;
  return 'vectors' in command ? Math.max(1, command.vectors.length / command.collection.dim) : 1;
}

/** The tenant a command is for; '' for what the server asks for itself. */
function tenantIn(command: ShardCommand, tenantOf: TenantOf): string {
  if (!('collection' in command)) return '';
  const { collection } = command;
  if (typeof collection === 'number') return tenantOf(collection) ?? '';
  return ('tenant' in collection ? collection.tenant : tenantOf(collection.id)) ?? '';
}

/** A batch for the owner of a shard, as the load balancer looks at it. */
function pinned(shard: number, commands: ShardCommand[]): object {
  return { shard, commands, [Piscina.queueOptionsSymbol]: { shard } };
}

/** Of the workers, the one that is to take such a batch. */
function ownerAmong<W extends { id: number }>(slots: OwnerSlots, task: object, workers: W[]): W | null {
  const shard = (task as Record<symbol, { shard: number }>)[Piscina.queueOptionsSymbol]?.shard ?? 0;
  const owner = slots.ownerOf(shard);
  // A worker of another shard refuses the batch; no worker at all would stall the queue of every shard.
  return workers.find(({ id }) => id === owner) ?? workers[0] ?? null;
}

interface ShardSeat {
  /** It takes every command where it is open; where it is ready, all has been done too that follows the opening. */
  state: 'vacant' | 'opening' | 'open' | 'ready';
  readonly reads: Lane<ShardCommand, ShardAnswer<ShardOp>>;
  readonly writes: Lane<ShardCommand, ShardAnswer<ShardOp>>;
}

function createSeat(
  send: (batch: Ask<ShardCommand, ShardAnswer<ShardOp>>[]) => Promise<void>,
  meters?: PoolMeters,
): ShardSeat {
  const lane = (options: LaneOptions<ShardCommand>, name: string): ShardSeat['reads'] =>
    new Lane({ ...options, meter: meters?.lane('shard', name) }, send);
  return { state: 'vacant', reads: lane(READ_LANE, 'reads'), writes: lane(WRITE_LANE, 'writes') };
}

const isOpen = ({ state }: ShardSeat): boolean => state === 'open' || state === 'ready';

/** Whether a command can be sent now. */
const takes = (seat: ShardSeat, op: ShardOp): boolean =>
  isOpen(seat) || (seat.state === 'opening' && OPENING_OPS.has(op));

const unavailable = (): AppError => new AppError('shard_unavailable', undefined, { retryAfterS: 1 });

// What the shard pool is made with. Types only.
// Given by compose-context.ts; front thread.

interface ShardPoolOptions {
  /** As many shards as memories. */
  shared: SharedShards;
  log: Log;
  /** Makes a claimed shard usable by asking it `loadCatalog` and `open`; rejects when that fails. */
  open: (shard: number) => Promise<void>;
  /** Called once the shard takes every command. */
  opened: (shard: number) => Promise<void>;
  /** Whose line the asks about a collection wait in. */
  tenantOf: TenantOf;
  quarantine: Quarantine;
  meters?: PoolMeters;
}

type Answer = ShardAnswer<ShardOp>;

export class ShardPool {
  /** Where writes can be held for a moment. */
  readonly gate = new WriteGate();
  private readonly slots: OwnerSlots;
  private readonly seats: ShardSeat[];
  private readonly piscina: Piscina;
  private readonly threads: LoadedThreads;
  /** Threads that Piscina sends tasks to; one of them may still have to claim its shard. */
  private readonly readyThreads = new Set<number>();
  private closing = false;

  constructor(private readonly options: ShardPoolOptions) {
    const shards = options.shared.memories.length;
    this.slots = new OwnerSlots(shards);
    this.seats = Array.from({ length: shards }, (_, shard) =>
      createSeat((batch) => this.send(shard, batch), options.meters),
    );
    const start: ShardWorkerStart = { ...options.shared, owners: this.slots.memory };
    this.piscina = new Piscina({
      ...workerOptions('shard/worker.js', shards, start),
      loadBalancer: (task, workers) => ownerAmong(this.slots, task, workers),
    });
    this.threads = new LoadedThreads(this.piscina);
    options.meters?.watch('shard', this.piscina);
    this.piscina.on('message', (note: Partial<LogNote>) => (logNote(options.log, note), this.openClaimed()));
    this.piscina.on('workerCreate', ({ id }: { id: number }) => {
      this.readyThreads.add(id);
      this.openClaimed();
    });
    this.piscina.on('workerDestroy', () => this.vacateDead());
    this.piscina.on(
      'error',
      (error: Error) => (options.log.error({ fault: error.stack }, 'a shard worker died'), this.vacateDead()),
    );
  }

  get size(): number {
    return this.seats.length;
  }

  /** How many shards answer now. */
  get openCount(): number {
    return this.seats.filter(isOpen).length;
  }

  /** For how many of them all has been done that follows their opening. */
  get readyCount(): number {
    return this.seats.filter(({ state }) => state === 'ready').length;
  }

  /**
   * Asks the owner of a shard. What is asked in one turn of the event loop travels together; writes in one message at a
   * time. Tenants are served in turn. `answered` is called in the order of the answers. Rejects with AppError (a
   * refusal, `shard_unavailable`, `overloaded`) or WorkerFault.
   */
  async ask<O extends ShardOp>(
    shard: number,
    op: O,
    request: ShardCommands[O]['request'],
    answered?: (answer: ShardAnswer<O>) => void,
  ): Promise<ShardAnswer<O>> {
    const seat = this.seats[shard] as ShardSeat;
    const command = { op, ...request } as ShardCommand;
    // Behind the gate: the owner that there was in front of it may have a successor that opens the shard.
    const send = (): Promise<Answer> => {
      if (this.closing || !takes(seat, op)) throw unavailable();
      return seat[WRITE_OPS.has(op) ? 'writes' : 'reads'].ask(
        command,
        tenantIn(command, this.options.tenantOf),
        undefined,
        answered as ((answer: Answer) => void) | undefined,
      );
    };
    return (await this.options.quarantine.watch(guardedIn(command), () =>
      WRITE_OPS.has(op) ? this.gate.pass(collectionIn(command), send) : send(),
    )) as ShardAnswer<O>;
  }

  /** Asks the owner of every shard the same; the answers stand in the order of the shards. */
  askAll<O extends ShardOp>(op: O, request: ShardCommands[O]['request']): Promise<ShardAnswer<O>>[] {
    return this.seats.map((_, shard) => this.ask(shard, op, request));
  }

  /** Ends the thread that owns a shard, as a crash would: for tests. */
  async kill(shard: number): Promise<void> {
    await this.piscina.threads.find(({ threadId }) => threadId === this.slots.ownerOf(shard))?.terminate();
  }

  /**
   * Closes what any shard has opened, then ends the threads. Nothing that was asked before or is asked from now on is
   * done after it.
   */
  async close(): Promise<void> {
    this.closing = true;
    for (const { reads, writes } of this.seats) for (const lane of [reads, writes]) lane.fail(unavailable());
    await this.threads.whenAll();
    const claimed = this.seats.flatMap((_, shard) => (this.slots.ownerOf(shard) === 0 ? [] : [shard]));
    await Promise.allSettled(claimed.map((shard) => this.piscina.run(pinned(shard, []), { name: 'close' })));
    await this.threads.end();
  }

  private async send(shard: number, batch: Ask<ShardCommand, Answer>[]): Promise<void> {
    let outcomes: Outcome<Answer>[];
    try {
      outcomes = (await this.piscina.run(
        pinned(
          shard,
          batch.map(({ request }) => request),
        ),
      )) as Outcome<Answer>[];
    } catch (error) {
      this.options.log.warn({ shard, reason: (error as Error).message }, 'a shard worker died with requests under way');
      // Piscina tells of the death only once the thread is gone; until then more would be sent to it.
      this.vacateDead();
      for (const { reject } of batch) reject(unavailable());
      return;
    }
    settleAll(batch, outcomes, this.options.log);
  }

  /** A shard is opened when its worker has claimed it and Piscina knows the worker: these come in either order. */
  private openClaimed(): void {
    this.seats.forEach((seat, shard) => {
      const owner = this.slots.ownerOf(shard);
      if (!this.closing && seat.state === 'vacant' && this.readyThreads.has(owner)) void this.open(seat, shard, owner);
    });
  }

  private async open(seat: ShardSeat, shard: number, owner: number): Promise<void> {
    seat.state = 'opening';
    const startedAtMs = performance.now();
    const isOwned = (): boolean => !this.closing && this.slots.ownerOf(shard) === owner;
    try {
      await this.options.open(shard);
      if (!isOwned()) return;
      seat.state = 'open';
      await this.options.opened(shard);
      if (!isOwned()) return;
      seat.state = 'ready';
      this.options.log.info({ shard, openMs: Math.round(performance.now() - startedAtMs) }, 'shard open');
    } catch (error) {
      // The successor of one that has died meanwhile opens the shard itself, and is not to be ended for it.
      if (!isOwned()) return;
      this.options.log.error(
        { shard, fault: (error as Error).stack },
        'a shard could not be opened, and is tried again',
      );
      setTimeout(() => void (isOwned() && this.kill(shard)), OPEN_AGAIN_MS).unref();
    }
  }

  /** Frees the slots of threads that are gone, so that their successors can claim them. */
  private vacateDead(): void {
    const alive = new Set(this.piscina.threads.map(({ threadId }) => threadId));
    this.seats.forEach((seat, shard) => {
      const owner = this.slots.ownerOf(shard);
      if (owner === 0 || alive.has(owner)) return;
      this.readyThreads.delete(owner);
      seat.state = 'vacant';
      for (const lane of [seat.reads, seat.writes]) lane.fail(unavailable());
      this.slots.vacate(shard);
    });
  }
}
