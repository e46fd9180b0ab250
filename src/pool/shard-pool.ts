// The shard workers, one a shard, under Piscina. A worker claims its shard in a slot of shared memory; the load
// balancer sends each batch to the thread that the slot names. A worker that dies is replaced by Piscina; until the new
// one has opened the shard, whatever asks for it is refused with 503 `shard_unavailable`, never held. Front thread.
import { Piscina } from 'piscina';
import { collectionIn } from '../contract/collection-in.js';
import {
  WRITE_OPS,
  type ShardAnswer,
  type ShardCommand,
  type ShardCommands,
  type ShardOp,
  type ShardWorkerStart,
} from '../contract/messages.js';
import { type LogNote } from '../base/log.js';
import { type Outcome } from '../contract/errors.js';
import type { Ask } from './lane.js';
import { LoadedThreads } from './loaded-threads.js';
import { logNote, settleAll } from './outcomes.js';
import { OwnerSlots } from './owner-slots.js';
import { guardedIn } from './quarantine.js';
import type { ShardPoolOptions } from './shard-pool-options.js';
import {
  createSeat,
  isOpen,
  OPEN_AGAIN_MS,
  ownerAmong,
  pinned,
  takes,
  tenantIn,
  unavailable,
  type ShardSeat,
} from './shard-seat.js';
import { workerOptions } from './worker-options.js';
import { WriteGate } from './write-gate.js';

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
