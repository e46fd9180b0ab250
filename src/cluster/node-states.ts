// What a node knows of the nodes of its cluster, itself among them, by what each tells twice a second: how far it is, where
// it answers, and what the messages of the log came to. Runs on the main thread.
import type { PlacedMemory } from '../api/memory-placement.js';
import type { LogHead } from '../engine/write/logged.js';
import type { LogTarget } from '../engine/write/log-message.js';
import type { NodeAddress } from './node-links.js';

/** Why a node takes no writes any more. Reads go on. */
export type FenceReason =
  /** Messages that were acknowledged are missing in the stream. */
  | 'hole'
  /** The stream ends before a message that was applied. */
  | 'regress'
  /** There is another stream of the same name, or none any more. */
  | 'recreated'
  /** Messages that this node has not applied were deleted. */
  | 'trimmed'
  /** Another node has other results of the same messages. */
  | 'diverged';

/** A node as the others hear of it. */
export interface NodeState {
  readonly node: string;
  /** The last message that it has received, and the last one up to which it has applied everything. */
  readonly received: number;
  readonly applied: number;
  /** The last message that it would begin with after a restart. */
  readonly committed: number;
  readonly fenced: FenceReason | null;
  /** Whether it has applied all that it has received, and receives nothing. */
  readonly isAtRest: boolean;
  /** The last message that it has applied of each target. Absent while it is not fenced, and from earlier releases. */
  readonly targets?: Readonly<Record<string, number>> | undefined;
  /** Absent from nodes that hold everything. */
  readonly memory?: PlacedMemory | undefined;
  /** Where it answers other nodes. Absent from nodes of an earlier release. */
  readonly address?: NodeAddress | undefined;
  /** When it was heard of last, in milliseconds since 1970. */
  readonly heardAtMs: number;
}

/** What a node tells of itself. */
export interface ToldState extends Omit<NodeState, 'heardAtMs' | 'isAtRest'> {
  /** Absent from nodes of an earlier release. */
  readonly isAtRest?: boolean;
  /** Another one each time that the node begins. Absent from nodes of an earlier release. */
  readonly session?: string;
  /** The latest states of its targets. */
  readonly heads: Readonly<Record<string, readonly LogHead[]>>;
  /** Sequences and ids of the latest messages. Absent from nodes of an earlier release. */
  readonly recent?: readonly (readonly [sequence: number, id: string])[];
}

/** What a node keeps of another one for its next start. */
export interface KnownNode extends Pick<NodeState, 'node' | 'committed' | 'heardAtMs'> {
  /** The stream that `committed` is of. */
  readonly stream: string;
}

/** The nodes that were known when this one ended, and where they are kept for the next start. */
export interface KnownNodes {
  readonly nodes: readonly KnownNode[];
  readonly keep: (nodes: readonly KnownNode[]) => void;
}

/**
 * How a node stands whose results another one does not have: most nodes have the same as it, most have others, or as many.
 * `open`: what nodes have yet to tell decides it.
 */
export type Standing = 'most' | 'outvoted' | 'split' | 'open';

/** States of targets, by the sequence of the last message before each: a hash of all that has come of the log until then. */
type Heads = ReadonlyMap<string, ReadonlyMap<number, string>>;

/** What has been heard of a node. */
interface Heard {
  readonly state: Omit<NodeState, 'heardAtMs'>;
  /** By a clock that does not jump. */
  readonly heardAtMs: number;
  readonly session?: string | undefined;
  /** The latest that it has told in this session. */
  readonly heads: Heads;
}

/** A node that is not heard of for a day is not waited for. */
const GONE_MS = 24 * 3600 * 1000;
/**
 * A node that is not heard of for so long does not count among those that have the same results or others, and keeps
 * nothing in a log that is nearly full: one that has lost its data comes back as another node.
 */
const COUNTED_MS = 30_000;
/** Times that another node tells of other results of the same messages before it is believed, since it may fence itself. */
const DIFFERENCES_MAX = 2;
/** The same while it is not known which results most nodes have. */
const OPEN_DIFFERENCES_MAX = 8;
const HEADS_KEPT = 64;
const HEADS_TOLD = 4;
const KEEP_KNOWN_MS = 60_000;

export class NodeStates {
  private readonly nodes = new Map<string, Heard>();
  /** Of this node. */
  private readonly heads = new Map<string, Map<number, string>>();
  /** How often in a row each node has told of other results. */
  private readonly differences = new Map<string, number>();
  private kept: ReadonlySet<string> = new Set();
  private keptAtMs = -Infinity;

  /** `own` is the id of this node, and `stream` that of its stream. */
  constructor(
    private readonly own: string,
    private readonly stream: string,
    private readonly known?: KnownNodes,
  ) {
    for (const { node, stream: of, committed, heardAtMs } of known?.nodes ?? [])
      this.nodes.set(node, {
        state: {
          node,
          committed: of === stream ? committed : 0,
          received: 0,
          applied: 0,
          fenced: null,
          isAtRest: false,
        },
        heardAtMs: performance.now() - Math.max(0, Date.now() - heardAtMs),
        heads: new Map(),
      });
  }

  /** The nodes that have been heard of within a day, in the order of their ids. */
  all(): NodeState[] {
    const [nowMs, upMs] = [Date.now(), performance.now()];
    for (const [node, { heardAtMs }] of this.nodes) if (heardAtMs < upMs - GONE_MS) this.nodes.delete(node);
    return [...this.nodes.values()]
      .map(({ state, heardAtMs }) => ({ ...state, heardAtMs: nowMs - (upMs - heardAtMs) }))
      .sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  /** The nodes that are there, or were until a moment ago. */
  counted(): NodeState[] {
    const fromMs = Date.now() - COUNTED_MS;
    return this.all().filter(({ heardAtMs }) => heardAtMs > fromMs);
  }

  /** The sessions of these nodes. */
  sessions(): string[] {
    return this.counted().flatMap(({ node }) => this.nodes.get(node)?.session ?? []);
  }

  /** Where another node answers; undefined while that has not been heard. */
  readonly addressOf = (node: string): NodeAddress | undefined => this.nodes.get(node)?.state.address;

  /** Takes what a node tells. One that has begun anew may have other data. */
  hear({ heads: latest, session, recent: _, ...told }: ToldState): void {
    const before = this.nodes.get(told.node);
    const heads = headsAfter(before?.session === session ? before?.heads : undefined, latest);
    this.nodes.set(told.node, { state: { isAtRest: false, ...told }, heardAtMs: performance.now(), session, heads });
  }

  /** Takes what messages have come to on this node. */
  applied(target: LogTarget, heads: readonly LogHead[]): void {
    const own = this.heads.get(String(target)) ?? new Map<number, string>();
    this.heads.set(String(target), own);
    keepHeads(own, heads);
  }

  /** What this node tells of what messages have come to. */
  headsToTell(): Record<string, LogHead[]> {
    const told = [...this.heads].map(([target, heads]): [string, LogHead[]] => [
      target,
      [...heads].slice(-HEADS_TOLD).map(([sequence, hash]) => ({ sequence, hash })),
    ]);
    return Object.fromEntries(told);
  }

  /**
   * Whether a node that has just told of itself has other results than this one; `believed` when it has told so often
   * enough, and this node is not one of most nodes.
   */
  difference(node: string): 'none' | 'seen' | 'believed' {
    if (![...this.heads.keys()].some((target) => this.firstOther(target, node) < Infinity)) {
      this.differences.delete(node);
      return 'none';
    }
    const standing = this.standing();
    // It sees that most nodes have other results, and takes a copy of one.
    if (standing === 'most' && this.nodes.get(node)?.state.fenced === 'diverged') return 'none';
    const times = (this.differences.get(node) ?? 0) + 1;
    this.differences.set(node, times);
    const isBelieved = times > (standing === 'open' ? OPEN_DIFFERENCES_MAX : DIFFERENCES_MAX);
    return standing !== 'most' && isBelieved ? 'believed' : 'seen';
  }

  /**
   * How this node stands in the targets in which nodes differ; undefined if there are none. The hash of a state is of all
   * messages up to it: nodes that have the same one after the first difference have the same results.
   */
  standing(): Standing | undefined {
    const others = this.counted().flatMap(({ node }) => (node === this.own ? [] : [node]));
    let standing: Standing | undefined;
    for (const target of this.heads.keys()) {
      const firsts = others.map((node) => this.firstOther(target, node));
      const from = Math.min(...firsts);
      if (from === Infinity) continue;
      const same = others.filter((node, i) => firsts[i] === Infinity && this.hasSame(target, node, from)).length;
      const different = firsts.filter((first) => first < Infinity).length;
      const nodes = others.length + 1;
      if (2 * different > nodes) return 'outvoted';
      if (2 * different === nodes) standing = 'split';
      else if (standing !== 'split') standing = 2 * (same + 1) > nodes ? (standing ?? 'most') : 'open';
    }
    return standing;
  }

  /** The first message after which another node has a state of a target that differs from this node's; else Infinity. */
  private firstOther(target: string, node: string): number {
    const { state, heads } = this.nodes.get(node) as Heard;
    // A node whose log contradicts it has other results for that reason.
    if (state.fenced !== null && state.fenced !== 'diverged') return Infinity;
    const own = this.heads.get(target);
    let first = Infinity;
    for (const [sequence, hash] of heads.get(target) ?? [])
      if ((own?.get(sequence) ?? hash) !== hash) first = Math.min(first, sequence);
    return first;
  }

  /** Whether another node has the same state of a target after a message from a sequence on. */
  private hasSame(target: string, node: string, from: number): boolean {
    const own = this.heads.get(target);
    const told = this.nodes.get(node)?.heads.get(target) ?? [];
    return [...told].some(([sequence, hash]) => sequence >= from && own?.get(sequence) === hash);
  }

  /** Keeps the other nodes for the next start, now and then: they are waited for in the log, and before it is rebuilt. */
  keep(): void {
    const { known, stream } = this;
    const nowMs = performance.now();
    const others = this.all().filter(({ node }) => node !== this.own);
    const isNew = others.some(({ node }) => !this.kept.has(node));
    if (!known || (!isNew && nowMs - this.keptAtMs < KEEP_KNOWN_MS)) return;
    this.keptAtMs = nowMs;
    this.kept = new Set(others.map(({ node }) => node));
    known.keep(others.map(({ node, committed, heardAtMs }) => ({ node, stream, committed, heardAtMs })));
  }
}

/** What is known after more was told: the latest states of each target. */
function headsAfter(before: Heads | undefined, told: ToldState['heads']): Heads {
  const after = new Map(before);
  for (const [target, heads] of Object.entries(told)) {
    const all = new Map(after.get(target));
    keepHeads(all, heads);
    after.set(target, all);
  }
  return after;
}

function keepHeads(all: Map<number, string>, heads: readonly LogHead[]): void {
  for (const { sequence, hash } of heads) {
    all.set(sequence, hash);
    if (all.size > HEADS_KEPT) all.delete(all.keys().next().value as number);
  }
}
