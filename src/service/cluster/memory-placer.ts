// Shares the memory between the nodes of a cluster: each collection, or each shard of one, is held by some of them, which all
// nodes work out alike from the ids of the nodes that they hear of. Nothing has to be agreed on, because every node has everything on disk: one
// that is asked for what it does not hold loads it. Runs on the main thread.
import { isDeepStrictEqual } from 'node:util';
import type { CollectionId } from '../../api/ids.js';
import {
  type MemoryPlacement,
  type PlacedMemory,
  type Unit,
  holdersByShard,
  nodesHolding,
  unitOf,
} from '../../api/memory-placement.js';
import type { Log } from '../../base/log.js';
import type { NodeState, ReplicatedLog } from '../../cluster/command-log.js';
import type { ShardPool } from '../../pool/shard-pool.js';

interface MemoryPlacerOptions {
  /** What the shards began with. */
  readonly placement: MemoryPlacement;
  /** How long a node keeps its place after it was heard of last. */
  readonly leaveMs: number;
  readonly commandLog: Pick<ReplicatedLog, 'allNodes'>;
  readonly shards: Pick<ShardPool, 'request' | 'size'>;
  readonly keepMembers: (members: readonly string[]) => void;
  /** Collections that this node needs in memory for a while, because a job builds them. */
  readonly building: () => readonly CollectionId[];
  readonly log: Log;
}

const PLACE_MS = 500;
/**
 * Nodes tell of themselves twice a second. One that is silent for longer is not asked if there is another one, and not at
 * all after the second time: then this node loads what it holds.
 */
const SILENT_MS = 1500;
const GONE_MS = 5000;
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

  constructor(private readonly options: MemoryPlacerOptions) {
    this.placement = options.placement;
    this.timer = setInterval(() => void this.place(), PLACE_MS).unref();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** What other nodes are told. */
  get told(): PlacedMemory {
    const { loading, kept } = this.own;
    return { loading: loading.slice(0, TOLD_MAX), kept: kept.slice(0, TOLD_MAX) };
  }

  /** The number of units that are being loaded here, and of those that leave once others have them. */
  get moving(): { loading: number; leaving: number } {
    return { loading: this.own.loading.length, leaving: this.own.kept.length };
  }

  /** Whether the shards of a collection are placed by themselves. */
  get placesShards(): boolean {
    return this.placement.shards !== undefined;
  }

  /**
   * The other nodes that can search a collection now, or a shard of it if these are placed; empty if this node is to
   * search it itself.
   */
  othersHolding(id: CollectionId, shard = 0, holders = nodesHolding(id, this.placement, shard)): string[] {
    const { own } = this.placement;
    const unit = unitOf(id, shard, this.placement);
    const nodes = new Map(this.heardNodes().map((state) => [state.node, state]));
    const heardWithin = (names: readonly string[], ms: number): string[] =>
      names.filter((name) => {
        const state = nodes.get(name);
        return state?.fenced === null && state.heardAtMs > Date.now() - ms;
      });
    const memoryOf = (node: string): PlacedMemory | undefined => (node === own ? this.own : nodes.get(node)?.memory);
    const isLoading = (node: string): boolean => memoryOf(node)?.loading.includes(unit) ?? true;
    const ready = holders.filter((node) => !isLoading(node));
    const keepers = [...nodes.keys()].filter((node) => memoryOf(node)?.kept.includes(unit));
    const able = [...ready, ...keepers];
    // What this node has loaded in place of others it lets go of when they answer again.
    if (able.includes(own) && !this.standIns.has(unit)) return [];
    const others = (able.length > 0 ? able : holders).filter((node) => node !== own);
    const answering = heardWithin(others, SILENT_MS);
    return answering.length > 0 || able.includes(own) ? answering : heardWithin(others, GONE_MS);
  }

  /** `othersHolding` of each of the shards. */
  othersByShard(id: CollectionId, shards: readonly number[]): string[][] {
    const holders = holdersByShard(id, this.placement);
    return shards.map((shard) => this.othersHolding(id, shard, holders[shard]));
  }

  /**
   * Takes note that this node searches a collection, or shards of it, itself: what others should hold of it, none of them
   * answers for.
   */
  searchedHere(id: CollectionId, shards: readonly number[] = [0]): void {
    const { own, members } = this.placement;
    for (const shard of this.placesShards ? shards : [0]) {
      const unit = unitOf(id, shard, this.placement);
      const isPlaced = members.length === 0 || nodesHolding(id, this.placement, shard).includes(own);
      const isLeaving = this.own.kept.includes(unit) && !this.standIns.has(unit);
      if (!isPlaced && !isLeaving) this.standIns.set(unit, performance.now());
    }
  }

  /** The nodes that share the memory. */
  private heardNodes(): NodeState[] {
    return this.options.commandLog.allNodes().filter(({ memory }) => memory !== undefined);
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
        const isOfShard = (unit: Unit): boolean => typeof unit === 'number' || unit.endsWith(`/${shard}`);
        const keep = [...kept].filter(isOfShard).map((unit) => Number.parseInt(String(unit), 10) as CollectionId);
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
    if (isDeepStrictEqual(members, this.placement.members)) return true;
    this.placement = { ...this.placement, members };
    this.options.keepMembers(members);
    this.options.log.info({ nodes: members.length }, 'the nodes that share the memory have changed');
    return true;
  }

  /** In the order of their ids; undefined while that is not known. */
  private membersNow(): string[] | undefined {
    const { leaveMs } = this.options;
    const upMs = performance.now() - this.startedAtMs;
    const { own, members } = this.placement;
    if (members.length === 0 && upMs < LISTEN_MS) return undefined;
    const sinceMs = Date.now() - leaveMs;
    const heard = this.heardNodes().filter(({ heardAtMs }) => heardAtMs >= sinceMs);
    // What was there before the start may still come.
    const before = upMs < leaveMs ? members : [];
    return [...new Set([own, ...before, ...heard.map(({ node }) => node)])].sort();
  }

  /** What stays in memory here though others are to hold it: they have not loaded it yet, or do not answer. */
  private toKeep(): Set<Unit> {
    const sinceMs = performance.now() - STAND_IN_MS;
    for (const [id, atMs] of this.standIns) if (atMs < sinceMs) this.standIns.delete(id);
    const others = this.heardNodes().filter(({ node }) => node !== this.placement.own);
    const awaited = others.flatMap(({ memory }) => memory?.loading ?? []);
    return new Set([...this.standIns.keys(), ...this.options.building(), ...awaited]);
  }
}
