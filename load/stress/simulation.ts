// A simulation of the cluster's protocol: real command logs, recoveries and decisions to join, over a stream, a network,
// disks and a clock that are simulated, so that minutes take milliseconds and a seed gives the same run. Nodes die and are
// cut off, the stream stops, is slow, loses what it has acknowledged at its end or in its middle, or all of it, and answers
// from a replica that is behind; shards stop applying, and one comes to another result than on the other nodes; the clock
// jumps. Then everything is mended, and all nodes must come to the same data, with every acknowledged write in it once.
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { install } from '@sinonjs/fake-timers';
import type { Result } from '../../src/api/errors.js';
import { LogProgress } from '../../src/base/log-progress.js';
import type { Log } from '../../src/base/log.js';
import { OperatorError } from '../../src/base/operator-error.js';
import { type Prng, createPrng } from '../../src/base/prng.js';
import { ReplicatedLog } from '../../src/cluster/command-log.js';
import type { KnownNode } from '../../src/cluster/node-states.js';
import { wayToJoin } from '../../src/cluster/joining.js';
import {
  type LogStream,
  type Rebuild,
  StreamFull,
  type StreamMessage,
  type StreamState,
} from '../../src/cluster/log-stream.js';
import type { JoinOptions } from '../../src/cluster/node.js';
import { Recovery } from '../../src/cluster/recovery.js';
import type { ShardCommand } from '../../src/engine/write/commands.js';
import { type LogBatch, type LogTarget, unpackMessage } from '../../src/engine/write/log-message.js';
import type { LogHead, LogResults } from '../../src/engine/write/logged.js';
import type { AppliedMessage } from '../../src/storage/applied-messages.js';
import type { AppliedLog, LogPosition } from '../../src/storage/journal.js';

export interface SimulationOptions {
  readonly seed: number;
  /** Whether the stream may lose what it has acknowledged. */
  readonly losses: boolean;
  /** Takes lines that tell what happens. */
  readonly trace?: (line: string) => void;
  /** A fault of the protocol that the checks must find. */
  readonly planted?: 'leaves out a write' | 'forgets ids' | 'applies twice';
}

export interface SimulationReport {
  readonly seed: number;
  /** Writes that were acknowledged. */
  readonly writes: number;
  readonly strongReads: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly rebuilds: number;
  readonly copies: number;
  /** Virtual seconds from the end of the faults and writes until all nodes agreed. */
  readonly healedS: number;
  /** Nodes that an operator has to look at, with what they say. */
  readonly needOperator: readonly string[];
  readonly violations: readonly string[];
}

const NODES = ['a', 'b', 'c'];
const TARGETS: readonly LogTarget[] = ['catalog', 0, 1];
const FAULTS_MS = 40_000;
/** A rebuild takes some 15 seconds, and one node after the other begins anew. */
const HEALED_MS = 180_000;
/** How long clients go on after the faults where nodes may differ, since nodes compare what they have while they write. */
const COMPARED_MS = 30_000;
/** How long all nodes have to agree; what one has missed it notices in this time. */
const STILL_MS = 5000;
const LOOK_MS = 500;
/** Less than in a server, because fewer messages are written. */
const BLOCK_MESSAGES = 8;
const STREAM_BYTES_MAX = 40_000;
const TRIM_MS = 5000;
const COPY_WAIT_MS = 20_000;
const LATE_MS = 4000;
const ELECTION_MS = 600;

/** The real one, whatever the clock is. */
const nextTurn = setImmediate;
const turn = (): Promise<void> => new Promise((resolve) => nextTurn(resolve));

const nameOf = (command: ShardCommand): string => (command as unknown as { name: string }).name;
const commandOf = (name: string): ShardCommand => ({ op: 'counts', name }) as unknown as ShardCommand;
const refused = (message: string): Error => new Error(message);

/** What the log servers keep of one stream. */
class StoredStream {
  readonly messages: StreamMessage[] = [];
  private readonly ids = new Map<string, number>();
  first = 1;
  last = 0;

  constructor(
    readonly id: string,
    readonly rebuild: Rebuild | undefined,
    private readonly forgetsIds: boolean,
  ) {}

  store(target: string, payload: Uint8Array, id: string): { sequence: number; message?: StreamMessage } {
    const known = this.forgetsIds ? undefined : this.ids.get(id);
    if (id !== '' && known !== undefined) return { sequence: known };
    if (this.bytes + payload.length > STREAM_BYTES_MAX) throw new StreamFull();
    const message = { sequence: ++this.last, target, payload, id };
    this.messages.push(message);
    if (id !== '') this.ids.set(id, message.sequence);
    return { sequence: message.sequence, message };
  }

  get bytes(): number {
    return this.messages.reduce((sum, { payload }) => sum + payload.length + 100, 0);
  }

  lastOf(target: string): StreamMessage | undefined {
    return this.messages.findLast((message) => message.target === target);
  }

  trim(before: number): void {
    while ((this.messages[0]?.sequence ?? Infinity) < before) this.messages.shift();
    this.first = Math.max(this.first, before);
  }

  loseEnd(count: number): void {
    for (const { id } of this.messages.splice(-count, count)) this.ids.delete(id);
    this.last = this.messages.at(-1)?.sequence ?? this.first - 1;
  }

  loseOne(at: number): void {
    this.messages.splice(at, 1);
  }
}

/** The way between a node and the log servers. */
interface Link {
  sends: boolean;
  receives: boolean;
  /** The server that it is connected to lacks so many of the latest messages. */
  behind: number;
}

interface Told {
  readonly of: string;
  readonly take: (what: unknown) => void;
}

/** The log servers, with all streams of the cluster, and the network to the nodes. */
class LogServers {
  /** By their generations; empty once the servers have lost everything. */
  streams: StoredStream[] = [];
  isDown = false;
  /** Milliseconds that a message is under way at most. */
  slowMs = 3;
  private made = 0;
  rebuilds = 0;
  private readonly stored = new Map<object, { generation: number; link: Link; take: (m: StreamMessage) => void }>();
  private readonly told = new Map<object, Told & { generation: number; link: Link }>();

  constructor(
    readonly prng: Prng,
    private readonly planted: SimulationOptions['planted'],
  ) {
    this.add(undefined);
  }

  private add(rebuild: Rebuild | undefined): StoredStream {
    const id = rebuild?.stream ?? `stream-${this.made++}`;
    const stream = new StoredStream(id, rebuild, this.planted === 'forgets ids');
    this.streams[rebuild?.generation ?? 0] = stream;
    return stream;
  }

  get latest(): StoredStream | undefined {
    return this.streams.at(-1);
  }

  /** The latest stream, which is made if there is none. */
  get found(): StoredStream {
    return this.latest ?? this.add(undefined);
  }

  chance(share: number): boolean {
    return this.prng.next() < share;
  }

  /** Most messages take no time that matters. */
  private async underWay(): Promise<void> {
    if (this.chance(0.3)) await sleep(this.prng.int(this.slowMs));
  }

  private later(work: () => void): void {
    setTimeout(work, this.prng.int(this.slowMs));
  }

  /** A question to the servers, which gets no answer where the way is cut. */
  private async asked<T>(link: Link, timeoutMs: number, work: () => T): Promise<T> {
    await this.underWay();
    if (!link.sends) {
      // What is under way when the way is cut may come later.
      if (this.chance(0.3)) setTimeout(() => this.takeLate(work), this.prng.int(LATE_MS));
      await sleep(timeoutMs);
      throw refused('timeout');
    }
    if (this.isDown) {
      await sleep(this.chance(0.5) ? 1 : timeoutMs);
      throw refused('no responders');
    }
    const answer = work();
    await this.underWay();
    if (link.receives && !this.chance(0.02)) return answer;
    await sleep(timeoutMs);
    throw refused('timeout');
  }

  private takeLate(work: () => unknown): void {
    try {
      if (!this.isDown) work();
    } catch {
      // Nobody hears that it was refused.
    }
  }

  private store(generation: number, target: string, payload: Uint8Array, id: string): number {
    const { sequence, message } = this.named(generation).store(target, payload, id);
    if (message)
      for (const { generation: of, link, take } of this.stored.values())
        if (of === generation && link.receives && !this.chance(0.1)) this.later(() => link.receives && take(message));
    return sequence;
  }

  /** The stream that has the name of a generation. */
  private named(generation: number): StoredStream {
    const stream = this.streams[generation];
    if (!stream) throw refused('there is no such stream');
    return stream;
  }

  /** The latest stream as a run of a node sees it. */
  connect(link: Link): LogStream {
    const servers = this;
    const run = {};
    const { id: own, rebuild: by } = this.found;
    const generation = by?.generation ?? 0;
    const seen = (): readonly StreamMessage[] => {
      const { messages } = servers.named(generation);
      return link.behind === 0 ? messages : messages.slice(0, -link.behind);
    };
    return {
      id: own,
      origin: 'empty',
      rebuild: by,
      payloadBytesMax: 1024 * 1024,
      bytesMax: STREAM_BYTES_MAX,
      publish: (target, payload, id, timeoutMs) =>
        servers.asked(link, timeoutMs, () => servers.store(generation, target, payload, id)),
      publishAfter: ({ target, payload, id }, last, timeoutMs) =>
        servers.asked(link, timeoutMs, () => {
          if ((servers.named(generation).lastOf(target)?.sequence ?? 0) !== last) throw refused('wrong last sequence');
          return servers.store(generation, target, payload, id);
        }),
      lastOf: (target) => servers.asked(link, 1000, () => servers.named(generation).lastOf(target)),
      onStored: (take) => void servers.stored.set({ run, take }, { generation, link, take }),
      async *read(from) {
        const limit = 1 + servers.prng.int(40);
        yield* await servers.asked(link, 1000, () =>
          seen()
            .filter(({ sequence }) => sequence >= from)
            .slice(0, limit),
        );
      },
      state: () =>
        servers.asked(link, 1000, (): StreamState => {
          const stream = servers.streams[generation];
          if (!stream) return { id: '', first: 1, last: 0, bytes: 0 };
          const { id, first, bytes } = stream;
          const last = link.behind === 0 ? stream.last : (seen().at(-1)?.sequence ?? first - 1);
          return { id, first, last, bytes };
        }),
      trim: (before) => servers.asked(link, 1000, () => servers.named(generation).trim(before)),
      latestRebuild: () => servers.asked(link, 1000, () => servers.latest?.rebuild),
      announceRebuild: (rebuild) =>
        servers.asked(link, 1000, () => {
          if ((servers.latest?.rebuild?.generation ?? 0) >= rebuild.generation) throw refused('there is such a stream');
          servers.add(rebuild);
          servers.rebuilds++;
        }),
      publishTo: (rebuild, { target, payload, id }, timeoutMs) =>
        servers.asked(link, timeoutMs, () => {
          if (servers.named(rebuild.generation).id !== rebuild.stream) throw refused('it is another stream');
          servers.store(rebuild.generation, target, payload, id);
        }),
      tell: (of, what) => {
        if (!link.sends || servers.isDown) return;
        for (const each of servers.told.values())
          if (each.of === of && each.generation === generation && each.link.receives && !servers.chance(0.02))
            servers.later(() => each.take(what));
      },
      onTold: (of, take) => void servers.told.set({ run, take }, { of, take, generation, link }),
      close: async () => {
        for (const all of [servers.stored, servers.told])
          for (const key of all.keys()) if ((key as { run: object }).run === run) all.delete(key as never);
      },
    };
  }
}

/** What is on the disk of a node of one target. */
interface TargetData {
  position: LogPosition | null;
  /** The names of the commands that were applied, in order. */
  names: string[];
  /** Of all names, as the journal has one. */
  hash: number;
  /** The latest messages of which everything was applied, as the journal has them. */
  messages: AppliedMessage[];
}

const emptyData = (): Map<LogTarget, TargetData> =>
  new Map(TARGETS.map((target) => [target, { position: null, names: [], hash: 0, messages: [] }]));

/** Messages that a target keeps, so few that some seeds need earlier ones. */
const MESSAGES_KEPT = 32;

/** What begins the names of commands that were never given. */
const WRONG = 'wrong-';

const hashed = (hash: number, text: string): number => {
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
};

/** A node from one start until it dies or begins anew. */
interface Run {
  isAlive: boolean;
  readonly log: ReplicatedLog;
  readonly recovery: Recovery;
  readonly stream: LogStream;
  readonly progress: LogProgress;
}

class SimulatedNode {
  data = emptyData();
  private known: readonly KnownNode[] = [];
  readonly link: Link = { sends: true, receives: true, behind: 0 };
  run: Run | undefined;
  /** Targets that this machine cannot apply now. */
  readonly stalled = new Set<LogTarget>();
  /** Why the node does not start again. */
  reason: string | undefined;
  copies = 0;
  /** How often it has lost its data, each time of which it comes back as another node. */
  private losses = 0;
  private life = 0;
  isStarting = false;

  constructor(
    readonly name: string,
    private readonly world: World,
  ) {}

  /** By which other nodes know it. */
  private get id(): string {
    return this.losses === 0 ? this.name : `${this.name}-${this.losses}`;
  }

  /** The disk of a node that has died is empty. */
  loseData(): void {
    this.losses++;
    this.data = emptyData();
    this.known = [];
  }

  /** Starts, and begins anew whenever the recovery says so, until the node dies. */
  async start(): Promise<void> {
    const life = ++this.life;
    this.isStarting = true;
    const isOver = (): boolean => life !== this.life;
    let joining: JoinOptions = {};
    while (!isOver()) {
      const stream = await this.join(joining, isOver).catch((error: unknown) => {
        if (error instanceof OperatorError && !isOver()) this.reason = error.message;
        return undefined;
      });
      if (this.reason !== undefined || isOver()) return void stream?.close();
      if (!stream) {
        // The process ends, and is started again.
        joining = {};
        await sleep(1000);
        continue;
      }
      this.run = this.runOn(stream);
      this.world.tell(`${this.name} runs on ${stream.id} with ${this.positions}`);
      joining = await this.run.recovery.mustRejoin();
      if (!isOver()) this.stop();
    }
  }

  die(): void {
    this.life++;
    this.isStarting = false;
    this.stop();
  }

  private get positions(): string {
    return [...this.data].map(([target, { position }]) => `${target}: ${position?.sequence ?? 0}`).join(', ');
  }

  private stop(): void {
    const { run } = this;
    if (!run) return;
    this.world.tell(`${this.name} ends with ${this.positions}`);
    this.run = undefined;
    run.isAlive = false;
    run.recovery.close();
    run.log.close();
    void run.stream.close();
  }

  private async join({ copies = false }: JoinOptions, isOver: () => boolean): Promise<LogStream | undefined> {
    const { servers } = this.world;
    if (!this.link.sends || !this.link.receives || servers.isDown) return undefined;
    const stream = servers.connect(this.link);
    const targets = [...this.data].map(([target, { position }]) => ({
      name: String(target),
      position: position ?? undefined,
    }));
    try {
      const way = copies ? 'copy' : wayToJoin(this.id, targets, stream, (await stream.state()).first);
      if (isOver()) throw refused('the node has died');
      if (way === 'copy') await this.takeCopy(stream, isOver);
      else if (way === 'begin')
        for (const one of this.data.values())
          if (one.position?.stream !== stream.id) {
            one.position = { stream: stream.id, sequence: 0, done: 0 };
            one.messages = [];
          }
      return stream;
    } catch (error) {
      await stream.close();
      throw error;
    }
  }

  private async takeCopy(stream: LogStream, isOver: () => boolean): Promise<void> {
    for (const untilMs = performance.now() + COPY_WAIT_MS; performance.now() < untilMs; ) {
      await sleep(800);
      const [giver] = this.world.nodes
        .filter((node) => node !== this && node.run?.stream.id === stream.id && node.run.log.fenced === undefined)
        .filter(({ link }) => link.sends && link.receives)
        .sort((a, b) => (b.run as Run).log.applied - (a.run as Run).log.applied);
      const run = giver?.run;
      if (!giver || !run) continue;
      if (!(await run.log.agrees().catch(() => false))) continue;
      await run.log.advanceIdle(1);
      const copy = new Map<LogTarget, TargetData>();
      for (const target of TARGETS) {
        await sleep(this.world.prng.int(50));
        copy.set(target, structuredClone(giver.data.get(target) as TargetData));
      }
      // A copy that was not taken whole is not put in place.
      if (isOver() || !run.isAlive) continue;
      this.data = copy;
      this.world.tell(`${this.name} has copied ${giver.name}`);
      this.copies++;
      return;
    }
    throw refused('no node gives a copy');
  }

  private runOn(stream: LogStream): Run {
    const progress = LogProgress.of(stream.id, TARGETS.length - 1, stream.rebuild?.earlier);
    const log = new ReplicatedLog({
      stream,
      progress,
      node: this.id,
      shards: TARGETS.length - 1,
      apply: (batch) => this.apply(batch, run),
      changed: () => undefined,
      log: this.world.logOf(this.name),
      trimMs: TRIM_MS,
      known: { nodes: this.known, keep: (nodes) => (this.known = nodes) },
    });
    const recovery = new Recovery({ stream, node: this.id, commandLog: log, log: this.world.logOf(this.name) });
    const run: Run = { isAlive: true, log, recovery, stream, progress };
    const appliedIn = (target: LogTarget): AppliedLog | null => {
      const { position, messages } = this.data.get(target) as TargetData;
      return position && { position, messages };
    };
    for (const target of TARGETS)
      if (target !== 'catalog')
        log.opened(target, { shard: appliedIn(target), catalog: target === 0 ? appliedIn('catalog') : null });
    return run;
  }

  /** Applies messages as an owner does: what a command changes and its position are committed together. */
  private async apply({ target, messages, through, throughId, stream }: LogBatch, run: Run): Promise<LogResults> {
    const { prng, planted } = this.world;
    const one = this.data.get(target) as TargetData;
    if (prng.next() < 0.3) await sleep(prng.int(4));
    if (prng.next() < 0.02) throw refused('the shard has no owner now');
    const results: Result<never>[][] = [];
    const heads: LogHead[] = [];
    for (const { sequence, payload, id } of messages) {
      if (this.stalled.has(target))
        return { results, heads, stalled: { code: 'shard_unavailable', message: 'the disk is full' } as never };
      const answers: Result<never>[] = [];
      for (const [i, name] of unpackMessage(payload).map(nameOf).entries()) {
        if (prng.next() < 0.05) await sleep(prng.int(3));
        if (!run.isAlive) throw refused('the node has died');
        const { position } = one;
        const isApplied =
          position !== null && (sequence < position.sequence || (sequence === position.sequence && i < position.done));
        if (isApplied && planted !== 'applies twice') {
          answers.push({ error: { code: 'shard_unavailable', message: '' } as never });
          continue;
        }
        if (planted !== 'leaves out a write' || prng.next() > 0.01) {
          one.names.push(name);
          one.hash = hashed(one.hash, name);
        }
        one.position = { stream, sequence, done: i + 1, id };
        answers.push({ value: name as never });
      }
      results.push(answers);
      if ((one.messages.at(-1)?.sequence ?? 0) < sequence) one.messages.push({ sequence, payload, id });
      if (one.messages.length > MESSAGES_KEPT) one.messages.shift();
      if (sequence % BLOCK_MESSAGES === BLOCK_MESSAGES - 1 && one.position?.sequence === sequence)
        heads.push({ sequence, hash: String(one.hash) });
    }
    if (!run.isAlive) throw refused('the node has died');
    if (messages.length === 0 && (one.position?.sequence ?? 0) < through)
      one.position = { stream, sequence: through, done: 0, ...(throughId !== undefined && { id: throughId }) };
    return { results, heads };
  }

  get isWrong(): boolean {
    return [...this.data.values()].some(({ names }) => names.some((name) => name.startsWith(WRONG)));
  }

  has(target: LogTarget, name: string): boolean {
    return this.data.get(target)?.names.includes(name) ?? false;
  }
}

interface Write {
  readonly target: LogTarget;
  readonly name: string;
}

class World {
  readonly prng: Prng;
  readonly servers: LogServers;
  readonly nodes: readonly SimulatedNode[];
  readonly planted: SimulationOptions['planted'];
  readonly acknowledged: Write[] = [];
  readonly violations: string[] = [];
  readonly faults: Record<string, number> = {};
  strongReads = 0;
  /** Whether the stream has lost what it had acknowledged. */
  private hasLost = false;
  private faultsAreOver = false;
  private isOver = false;
  private readonly startedAtMs = performance.now();
  private written = 0;

  constructor(private readonly options: SimulationOptions) {
    this.prng = createPrng(options.seed);
    this.planted = options.planted;
    this.servers = new LogServers(this.prng, options.planted);
    this.nodes = NODES.map((name) => new SimulatedNode(name, this));
  }

  tell(line: string): void {
    this.options.trace?.(`${((performance.now() - this.startedAtMs) / 1000).toFixed(2)} ${line}`);
  }

  logOf(node: string): Log {
    const tell = (fields: object, message: string): void => this.tell(`${node}: ${message} ${JSON.stringify(fields)}`);
    return { info: tell, warn: tell, error: tell } as unknown as Log;
  }

  private oneNode(): SimulatedNode {
    return this.nodes[this.prng.int(this.nodes.length)] as SimulatedNode;
  }

  start(): void {
    for (const node of this.nodes) void node.start();
    for (let client = 0; client < 3; client++) void this.write();
    void this.readStrongly();
    void this.harm();
  }

  /** Clients write, one write after the other. */
  private async write(): Promise<void> {
    while (!this.isOver) {
      await sleep(20 + this.prng.int(300));
      const node = this.oneNode();
      if (!node.run) continue;
      const target = TARGETS[this.prng.int(TARGETS.length)] as LogTarget;
      const names = Array.from({ length: 1 + this.prng.int(3) }, () => String(++this.written));
      const { run } = node;
      await run.log
        .append(target, names.map(commandOf), (results) => {
          results.forEach((result, i) => {
            if (!('value' in result)) return;
            const name = names[i] as string;
            if ((result.value as unknown) !== name) this.violations.push(`the answer to ${name} is of another write`);
            if (run.isAlive && !node.has(target, name)) this.violations.push(`${name} is not on the node that answers`);
            if (run.isAlive) this.acknowledged.push({ target, name });
            this.tell(`${node.name} acknowledges ${name} of ${target} at ${node.data.get(target)?.position?.sequence}`);
          });
        })
        .catch(() => undefined);
    }
  }

  /** Reads that show everything that was acknowledged before them. */
  private async readStrongly(): Promise<void> {
    while (!this.isOver) {
      await sleep(500 + this.prng.int(1000));
      const node = this.oneNode();
      const { run } = node;
      if (!run) continue;
      const before = this.acknowledged.length;
      const sequence = await run.log.barrier().catch(() => undefined);
      if (sequence === undefined || !(await run.log.reached(sequence, 1000)) || !run.isAlive) continue;
      // Between a loss in the log and its detection, such a read may miss something.
      if (this.hasLost) continue;
      this.strongReads++;
      const missed = this.acknowledged.slice(0, before).find(({ target, name }) => !node.has(target, name));
      if (missed) this.violations.push(`a strong read of ${node.name} misses ${missed.name}`);
    }
  }

  private async harm(): Promise<void> {
    const { prng } = this;
    // What a log and a node have lost may be nowhere.
    const kinds = Object.entries(this.harms).filter(([kind]) =>
      this.options.losses ? kind !== 'node without data' : !kind.startsWith('lose'),
    );
    for (const untilMs = performance.now() + FAULTS_MS; performance.now() < untilMs; ) {
      await sleep(500 + prng.int(4000));
      if (this.faultsAreOver) return;
      const [kind, work] = kinds[prng.int(kinds.length)] as [string, () => Promise<void>];
      this.faults[kind] = (this.faults[kind] ?? 0) + 1;
      this.tell(`${kind}, the stream ends at ${this.servers.latest?.last}`);
      void work();
    }
  }

  private readonly harms: Readonly<Record<string, () => Promise<void>>> = {
    kill: async () => {
      const node = this.oneNode();
      if (!node.run) return;
      node.die();
      await sleep(100 + this.prng.int(8000));
      if (!this.faultsAreOver && !node.isStarting) void node.start();
    },
    'node without data': async () => {
      const node = this.oneNode();
      // What another one is still to copy may be on this one alone.
      if (!this.isMended) return;
      node.die();
      node.loseData();
      await sleep(100 + this.prng.int(4000));
      if (!this.faultsAreOver && !node.isStarting) void node.start();
    },
    'cut off': async () => {
      const { link } = this.oneNode();
      const ways = this.prng.int(3);
      if (ways !== 0) link.sends = false;
      if (ways !== 1) link.receives = false;
      await sleep(200 + this.prng.int(8000));
      Object.assign(link, { sends: true, receives: true });
    },
    'log stops': async () => {
      this.servers.isDown = true;
      await sleep(200 + this.prng.int(6000));
      this.servers.isDown = false;
    },
    'log is slow': async () => {
      this.servers.slowMs = 400;
      await sleep(this.prng.int(5000));
      this.servers.slowMs = 3;
    },
    'replica is behind': async () => {
      const { link } = this.oneNode();
      link.behind = 1 + this.prng.int(5);
      await sleep(this.prng.int(6000));
      link.behind = 0;
    },
    'disk is full': async () => {
      const { stalled } = this.oneNode();
      stalled.add(TARGETS[this.prng.int(TARGETS.length)] as LogTarget);
      await sleep(this.prng.int(8000));
      stalled.clear();
    },
    'clock jumps': async () => {
      const hours = this.prng.int(2) === 0 ? -1 : 1;
      clock?.setSystemTime(Date.now() + hours * this.prng.int(3_600_000));
    },
    'lose the end': () => this.lose((stream) => stream.loseEnd(1 + this.prng.int(8))),
    'lose one': () =>
      this.lose((stream) => stream.loseOne(Math.max(0, stream.messages.length - 1 - this.prng.int(10)))),
    'lose all': () => this.lose(() => (this.servers.streams = [])),
    'lose sense': async () => {
      const { data } = this.oneNode();
      const one = data.get(TARGETS[this.prng.int(TARGETS.length)] as LogTarget) as TargetData;
      // With two nodes that have come to wrong results, no results are those of most.
      if (!this.isMended || one.names.length === 0 || this.nodes.some(({ isWrong }) => isWrong)) return;
      one.names.push(`${WRONG}${++this.written}`);
      one.hash = hashed(one.hash, 'wrong');
    },
  };

  /** Servers that have lost something come back with what they have, after an election. */
  private async lose(work: (stream: StoredStream) => void): Promise<void> {
    const { latest } = this.servers;
    if (!latest || !this.isMended || latest.messages.length === 0) return;
    this.hasLost = true;
    this.servers.isDown = true;
    work(latest);
    await sleep(ELECTION_MS + this.prng.int(4000));
    this.servers.isDown = false;
  }

  /** Whether nothing is left of an earlier loss: what is lost while another loss is being mended may stay so. */
  private get isMended(): boolean {
    const { latest } = this.servers;
    return this.nodes.every(({ run }) => run && run.log.fenced === undefined && run.stream.id === latest?.id);
  }

  /** Ends all faults. */
  mend(): void {
    this.faultsAreOver = true;
    this.servers.isDown = false;
    this.servers.slowMs = 3;
    for (const node of this.nodes) {
      Object.assign(node.link, { sends: true, receives: true, behind: 0 });
      node.stalled.clear();
      if (node.reason === undefined && !node.run) {
        node.die();
        void node.start();
      }
    }
  }

  /** Ends what clients do. */
  rest(): void {
    this.isOver = true;
  }

  /** Whether all nodes that start take writes. */
  get isWell(): boolean {
    const { latest } = this.servers;
    return this.nodes.every(
      ({ run, reason }) =>
        reason !== undefined ||
        (run !== undefined && run.stream.id === latest?.id && run.log.fenced === undefined && run.log.isReady),
    );
  }

  /** Whether they have applied everything as well. */
  get hasHealed(): boolean {
    const { last = Infinity } = this.servers.latest ?? {};
    return this.isWell && this.nodes.every(({ run }) => !run || run.log.applied >= last);
  }

  /** Nodes that take no writes, or do not start, until an operator has looked at them. */
  get needOperator(): SimulatedNode[] {
    return this.nodes.filter(({ run, reason }) => reason !== undefined || run?.log.fenced !== undefined);
  }

  check(): void {
    const { nodes, violations, needOperator } = this;
    const well = nodes.filter((node) => !needOperator.includes(node));
    if (!this.hasHealed && needOperator.length === 0)
      violations.push(
        `the nodes do not come to rest: ${nodes.map(({ name, run }) => `${name} ${run ? `at ${run.log.applied}` : 'is not there'}`).join(', ')}, the stream ends at ${this.servers.latest?.last}`,
      );
    for (const target of TARGETS) {
      const namesOf = (node: SimulatedNode | undefined): string[] => node?.data.get(target)?.names ?? [];
      for (const node of nodes) {
        const twice = namesOf(node).find((name, i, all) => all.indexOf(name) < i);
        if (twice !== undefined) violations.push(`${twice} of ${target} is twice on ${node.name}`);
      }
      for (const node of well)
        if (namesOf(node).join() !== namesOf(well[0]).join())
          violations.push(`${well[0]?.name} and ${node.name} differ in ${target}`);
    }
    // What an operator is told of is not lost, as long as it is somewhere.
    const isThere = ({ target, name }: Write): boolean =>
      well.every((node) => node.has(target, name)) || needOperator.some((node) => node.has(target, name));
    const lost = this.acknowledged.filter((write) => !isThere(write));
    if (lost.length > 0) violations.push(`lost: ${lost.map(({ name }) => name).join(', ')}`);
    if (this.acknowledged.length === 0) violations.push('nothing was written');
    if (!this.hasLost && this.servers.rebuilds > 0)
      violations.push('the stream was rebuilt although it had lost nothing');
  }

  end(): void {
    for (const node of this.nodes) node.die();
  }
}

type VirtualClock = ReturnType<typeof install>;

let clock: VirtualClock | undefined;

/** Lets virtual time pass until `isOver`, for at most so long. */
async function pass(time: VirtualClock, ms: number, isOver: () => boolean): Promise<void> {
  const until = performance.now() + ms;
  for (let lookAtMs = 0; performance.now() < until; ) {
    if (performance.now() >= lookAtMs) {
      if (isOver()) return;
      lookAtMs = performance.now() + LOOK_MS;
    }
    time.next();
    await turn();
  }
}

/** Runs a seed. Not to be run beside anything else in this thread, whose clock it sets. */
export async function simulate(options: SimulationOptions): Promise<SimulationReport> {
  const time = install({
    now: Date.UTC(2026, 0, 1),
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  });
  clock = time;
  syncBuiltinESMExports();
  try {
    const world = new World(options);
    world.start();
    await pass(time, FAULTS_MS, () => false);
    world.mend();
    if (options.losses) await pass(time, COMPARED_MS, () => false);
    world.rest();
    const mendedAtMs = performance.now();
    let healedAtMs = Infinity;
    await pass(time, HEALED_MS, () => {
      if (!world.isWell) healedAtMs = Infinity;
      else if (healedAtMs === Infinity) healedAtMs = performance.now();
      return performance.now() > healedAtMs + STILL_MS && world.hasHealed;
    });
    const healedS = (healedAtMs - mendedAtMs) / 1000;
    world.check();
    const needOperator = world.needOperator.map(({ name, run, reason }) => `${name}: ${reason ?? run?.log.fenced}`);
    world.end();
    return {
      seed: options.seed,
      writes: world.acknowledged.length,
      strongReads: world.strongReads,
      faults: world.faults,
      rebuilds: world.servers.rebuilds,
      copies: world.nodes.reduce((sum, { copies }) => sum + copies, 0),
      healedS,
      needOperator,
      violations: world.violations,
    };
  } finally {
    time.uninstall();
    clock = undefined;
    syncBuiltinESMExports();
  }
}
