// Applies the messages of the command log on this node: those of each target in the order of the log, several in a batch,
// and again until this machine can. Runs on the main thread; the owners of the shards do the work.
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogProgress } from '../base/log-progress.js';
import type { Log } from '../base/log.js';
import type { ShardOp } from '../engine/write/commands.js';
import { type LogBatch, type LogTarget, unpackMessage } from '../engine/write/log-message.js';
import type { LogHead, LogResults } from '../engine/write/logged.js';
import type { StreamMessage } from './log-stream.js';

export interface TargetQueuesOptions {
  /** The id of the stream. */
  readonly stream: string;
  readonly shards: number;
  /** Applies messages; rejects with 503 while the shard is not open. */
  readonly apply: (batch: LogBatch) => Promise<LogResults>;
  /** Where other threads see how far the node is. */
  readonly progress: LogProgress;
  /** Whether somebody on this node waits for the results of the message with this id. */
  readonly isAwaited: (id: string) => boolean;
  /** Whether messages may be applied now. */
  readonly mayApply: () => boolean;
  /** Called with each message that has been applied and what its commands came to. */
  readonly applied: (target: LogTarget, message: StreamMessage, results: LogResults['results'][number]) => void;
  /** Called with the latest states of a target. */
  readonly reached: (target: LogTarget, heads: readonly LogHead[]) => void;
  readonly log: Log;
}

/** The messages of a target that wait to be applied. */
interface Queue {
  readonly target: LogTarget;
  readonly waiting: StreamMessage[];
  isRunning: boolean;
  /** Everything up to here that concerns the target has been committed. */
  committed: number;
  /** Why this machine cannot apply the next message. */
  stalled: string | undefined;
}

const AGAIN_MS = 250;
const LOOK_MS = 2;
/** Messages and bytes that one batch of a target has. */
const BATCH_MESSAGES = 64;
const BATCH_BYTES = 4 * 1024 * 1024;
/** Bytes that wait in this process; more are read from the stream when these are applied. */
const WAITING_BYTES_MAX = 64 * 1024 * 1024;
/** Commands of the catalog by which a collection comes to have a name that another one had. */
const TAKES_OVER: ReadonlySet<ShardOp> = new Set<ShardOp>(['switchCollection', 'replaceDataset']);

export class TargetQueues {
  private readonly queues: readonly Queue[];
  private waitingBytes = 0;
  /** The last message of the stream, as it answered a question of that moment, until this node has applied it. */
  private asked: { readonly last: number; readonly atMs: number } | undefined;
  /** The last message that was received. */
  received = 0;

  constructor(private readonly options: TargetQueuesOptions) {
    const targets: LogTarget[] = ['catalog', ...Array.from({ length: options.shards }, (_, shard) => shard)];
    this.queues = targets.map((target) => ({
      target,
      waiting: [],
      isRunning: false,
      committed: 0,
      stalled: undefined,
    }));
  }

  /** Begins behind what the data of each target has applied. */
  begin(committed: ReadonlyMap<LogTarget, number>): void {
    for (const queue of this.queues) queue.committed = committed.get(queue.target) ?? 0;
    // The last message of a position may have been applied in part.
    this.received = Math.max(0, this.committed - 1);
    this.note();
  }

  /** Everything up to this message has been applied. */
  get applied(): number {
    return Math.min(...this.queues.map((queue) => this.appliedIn(queue)));
  }

  private readonly appliedIn = ({ waiting: [first] }: Queue): number => (first ? first.sequence - 1 : this.received);

  /** Everything up to this message has been committed; what comes after it is needed after a restart. */
  get committed(): number {
    return Math.min(...this.queues.map(({ committed }) => committed));
  }

  /** The last message of each target that has been committed. */
  targets(): Record<string, number> {
    return Object.fromEntries(this.queues.map(({ target, committed }) => [String(target), committed]));
  }

  /** Targets that this machine cannot apply the next message of, with the reasons. */
  stalls(): { target: LogTarget; reason: string }[] {
    return this.queues.flatMap(({ target, stalled }) => (stalled === undefined ? [] : [{ target, reason: stalled }]));
  }

  /** Whether nothing is being applied, nor waits to be. */
  get isIdle(): boolean {
    return this.queues.every(({ isRunning, waiting }) => !isRunning && waiting.length === 0);
  }

  /** Whether so much waits that no more should be read. */
  get isFull(): boolean {
    return this.waitingBytes >= WAITING_BYTES_MAX;
  }

  /** Takes the next message, and returns whether this node has its target. */
  take(message: StreamMessage): boolean {
    this.received = message.sequence;
    const queue = this.queues.find(({ target }) => String(target) === message.target);
    queue?.waiting.push(message);
    if (queue) this.waitingBytes += message.payload.length;
    this.note();
    if (queue && !queue.isRunning) void this.run(queue);
    return queue !== undefined;
  }

  /** Takes note of the last message that the stream had when it was asked at a time, in milliseconds since 1970. */
  noteEnd(last: number, atMs: number): void {
    this.asked = { last, atMs };
    this.note();
  }

  private note(): void {
    const { applied, asked } = this;
    const { progress } = this.options;
    progress.note(this.received, applied);
    for (const queue of this.queues)
      if (queue.target !== 'catalog') progress.noteThrough(queue.target, this.appliedIn(queue));
    if (asked && applied >= asked.last) {
      progress.noteCurrent(asked.atMs);
      this.asked = undefined;
    }
  }

  /** Applies what waits for a target, in order, until nothing is left. */
  private async run(queue: Queue): Promise<void> {
    const { options } = this;
    queue.isRunning = true;
    while (queue.waiting.length > 0 && options.mayApply()) {
      const next = batchOf(queue.waiting);
      const messages = queue.target === 'catalog' ? await this.applicable(next) : next;
      if (!options.mayApply()) break;
      let applied: LogResults;
      try {
        applied = await options.apply({
          target: queue.target,
          stream: options.stream,
          messages: messages.map(({ sequence, payload, id }) => ({
            sequence,
            payload,
            id,
            isAwaited: queue.target === 'catalog' || options.isAwaited(id),
          })),
          through: (messages.at(-1) as StreamMessage).sequence,
          throughId: messages.at(-1)?.id,
        });
      } catch (error) {
        this.stall(queue, (error as Error).message);
        await sleep(AGAIN_MS);
        continue;
      }
      applied.results.forEach((results, i) => this.settle(queue, messages[i] as StreamMessage, results));
      options.reached(queue.target, applied.heads);
      if (applied.stalled) {
        this.stall(queue, applied.stalled.message);
        await sleep(AGAIN_MS);
      } else queue.stalled = undefined;
    }
    queue.isRunning = false;
  }

  /**
   * Those of the next messages of the catalog that can be applied together. A collection takes over a name when all that
   * was written to the shards before has been applied, so that it lacks nothing that the one before it had.
   */
  private async applicable(messages: StreamMessage[]): Promise<StreamMessage[]> {
    const at = messages.findIndex(({ payload }) => unpackMessage(payload).some(({ op }) => TAKES_OVER.has(op)));
    if (at !== 0) return at < 0 ? messages : messages.slice(0, at);
    const [first] = messages as [StreamMessage];
    const isBehind = (queue: Queue): boolean => queue.target !== 'catalog' && this.appliedIn(queue) < first.sequence;
    while (this.queues.some(isBehind) && this.options.mayApply()) await sleep(LOOK_MS);
    return [first];
  }

  private settle(queue: Queue, message: StreamMessage, results: LogResults['results'][number]): void {
    const { sequence, payload } = message;
    queue.waiting.shift();
    queue.committed = sequence;
    if (queue.target !== 'catalog') this.options.progress.noteLast(queue.target, sequence);
    this.waitingBytes -= payload.length;
    this.note();
    this.options.applied(queue.target, message, results);
  }

  private stall(queue: Queue, reason: string): void {
    if (queue.stalled !== reason)
      this.options.log.warn({ target: queue.target, reason }, 'a message of the command log cannot be applied now');
    queue.stalled = reason;
  }

  /**
   * Targets without messages write down how far they are if that is so many messages or more, so that the stream need
   * not keep what is before for them, or for a copy of their data. `idAt`: the id of a message, if it is known.
   */
  async advanceIdle(behindMin: number, idAt: (sequence: number) => string | undefined): Promise<void> {
    const { apply, stream } = this.options;
    for (const queue of this.queues) {
      const through = this.received;
      if (queue.isRunning || queue.waiting.length > 0 || through - queue.committed < behindMin) continue;
      const batch = { target: queue.target, stream, messages: [], through, throughId: idAt(through) };
      const done = await apply(batch).catch(() => undefined);
      if (done && queue.committed < through) queue.committed = through;
    }
  }
}

function batchOf(waiting: readonly StreamMessage[]): StreamMessage[] {
  let bytes = 0;
  const end = waiting.findIndex(({ payload }, i) => i === BATCH_MESSAGES || (bytes += payload.length) > BATCH_BYTES);
  return waiting.slice(0, end < 0 ? BATCH_MESSAGES : Math.max(1, end));
}
