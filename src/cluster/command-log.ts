// The command log of a node: what changes a shard or the catalog is appended to a stream, and applied from there in the
// order of the stream, by this node as by all others. A write is answered when this node has applied it. Runs on the main
// thread.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type Result } from '../api/errors.js';
import type { PlacedMemory } from '../api/memory-placement.js';
import type { ShardAnswer, ShardCommand, ShardOp } from '../engine/write/commands.js';
import { type LogTarget, packMessage, unpackMessage } from '../engine/write/log-message.js';
import type { CommandLog } from '../pool/shard-pool.js';
import type { AppliedLog } from '../storage/journal.js';
import { LEAD, Leadership } from './leadership.js';
import { type LogStream, StreamFull, type StreamMessage } from './log-stream.js';
import type { NodeAddress } from './node-links.js';
import { type FenceReason, type KnownNodes, type NodeState, NodeStates, type ToldState } from './node-states.js';
import { type Difference, RecentMessages } from './recent-messages.js';
import { TargetQueues, type TargetQueuesOptions } from './target-queues.js';

type Results = Result<ShardAnswer<ShardOp>>[];

export interface ReplicatedLogOptions extends Pick<TargetQueuesOptions, 'shards' | 'apply' | 'progress' | 'log'> {
  readonly stream: LogStream;
  /** The id of this node. */
  readonly node: string;
  /** Called with the commands of another node that have changed the catalog, and their results. */
  readonly changed: (commands: readonly ShardCommand[], results: Results) => void;
  /** Called with what another node has written to a shard, refused or not; unpacks it when asked. */
  readonly written?: (commands: () => readonly ShardCommand[]) => void;
  /** Messages after this one have to be kept for other nodes; Infinity where none are. */
  readonly heldAfter?: () => number;
  /** Where this node answers others. */
  readonly address?: () => NodeAddress;
  /** What the memory of this node does not have as it should be; absent if the nodes do not share the memory. */
  readonly memory?: (() => PlacedMemory) | undefined;
  /** How long after its start a node deletes no messages from the stream; 15 seconds by default. */
  readonly trimMs?: number;
  /** The other nodes as they were known when this one ended. */
  readonly known?: KnownNodes;
}

interface Pending {
  readonly settled: (results: Results) => void;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** Where the stream has it; undefined until it says so. */
  sequence?: number;
  /** Whether it has come from the stream. */
  isReceived?: boolean;
}

/** An election of NATS takes up to ten seconds. */
const APPEND_MS = 15_000;
const PUBLISH_MS = 2000;
const AGAIN_MS = 50;
const LOOK_MS = 250;
const REST_MS = 2;
/**
 * After so long without a message, the stream may be as it was before: a server that comes back without what it had
 * acknowledged takes longer to lead.
 */
const PAUSE_MS = 500;
const GUARD_MS = 500;
/**
 * Looks that find a hole, a stream that is too short, or none, before it is believed: another replica may answer next. A
 * server that is cut off from the others does not know the latest messages, for as long as it takes it for the leader, and
 * servers that start may not know all streams yet.
 */
const DOUBTS_MAX = { hole: 3, regress: 16, recreated: 16 } as const;
/** All nodes have been heard of in this time after a start. */
const TRIM_MS = 15_000;
const TRIM_LOOK_MS = 5000;
/** Shares of the stream: from here on what all nodes have is deleted, and from here on what all that are there have. */
const HALF_FULL = 1 / 2;
const NEARLY_FULL = 3 / 4;
/** From here on writes are refused; the rest is for messages of the nodes themselves. */
const FULL = 15 / 16;
/** Messages that all nodes have, and that are kept until it is nearly full: nodes whose data differs see from where on. */
const KEPT_BEHIND = 64;
/** A node that has not found out in this time after its start what the stream has serves reads of what it has itself. */
const UNANSWERED_MS = 10_000;
const RECENT_TOLD = 16;
/** A target without messages writes its position when it is this many messages behind, or the stream is half full. */
const BEHIND_MAX = 1000;
const BARRIER = 'barrier';
/** How often a node that leads says so. */
const LEAD_MS = 3000;

export class ReplicatedLog implements CommandLog {
  private readonly queues: TargetQueues;
  private readonly leadership: Leadership;
  private readonly pending = new Map<string, Pending>();
  /** Another one each time that the node begins. Ids of messages begin with it, so that they differ from earlier ones. */
  readonly session = randomUUID();
  private appended = 0;
  /** What the data of each target has applied of the log. */
  private readonly begins = new Map<LogTarget, AppliedLog | null>();
  private hasStarted = false;
  private hasCaughtUp = false;
  private isFilling = false;
  private isClosed = false;
  /** When the last message was received. */
  private receivedAtMs = -Infinity;
  /** Whether messages stay in the stream for now. */
  private isResting = false as boolean;
  private readonly doubts = { hole: 0, regress: 0, recreated: 0 };
  /** Whether another node, or a message, contradicts what this node has received. */
  private isSuspicious = false;
  private isVerifying = false;
  /** Whether the last attempt to find out what the stream has failed. */
  private isUnverified = false;
  /** The nodes of the cluster, this one among them. */
  readonly nodes: NodeStates;
  /** The latest messages that were received. */
  readonly recent = new RecentMessages();
  private readonly timers: NodeJS.Timeout[] = [];
  private startedAtMs = Infinity;
  /** When the stream last told what it has, and nothing contradicted it. */
  private answeredAtMs = Infinity;
  /** The end and the size of the stream when it last told, with what has come since. */
  private stated = { last: 0, bytes: 0 };
  fenced: FenceReason | undefined;
  /** The stream that the data is of: not that of the node if there is another one of its name. */
  dataStream: string;

  constructor(private readonly options: ReplicatedLogOptions) {
    const { node, stream, known, shards, apply, progress, log } = options;
    this.dataStream = stream.id;
    this.nodes = new NodeStates(node, stream.id, known);
    this.leadership = new Leadership(node, stream);
    this.queues = new TargetQueues({
      stream: stream.id,
      shards,
      apply,
      progress,
      log,
      isAwaited: (id) => this.pending.has(id),
      mayApply: () => !this.isClosed && this.fenced !== 'diverged',
      applied: (target, message, results) => this.settle(target, message, results),
      reached: (target, heads) => this.nodes.applied(target, heads),
    });
  }

  /** The last message that was received. */
  get received(): number {
    return this.queues.received;
  }

  /** Everything up to this message has been applied on this node. */
  get applied(): number {
    return this.queues.applied;
  }

  /** Resolves to whether this node has applied everything up to a message within `waitMs`. */
  async reached(sequence: number, waitMs: number): Promise<boolean> {
    for (const untilMs = performance.now() + waitMs; this.applied < sequence; await sleep(REST_MS))
      if (this.isClosed || performance.now() > untilMs) return false;
    return true;
  }

  /** The log has to keep what comes after this message, for this node after a restart or for those that it gave copies. */
  private get committed(): number {
    return Math.min(this.queues.committed, this.options.heldAfter?.() ?? Infinity);
  }

  /** Whether nothing is being applied or is still to be applied, and nothing comes any more. */
  get isAtRest(): boolean {
    return this.fenced !== undefined && this.queues.isIdle;
  }

  /** What has been applied of each target. */
  targets(): Record<string, number> {
    return this.queues.targets();
  }

  /** Whether this node does what one node does for all: sweeps, growth, jobs. */
  get isLeader(): boolean {
    return this.leadership.isHere;
  }

  leaderNode(): string | undefined {
    return this.leadership.node;
  }

  /** Targets that this machine cannot apply the next message of, with the reasons. */
  stalls(): { target: LogTarget; reason: string }[] {
    return this.queues.stalls();
  }

  /**
   * Whether the node has caught up with the stream as it last heard of it. One that cannot hear of it, or finds another one,
   * serves reads of what it has.
   */
  get isReady(): boolean {
    const isUnanswered = performance.now() - this.answeredAtMs > UNANSWERED_MS && this.recent.begunThrough > 0;
    const isAlone = this.options.stream.isAway === true || this.fenced === 'recreated' || isUnanswered;
    return this.hasStarted && (this.hasCaughtUp || isAlone);
  }

  /** The share of the stream that is in use, 0 to 1, as far as this node has heard. */
  get fullness(): number {
    return this.stated.bytes / this.options.stream.bytesMax;
  }

  private get trimMs(): number {
    return this.options.trimMs ?? TRIM_MS;
  }

  /** Takes what the data of a shard that is open has applied of the log; reading begins when all is known. */
  opened(shard: number, { shard: own, catalog }: { shard: AppliedLog | null; catalog: AppliedLog | null }): void {
    this.begins.set(shard, own);
    if (shard === 0) this.begins.set('catalog', catalog);
    for (const { position } of [own, catalog].filter((each) => each !== null)) {
      if (position.stream !== this.options.stream.id) {
        this.dataStream = position.stream;
        this.fence('recreated');
      }
      if (position.id !== undefined)
        this.recent.begin(position.sequence, { id: position.id, wasApplied: position.done > 0 });
    }
    if (this.begins.size === this.options.shards + 1 && !this.hasStarted) this.start();
  }

  /** Takes the messages that were applied before the start, as far as no target lacks one of its own between them. */
  private recall(): void {
    const logs = [...this.begins].flatMap(([target, log]) =>
      log?.position.stream === this.dataStream ? [{ target, messages: log.messages }] : [],
    );
    const from = Math.max(...logs.map(({ messages: [first] }) => first?.sequence ?? 0));
    const all = logs.flatMap(({ target, messages }) =>
      messages.map((message): StreamMessage => ({ ...message, target: String(target) })),
    );
    for (const message of all.filter(({ sequence }) => sequence >= from).sort((a, b) => a.sequence - b.sequence))
      this.recent.add(message);
  }

  private start(): void {
    this.hasStarted = true;
    this.startedAtMs = performance.now();
    this.answeredAtMs = this.startedAtMs;
    this.recall();
    this.queues.begin(new Map([...this.begins].map(([target, log]) => [target, log?.position.sequence ?? 0])));
    this.begins.clear();
    const { stream } = this.options;
    stream.onStored((message) => this.heard(message));
    stream.onTold('state', (told) => this.compare(told as ToldState));
    this.tell();
    // What was applied before the start may not be in the stream any more.
    if (this.recent.begunThrough > 0) this.suspect();
    this.every(LOOK_MS, () => void this.fill());
    this.every(GUARD_MS, () => void this.guard());
    this.every(LEAD_MS, () => void this.lead().catch(() => undefined));
    this.every(Math.min(this.trimMs, TRIM_LOOK_MS), () => void this.trim().catch(() => undefined));
    void this.fill();
  }

  private every(ms: number, work: () => void): void {
    this.timers.push(setInterval(work, ms).unref());
  }

  /** Stops reading, and rejects what waits and what is still to come. The stream stays open for the caller to close. */
  close(): void {
    this.isClosed = true;
    for (const timer of this.timers) clearInterval(timer);
    this.rejectAll(shuttingDown());
  }

  async append(
    target: LogTarget,
    commands: readonly ShardCommand[],
    settled: (results: Results) => void,
  ): Promise<void> {
    if (this.isClosed) throw shuttingDown();
    if (this.fenced) throw fencedError(this.fenced);
    if (this.fullness > FULL) throw logFull();
    const { stream } = this.options;
    const payload = packMessage(commands);
    if (payload.length > stream.payloadBytesMax - 1024)
      throw new AppError(
        'request_too_large',
        `The documents of this write have ${payload.length} bytes with their vectors, and the command log of the cluster takes ${stream.payloadBytesMax}.`,
      );
    const id = this.nextId();
    await new Promise<void>((resolve, reject) => {
      this.pending.set(id, { settled, resolve, reject });
      void this.publish(String(target), payload, id);
    });
  }

  /**
   * Appends a message that changes nothing, and resolves to its sequence: a read that waits until this node has applied it
   * shows everything that was acknowledged before. Rejects with 503 `log_unavailable`.
   */
  async barrier(): Promise<number> {
    if (this.fenced) throw fencedError(this.fenced);
    const { stream } = this.options;
    const id = this.nextId();
    const { received } = this;
    let sequence: number;
    try {
      sequence = await retried(() => stream.publish(BARRIER, new Uint8Array(), id, PUBLISH_MS));
    } catch {
      throw new AppError('log_unavailable', undefined, { retryAfterS: 1 });
    }
    if (sequence > received) return sequence;
    // The stream has lost messages that this node has received before.
    this.fence('regress');
    throw fencedError('regress');
  }

  private nextId(): string {
    return `${this.session}.${++this.appended}`;
  }

  /** Publishes until the stream has the message, with the same id, so that it is there once. */
  private async publish(target: string, payload: Uint8Array, id: string): Promise<void> {
    const untilMs = performance.now() + APPEND_MS;
    while (this.pending.has(id)) {
      try {
        const sequence = await this.options.stream.publish(target, payload, id, PUBLISH_MS);
        const waiting = this.pending.get(id);
        if (waiting) waiting.sequence = sequence;
        // A sequence that was applied already, with another message, means that the stream has lost messages.
        if (sequence <= this.applied && waiting) this.fence('regress');
        return;
      } catch (error) {
        if (performance.now() > untilMs) return this.giveUp(id, error as Error);
        await sleep(AGAIN_MS);
      }
    }
  }

  private giveUp(id: string, error: Error): void {
    const waiting = this.pending.get(id);
    this.pending.delete(id);
    this.options.log.warn({ reason: error.message }, 'the command log has not taken a write');
    waiting?.reject(new AppError('log_unavailable', undefined, { retryAfterS: 1 }));
  }

  private heard(message: StreamMessage): void {
    if (this.mayNotDeliver()) return;
    if (this.recent.contradicts(message)) return this.suspect();
    const isNext = message.sequence === this.received + 1 && !this.isFilling;
    if (isNext && !this.queues.isFull && performance.now() - this.receivedAtMs < PAUSE_MS) this.deliver(message);
    else if (message.sequence > this.received) void this.fill();
  }

  private readonly mayNotDeliver = (): boolean =>
    this.isResting || this.isClosed || this.isSuspicious || this.fenced !== undefined;

  /** Reads what has been missed, until there is no more. */
  private async fill(): Promise<void> {
    if (this.isFilling || this.mayNotDeliver()) return;
    this.isFilling = true;
    try {
      for (let before = -1; before < this.received && !this.queues.isFull; ) {
        before = this.received;
        let isContinued = performance.now() - this.receivedAtMs < PAUSE_MS;
        for await (const message of this.options.stream.read(this.received + 1)) {
          if (message.sequence <= this.received) continue;
          if (this.mayNotDeliver()) return;
          if (message.sequence !== this.received + 1) return this.doubt('hole');
          if (!isContinued && !(await this.hasReceived())) return this.suspect();
          isContinued = true;
          if (this.recent.contradicts(message)) return this.fence('regress');
          this.deliver(message);
        }
      }
      if (!this.hasCaughtUp && !this.queues.isFull) await this.checkCaughtUp();
    } catch {
      // The stream does not answer now, or has nothing more.
      if (!this.hasCaughtUp) await this.checkCaughtUp();
    } finally {
      this.isFilling = false;
    }
  }

  /** Whether the stream still has the last message that this node has received, as far as that is known. */
  private async hasReceived(): Promise<boolean> {
    if (this.received === 0) return true;
    for await (const message of this.options.stream.read(this.received)) return !this.recent.contradicts(message);
    return true;
  }

  /**
   * Runs `work` while nothing of the log is applied on this node, when all that it has received is: the data is then as
   * of one moment of the log. Rejects with 503 `shard_unavailable` if a shard cannot apply what it has received.
   */
  async atRest<T>(work: () => Promise<T>): Promise<T> {
    while (this.isResting) await sleep(REST_MS);
    this.isResting = true;
    try {
      while (!this.queues.isIdle) {
        if (this.stalls().length > 0) throw new AppError('shard_unavailable', undefined, { retryAfterS: 5 });
        await sleep(REST_MS);
      }
      return await work();
    } finally {
      this.isResting = false;
      void this.fill();
    }
  }

  private async checkCaughtUp(): Promise<void> {
    const state = await this.options.stream.state().catch(() => undefined);
    if (state && this.received >= state.last && this.applied >= state.last) this.hasCaughtUp = true;
  }

  private deliver(message: StreamMessage): void {
    this.receivedAtMs = performance.now();
    if (message.sequence > this.stated.last) this.stated.bytes += message.payload.length;
    this.recent.add(message);
    this.doubts.hole = 0;
    const own = this.pending.get(message.id);
    if (own) own.isReceived = true;
    if (message.target === LEAD) this.leadership.heard(message);
    if (!this.queues.take(message) && message.target !== LEAD && message.target !== BARRIER)
      this.options.log.error({ target: message.target }, 'a message of the command log has no target');
  }

  /** Takes what a message has come to on this node. */
  private settle(target: LogTarget, { payload, id }: StreamMessage, results: Results): void {
    const own = this.pending.get(id);
    this.pending.delete(id);
    if (own) {
      own.settled(results);
      own.resolve();
    } else if (target === 'catalog') {
      this.options.changed(unpackMessage(payload), results);
    } else {
      this.options.written?.(() => unpackMessage(payload));
    }
  }

  private async guard(): Promise<void> {
    this.tell();
    this.keepKnown();
    if (this.isSuspicious) void this.verify();
    await this.advanceIdle(this.fullness > HALF_FULL ? 1 : BEHIND_MAX);
    const askedAtMs = Date.now();
    // Where another node has applied more than the stream has, or the stream has acknowledged more, it has lost messages.
    const told = Math.max(this.acknowledged(), ...this.nodes.all().map(({ applied }) => applied));
    const state = await this.options.stream.state().catch(() => undefined);
    if (!state || this.isClosed) return;
    if (state.id === '') this.doubt('recreated');
    else if (state.id !== this.options.stream.id) this.fence('recreated');
    else if (state.first > this.received + 1) this.fence('trimmed');
    else if (state.last < Math.max(told, this.applied, this.recent.begunThrough)) this.doubt('regress');
    else {
      this.doubts.regress = 0;
      this.doubts.recreated = 0;
      this.stated = { last: state.last, bytes: state.bytes };
      if (!this.isSuspicious) this.answeredAtMs = performance.now();
      this.queues.noteEnd(state.last, askedAtMs);
    }
  }

  /** The last message of this node that the stream has acknowledged and has yet to deliver. Gives up those that it has lost. */
  private acknowledged(): number {
    let last = 0;
    for (const [id, { sequence, isReceived }] of this.pending) {
      if (sequence === undefined || isReceived) continue;
      if (sequence <= this.received) this.giveUp(id, new Error('the stream has another message in its place'));
      else last = Math.max(last, sequence);
    }
    return last;
  }

  private doubt(reason: keyof typeof DOUBTS_MAX): void {
    if (++this.doubts[reason] > DOUBTS_MAX[reason]) this.fence(reason);
  }

  /** Takes no writes any more, because another stream has taken over from this one. */
  leave(): void {
    this.fence('recreated');
  }

  private fence(reason: FenceReason): void {
    if (this.fenced) return;
    this.fenced = reason;
    this.options.log.error({ reason }, `the node takes no writes any more: ${FENCED[reason]}`);
    this.rejectAll(fencedError(reason));
  }

  private rejectAll(error: Error): void {
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
  }

  /** Has targets without messages write down how far they are if that is so many messages or more. */
  advanceIdle(behindMin: number): Promise<void> {
    return this.queues.advanceIdle(behindMin, (sequence) => this.recent.idAt(sequence));
  }

  /**
   * Deletes messages that every node has applied, once the stream is half full. Nodes that were not heard of for a day do
   * not count; they begin with a copy of another one. Fenced nodes may have applied other messages, and need them all to
   * see which. Once it is nearly full, the nodes that are there and not fenced decide, if two or more are there. Where
   * nobody leads and the stream is full, every node does it, since there may be no room to lead.
   */
  private async trim(): Promise<void> {
    const { stream, log } = this.options;
    if (this.fullness < HALF_FULL || this.fenced || performance.now() - this.startedAtMs < this.trimMs) return;
    // It is asked again because what is deleted might be of another stream of its name.
    const { id, first, bytes } = await stream.state();
    const fullness = bytes / stream.bytesMax;
    const isOurs = this.isLeader || (fullness > FULL && this.leaderNode() === undefined);
    if (!isOurs || id !== stream.id || fullness < HALF_FULL) return;
    const there = this.nodes.counted();
    const isShort = fullness > NEARLY_FULL && there.length > 1;
    const holding = isShort ? there.filter(({ fenced }) => fenced === null) : this.nodes.all();
    const has = ({ fenced, committed }: NodeState): number => (fenced === null ? committed : 0);
    const before = Math.min(this.committed, ...holding.map(has)) - (isShort ? 0 : KEPT_BEHIND);
    if (before <= first) return;
    const left = this.nodes.all().flatMap((each) => (has(each) < before ? [each.node] : []));
    if (left.length > 0)
      log.warn({ nodes: left }, 'the command log is nearly full: what nodes lack that are away is deleted from it');
    await stream.trim(before);
  }

  /** The sessions of the nodes that are there, this one's among them. */
  sessions(): ReadonlySet<string> {
    return new Set([this.session, ...this.nodes.sessions()]);
  }

  private tell(): void {
    const { node, stream } = this.options;
    const { received, applied, committed, isAtRest, fenced = null } = this;
    const memory = this.options.memory?.();
    const recent = this.recent.latest(RECENT_TOLD);
    stream.tell('state', {
      node,
      session: this.session,
      received,
      applied,
      committed,
      fenced,
      isAtRest,
      targets: this.fenced === undefined ? undefined : this.targets(),
      memory,
      address: this.options.address?.(),
      heads: this.nodes.headsToTell(),
      recent,
    } satisfies ToldState);
  }

  /** Takes the state of a node, and compares that of another one with its own. */
  private compare(told: ToldState): void {
    this.nodes.hear(told);
    const { node, recent = [] } = told;
    if (node === this.options.node || this.fenced) return;
    if (recent.some(([sequence, id]) => this.recent.contradicts({ sequence, id }))) this.suspect();
    const difference = this.nodes.difference(node);
    if (difference !== 'none') this.suspect();
    if (difference === 'believed') this.fence('diverged');
  }

  /**
   * Whether the stream has the messages that this node has received, as far as it knows; if not, fences it. Rejects if the
   * stream does not answer.
   */
  async agrees(): Promise<boolean> {
    if ((await this.difference()).isOther) {
      const { stream } = this.options;
      this.fence((await stream.state()).id === stream.id ? 'regress' : 'recreated');
    }
    return this.fenced === undefined;
  }

  /** Applies nothing more until it is known whether the stream has what this node has received. */
  private suspect(): void {
    this.isSuspicious = true;
    void this.verify();
  }

  private async verify(): Promise<void> {
    if (this.isVerifying || this.fenced) return;
    this.isVerifying = true;
    try {
      if (await this.agrees()) this.isSuspicious = false;
      this.isUnverified = false;
    } catch (error) {
      // The guard tries again.
      const reason = (error as Error).message;
      if (!this.isUnverified)
        this.options.log.warn({ reason }, 'nothing is applied until it is known what the command log has');
      this.isUnverified = true;
    } finally {
      this.isVerifying = false;
    }
    void this.fill();
  }

  /** How the latest messages that this node has received differ from the stream. Rejects if that does not answer. */
  async difference(): Promise<Difference> {
    const { stream } = this.options;
    const through = this.recent.last;
    const { barrier, isCertain } = await this.endOfStream();
    // Messages that are received meanwhile may well come after it.
    const last = through > barrier ? barrier : Infinity;
    const first = Math.max((await stream.state()).first, this.recent.first);
    const ids = new Map<number, string>();
    const next = await this.readIds(ids, first, Math.min(barrier, this.recent.last));
    const found = this.recent.differenceFrom({ first, last, ids });
    if (found.isOther && !isCertain) throw new Error('the stream has no room for a question');
    if (found.alone.length === 0) return found;
    // Who has sent what the stream has lost may have sent it again.
    await this.readIds(ids, next, barrier);
    return this.recent.differenceFrom({ first, last, ids });
  }

  /**
   * The sequence of a new message that changes nothing: what comes before it is known to a majority of the servers. Where
   * there is no room for one, what a server takes for the end, which is not certain.
   */
  private async endOfStream(): Promise<{ barrier: number; isCertain: boolean }> {
    const { stream } = this.options;
    try {
      return { barrier: await stream.publish(BARRIER, new Uint8Array(), this.nextId(), PUBLISH_MS), isCertain: true };
    } catch (error) {
      if (!(error instanceof StreamFull)) throw error;
      return { barrier: (await stream.state()).last, isCertain: false };
    }
  }

  /** Reads the ids of the messages up to one, and resolves to the next sequence. */
  private async readIds(ids: Map<number, string>, first: number, through: number): Promise<number> {
    let next = first;
    for (const untilMs = performance.now() + PUBLISH_MS; next <= through; ) {
      const before = next;
      for await (const { sequence, id } of this.options.stream.read(next)) {
        ids.set(sequence, id);
        next = sequence + 1;
      }
      if (next > before) continue;
      // The replica that was asked may not have the latest messages yet.
      if (performance.now() > untilMs) throw new Error('the stream has no more messages');
      await sleep(AGAIN_MS);
    }
    return next;
  }

  private keepKnown(): void {
    try {
      this.nodes.keep();
    } catch (error) {
      this.options.log.warn({ reason: (error as Error).message }, 'the other nodes cannot be kept for the next start');
    }
  }

  private async lead(): Promise<void> {
    if (!this.fenced && this.hasCaughtUp) await this.leadership.renew(this.nextId(), this.startedAtMs);
  }
}

/** Tries for as long as an election may take. */
export async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (const untilMs = performance.now() + APPEND_MS; ; ) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > untilMs) throw error;
      await sleep(AGAIN_MS);
    }
  }
}

const FENCED: Readonly<Record<FenceReason, string>> = {
  hole: 'the stream lacks messages in its middle',
  regress: 'the stream ends before messages that were applied',
  recreated: 'the stream that the data was written by is not there, or another one has its name',
  trimmed: 'messages that it has not applied are not in the stream any more',
  diverged: 'another node has other results of the same messages',
};

const fencedError = (reason: FenceReason): AppError =>
  new AppError('cluster_fenced', undefined, { details: { reason }, retryAfterS: 5 });

const logFull = (): AppError =>
  new AppError(
    'log_unavailable',
    'The command log of the cluster is full, so nothing is written: a node that does not apply it, or is away, keeps it from being deleted.',
    { retryAfterS: 5 },
  );

const shuttingDown = (): AppError => new AppError('shutting_down', undefined, { retryAfterS: 1 });
