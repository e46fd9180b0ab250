// Shares the memory between the nodes of a cluster: each collection, or each shard of one, is held by some of them, which
// all nodes work out alike from the ids of the nodes that they hear of. Nothing has to be agreed on, because every node has
// everything on disk: one that is asked for what it does not hold loads it. Runs on the main thread.
import { isDeepStrictEqual } from 'node:util';
import type { CollectionId } from '../../api/ids.js';
import {
  type MemoryPlacement,
  type PlacedMemory,
  type Unit,
  collectionIn,
  unitOf,
} from '../../api/memory-placement.js';
import type { Log } from '../../base/log.js';
import type { NodeState, NodeStates } from '../../cluster/node-states.js';
import type { ShardPool } from '../../pool/shard-pool.js';
import { type HeldMemory, MemoryHolders, type SharingNode } from './memory-holders.js';

interface MemoryPlacerOptions {
  /** What the shards began with. */
  readonly placement: MemoryPlacement;
  /** How long a node keeps its place after it was heard of last. */
  readonly leaveMs: number;
  readonly nodes: Pick<NodeStates, 'all'>;
  readonly shards: Pick<ShardPool, 'request' | 'size'>;
  readonly keepMembers: (members: readonly string[]) => void;
  /** Collections that this node needs in memory for a while, because a job builds them. */
  readonly building: () => readonly CollectionId[];
  readonly log: Log;
}

const PLACE_MS = 500;
/** A node looks around for so long before it takes a place in a cluster that it does not know. */
const LISTEN_MS = 2500;
/** What this node has loaded in place of the nodes that should have it stays for so long after its last search. */
const STAND_IN_MS = 60_000;
/** Ids that a node tells of; the rest is found out by asking. */
const TOLD_MAX = 1000;

export class MemoryPlacer {
  private placement: MemoryPlacement;
  private own: PlacedMemory = { loading: [], kept: [] };
  /** What this node searches though others should, with the time of the last search. */
  private readonly standIns = new Map<Unit, number>();
  private readonly startedAtMs = performance.now();
  private readonly timer: NodeJS.Timeout;
  private isPlacing = false;
  /** Members that are still to be kept for the next start: new ones, or ones of which the log tells that they cannot be. */
  private unkept: 'new' | 'told' | undefined;
  /** Nodes that share the memory by other settings. */
  private differing = '';
  private readonly takers: ((held: HeldMemory) => void)[] = [];

  constructor(private readonly options: MemoryPlacerOptions) {
    this.placement = options.placement;
    this.timer = setInterval(() => {
      void this.place();
      this.compareSettings();
      const held = this.held();
      for (const take of this.takers) take(held);
    }, PLACE_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** What other nodes are told. */
  get told(): PlacedMemory {
    const { loading, kept } = this.own;
    const { copies, shards } = this.placement;
    return { loading: loading.slice(0, TOLD_MAX), kept: kept.slice(0, TOLD_MAX), copies, shards };
  }

  /** The number of units that are being loaded here, and of those that leave once others have them. */
  get moving(): { loading: number; leaving: number } {
    return { loading: this.own.loading.length, leaving: this.own.kept.length };
  }

  /** What is known of who holds what. */
  readonly held = (): HeldMemory => {
    const nodes = this.sharingNodes().map(({ node, fenced, memory, address, heardAtMs }): [string, SharingNode] => [
      node,
      { node, fenced, memory, address, heardAtMs },
    ]);
    return {
      placement: this.placement,
      own: this.own,
      standIns: new Set(this.standIns.keys()),
      nodes: new Map(nodes),
    };
  };

  readonly holders = new MemoryHolders(this.held);

  /** Calls `take` with what is known of who holds what, again and again. */
  subscribe(take: (held: HeldMemory) => void): void {
    this.takers.push(take);
  }

  /** Takes note that this node searches units itself that others should hold: none of them answers for those. */
  readonly standsIn = (units: readonly Unit[]): void => {
    for (const unit of units) this.standIns.set(unit, performance.now());
  };

  /** The nodes that share the memory. */
  private sharingNodes(): NodeState[] {
    return this.options.nodes.all().filter(({ memory }) => memory !== undefined);
  }

  /** Nodes whose settings differ take each other for holders of what they do not hold; answers stay right. */
  private compareSettings(): void {
    const { copies, shards } = this.placement;
    const differing = this.sharingNodes()
      .filter(({ memory }) => memory?.copies !== undefined && (memory.copies !== copies || memory.shards !== shards))
      .map(({ node }) => node)
      .join(' ');
    if (differing === this.differing) return;
    this.differing = differing;
    if (differing !== '')
      this.options.log.warn(
        { nodes: differing },
        'other nodes have another cluster.search_copies or cluster.placement, so searches take detours: set the same on all nodes',
      );
  }

  private async place(): Promise<void> {
    if (this.isPlacing || !this.take(this.membersNow())) return;
    this.isPlacing = true;
    try {
      const { placement } = this;
      const { shards } = this.options;
      const kept = this.toKeep();
      const own: { loading: Set<Unit>; kept: Set<Unit> } = { loading: new Set(), kept: new Set() };
      const placed = Array.from({ length: shards.size }, async (_, shard) => {
        const keep = [...kept].flatMap((unit) => collectionIn(unit, shard) ?? []);
        const answer = await shards.request(shard, 'placeMemory', { placement, keep });
        for (const id of answer.loading) own.loading.add(unitOf(id, shard, placement));
        for (const id of answer.kept) own.kept.add(unitOf(id, shard, placement));
      });
      await Promise.all(placed);
      this.own = { loading: [...own.loading], kept: [...own.kept] };
    } catch {
      // A shard that is not open is told the next time.
    } finally {
      this.isPlacing = false;
    }
  }

  /** Takes the nodes that share the memory now. Returns whether they are known. */
  private take(members: readonly string[] | undefined): boolean {
    if (!members) return false;
    if (!isDeepStrictEqual(members, this.placement.members)) {
      this.placement = { ...this.placement, members };
      this.unkept = 'new';
      this.options.log.info({ nodes: members.length }, 'the nodes that share the memory have changed');
    }
    if (this.unkept) this.keep(members);
    return true;
  }

  /** Keeps the members for the next start, or tries it again later. */
  private keep(members: readonly string[]): void {
    try {
      this.options.keepMembers(members);
      this.unkept = undefined;
    } catch (error) {
      const reason = (error as Error).message;
      if (this.unkept === 'new')
        this.options.log.warn({ reason }, 'the nodes that share the memory cannot be kept for the next start');
      this.unkept = 'told';
    }
  }

  /** In the order of their ids; undefined while that is not known. */
  private membersNow(): string[] | undefined {
    const { leaveMs } = this.options;
    const upMs = performance.now() - this.startedAtMs;
    const { own, members } = this.placement;
    if (members.length === 0 && upMs < LISTEN_MS) return undefined;
    const sinceMs = Date.now() - leaveMs;
    const heard = this.sharingNodes().filter(({ heardAtMs }) => heardAtMs >= sinceMs);
    // What was there before the start may still come.
    const before = upMs < leaveMs ? members : [];
    return [...new Set([own, ...before, ...heard.map(({ node }) => node)])].sort();
  }

  /** What stays in memory here though others are to hold it: they have not loaded it yet, or do not answer. */
  private toKeep(): Set<Unit> {
    const sinceMs = performance.now() - STAND_IN_MS;
    for (const [id, atMs] of this.standIns) if (atMs < sinceMs) this.standIns.delete(id);
    const others = this.sharingNodes().filter(({ node }) => node !== this.placement.own);
    const awaited = others.flatMap(({ memory }) => memory?.loading ?? []);
    return new Set([...this.standIns.keys(), ...this.options.building(), ...awaited]);
  }
}
