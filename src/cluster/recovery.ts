// What a fenced node does to take writes again. If other nodes go on, it takes a copy of their data. If the log has lost
// messages that nodes have applied, or is gone, a node that has applied all that the others have announces a rebuild: a new
// stream that begins with what that node has. Every node then begins anew, on the new stream: with its own data if it has
// all of it, else with a copy. Nothing is rebuilt while a node is away that was heard of within a day, since it may have
// acknowledged what no other node has applied. Runs on the main thread.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../base/log.js';
import { type ReplicatedLog, retried } from './command-log.js';
import { LEAD, leaderIn } from './leadership.js';
import type { LogStream, Rebuild } from './log-stream.js';
import type { JoinOptions } from './node.js';
import type { FenceReason, NodeState, Standing } from './node-states.js';

interface RecoveryOptions {
  readonly stream: LogStream;
  /** The id of this node. */
  readonly node: string;
  readonly commandLog: Pick<
    ReplicatedLog,
    | 'fenced'
    | 'leave'
    | 'dataStream'
    | 'received'
    | 'applied'
    | 'isAtRest'
    | 'nodes'
    | 'targets'
    | 'recent'
    | 'difference'
  >;
  readonly log: Log;
}

const LOOK_MS = 500;
/** How often a node that is not fenced looks whether there has been a rebuild. */
const CALM_LOOKS = 20;
/** A node that was heard of in this time is there. */
const THERE_MS = 3000;
/** Streams that tokens of clients may still tell of. */
const EARLIER_MAX = 16;
/** How much later than the one before it a node begins anew. */
const APART_MS = 3000;
/** Looks at which all nodes have to be at rest before the stream is rebuilt. */
const RESTING_LOOKS = 6;
/** Looks at which another node has to go on, before this one follows it. */
const PARTED_LOOKS = 6;
/** Looks at which a node that follows a rebuild may still apply something; one whose disk is full goes on then. */
const UNRESTED_LOOKS = 20;
/** Messages by which a node sees whether its own differ from those that a stream was rebuilt from. */
const RECENT_MESSAGES = 512;
const APPEND_MS = 2000;
/** Why the stream is rebuilt: it lacks what nodes have. */
const REBUILT_AFTER: ReadonlySet<FenceReason> = new Set(['regress', 'hole', 'recreated']);

export class Recovery {
  private readonly timer: NodeJS.Timeout;
  private readonly abort = new AbortController();
  private looks = 0;
  private resting = 0;
  private parted = 0;
  private unrested = 0;
  private isLooking = false;
  private settled: Standing | undefined;
  /** The last message that this node has appended again. */
  private appendedThrough = 0;

  constructor(private readonly options: RecoveryOptions) {
    this.timer = setInterval(() => void this.look(), LOOK_MS).unref();
  }

  /** Resolves when the node has to begin anew, and says how. */
  async mustRejoin(): Promise<JoinOptions> {
    const { signal } = this.abort;
    if (!signal.aborted) await once(signal, 'abort');
    return signal.reason as JoinOptions;
  }

  close(): void {
    clearInterval(this.timer);
  }

  private rejoin(options: JoinOptions): void {
    this.close();
    this.options.log.warn({ ...options }, 'the node begins anew');
    this.abort.abort(options);
  }

  private async look(): Promise<void> {
    const { stream, commandLog } = this.options;
    if (this.isLooking || (commandLog.fenced === undefined && ++this.looks % CALM_LOOKS !== 0)) return;
    this.isLooking = true;
    try {
      const rebuild = await stream.latestRebuild();
      if (rebuild && rebuild.stream !== stream.id) await this.follow(rebuild);
      else if (commandLog.fenced !== undefined) await this.mend(rebuild?.generation ?? 0);
    } catch {
      // The log does not answer, or another node was faster.
    } finally {
      this.isLooking = false;
    }
  }

  /**
   * Begins anew after the nodes before it, so that some node always answers reads. What this node alone has is appended
   * again before.
   */
  private async follow(rebuild: Rebuild): Promise<void> {
    const { commandLog, node, stream } = this.options;
    const { source, through, recent } = rebuild;
    commandLog.leave();
    // What is applied later could not be appended to the new stream.
    if (!commandLog.isAtRest && ++this.unrested <= UNRESTED_LOOKS) return;
    const nodes = commandLog.nodes.all().map((each) => each.node);
    const place = node === source ? 0 : 1 + nodes.filter((each) => each !== source).indexOf(node);
    await sleep(place * APART_MS);
    if (node === source || !recent) return this.rejoin({});
    const ids = new Map(recent);
    const first = recent[0]?.[0] ?? through + 1;
    const { isOther, isWhole, alone } = commandLog.recent.differenceFrom({ first, last: through, ids });
    if (isOther && !isWhole) return this.staysFenced();
    for (const message of alone) await retried(() => stream.publishTo(rebuild, message, APPEND_MS));
    this.rejoin(isOther ? { copies: true } : {});
  }

  /** This node may have acknowledged what no other has, and does not know any more what that is. */
  private staysFenced(): void {
    this.close();
    this.options.log.error({}, 'the node has messages that the others lack, from before it was started: see "Fences"');
  }

  /**
   * Appends again what this node alone has of what the log has lost, and follows the nodes that go on without it, once one
   * of them has applied that.
   */
  private async merge(others: readonly NodeState[]): Promise<void> {
    const { commandLog, stream, log } = this.options;
    const { isWhole, alone } = await commandLog.difference();
    if (!isWhole) return this.staysFenced();
    for (const { target, payload, id } of alone) {
      const sequence = await retried(() => stream.publish(target, payload, id, APPEND_MS));
      this.appendedThrough = Math.max(this.appendedThrough, sequence);
    }
    if (alone.length > 0)
      log.warn({ messages: alone.length }, 'messages that the command log had lost are appended to it again');
    if (others.some((each) => goesOn(each) && each.applied >= this.appendedThrough)) this.rejoin({ copies: true });
  }

  private async mend(generation: number): Promise<void> {
    const { commandLog, node, stream } = this.options;
    const nodes = commandLog.nodes.all();
    const others = nodes.filter((each) => each.node !== node);
    const way = this.wayToGoOn(others);
    // A node that begins anew says that it goes on until it has looked at the stream.
    this.parted = way ? this.parted + 1 : 0;
    if (way && this.parted > PARTED_LOOKS) return way === 'merge' ? this.merge(others) : this.rejoin(way);
    // A node that starts finds no stream of a rebuild any more, and is heard of by the first stream only.
    if (commandLog.fenced === 'recreated' && stream.rebuild && (await stream.state()).id === '')
      return this.rejoinAfter(others.filter((each) => each.node < node).length);
    await this.rebuildAtRest(generation, nodes);
  }

  /** How this node comes to go on with others that take writes; undefined if it does not. */
  private wayToGoOn(others: readonly NodeState[]): 'merge' | JoinOptions | undefined {
    const { commandLog } = this.options;
    const { fenced, received } = commandLog;
    const going = others.filter(goesOn);
    if (fenced === 'diverged') {
      const standing = this.standing();
      if (standing === 'most') return {};
      // Nodes that go on have compared their results, so those of most nodes are those that most have.
      const isOther =
        (standing === 'outvoted' && going.length > 0) || 2 * going.length > commandLog.nodes.counted().length;
      return isOther ? 'merge' : undefined;
    }
    if (fenced === 'regress' && going.length > 0) return 'merge';
    const isBehind = fenced === 'hole' || fenced === 'trimmed';
    return isBehind && going.some(({ applied }) => applied > received) ? { copies: true } : undefined;
  }

  /** Rebuilds the stream if all nodes are at rest, and this is the one whose data it begins with. */
  private async rebuildAtRest(generation: number, nodes: readonly NodeState[]): Promise<void> {
    const { commandLog, node, stream, log } = this.options;
    const mayRebuild = (each: NodeState): boolean =>
      isThere(each) && each.isAtRest && each.fenced !== null && REBUILT_AFTER.has(each.fenced);
    const areAtRest = commandLog.isAtRest && nodes.length > 0 && nodes.every(mayRebuild);
    this.resting = areAtRest && (await this.isOurs()) ? this.resting + 1 : 0;
    if (this.resting < RESTING_LOOKS || sourceOf(nodes)?.node !== node) return;
    const targets = commandLog.targets();
    const through = Math.max(commandLog.applied, ...Object.values(targets));
    const before = [...new Set([commandLog.dataStream, stream.id])];
    await stream.announceRebuild({
      generation: generation + 1,
      stream: randomUUID(),
      earlier: [...before, ...(stream.rebuild?.earlier ?? [])].slice(0, EARLIER_MAX),
      throughs: [...before.map(() => through), ...(stream.rebuild?.throughs ?? [])].slice(0, EARLIER_MAX),
      source: node,
      through,
      targets,
      recent: commandLog.recent.latest(RECENT_MESSAGES),
    });
    log.warn({ through }, 'the command log is rebuilt: a new stream begins with what this node has');
  }

  /** How this node stands, which does not change any more once it is known, since it applies nothing. */
  private standing(): Standing | undefined {
    const standing = this.settled ?? this.options.commandLog.nodes.standing();
    if (standing === 'most' || standing === 'outvoted') this.settled = standing;
    return standing;
  }

  /** Begins anew after some other nodes, so that some node always answers reads. */
  private async rejoinAfter(others: number): Promise<void> {
    await sleep(others * APART_MS);
    this.rejoin({});
  }

  /** Whether no other cluster has the stream: nodes that take writes have a leader, and the ids of nodes are random. */
  private async isOurs(): Promise<boolean> {
    const { stream, commandLog } = this.options;
    const { id } = await stream.state();
    if (id === '' || id === commandLog.dataStream) return true;
    const lead = await stream.lastOf(LEAD);
    return lead === undefined || commandLog.nodes.all().some(({ node }) => node === leaderIn(lead.payload));
  }
}

const goesOn = (node: NodeState): boolean => isThere(node) && node.fenced === null;

const isThere = ({ heardAtMs }: NodeState): boolean => heardAtMs > Date.now() - THERE_MS;

/** The node whose data has all that the others have; where that cannot be said, the one that has applied most. */
function sourceOf(nodes: readonly NodeState[]): NodeState | undefined {
  const hasAll = ({ targets: own = {} }: NodeState): boolean =>
    nodes.every(({ targets = {} }) => Object.entries(targets).every(([target, last]) => (own[target] ?? 0) >= last));
  const sorted = [...nodes].sort((a, b) => b.applied - a.applied || (a.node < b.node ? -1 : 1));
  return sorted.find(hasAll) ?? sorted[0];
}
