// Which nodes hold what in memory now: the placement, and what the nodes tell of themselves. The main thread keeps that
// (memory-placer.ts), and the front threads have copies. Pure; any thread.
import type { CollectionId } from '../../api/ids.js';
import {
  type MemoryPlacement,
  type PlacedMemory,
  type Unit,
  holdersByShard,
  nodesHolding,
  unitOf,
} from '../../api/memory-placement.js';
import type { NodeState } from '../../cluster/node-states.js';

/** A node that shares the memory. */
export type SharingNode = Pick<NodeState, 'node' | 'fenced' | 'memory' | 'address' | 'heardAtMs'>;

/** What is known of who holds what. Plain data for other threads. */
export interface HeldMemory {
  readonly placement: MemoryPlacement;
  /** What of this node does not fit the placement. */
  readonly own: PlacedMemory;
  /** What this node has loaded in place of the nodes that should have it. */
  readonly standIns: ReadonlySet<Unit>;
  /** By their ids. */
  readonly nodes: ReadonlyMap<string, SharingNode>;
}

/**
 * Nodes tell of themselves twice a second. One that is silent for longer is not asked if there is another one, and not at
 * all after the second time: then this node loads what it holds.
 */
const SILENT_MS = 1500;
const GONE_MS = 5000;

export class MemoryHolders {
  /** `held`: what is known at the moment. */
  constructor(private readonly held: () => HeldMemory) {}

  /** Whether the shards of a collection are placed by themselves. */
  get placesShards(): boolean {
    return this.held().placement.shards !== undefined;
  }

  readonly addressOf = (node: string): SharingNode['address'] => this.held().nodes.get(node)?.address;

  /**
   * The other nodes that can search a collection now, or a shard of it if these are placed; empty if this node is to
   * search it itself.
   */
  othersHolding(id: CollectionId, shard = 0): string[] {
    const held = this.held();
    return othersAmong(held, nodesHolding(id, held.placement, shard), unitOf(id, shard, held.placement));
  }

  /** `othersHolding` of each of the shards. */
  othersByShard(id: CollectionId, shards: readonly number[]): string[][] {
    const held = this.held();
    const holders = holdersByShard(id, held.placement);
    return shards.map((shard) => othersAmong(held, holders[shard] ?? [], unitOf(id, shard, held.placement)));
  }

  /** The units among these shards of a collection that others should hold, and that this node has not held until now. */
  foreignUnits(id: CollectionId, shards: readonly number[]): Unit[] {
    const { placement, own, standIns } = this.held();
    const { members, own: node } = placement;
    return (placement.shards === undefined ? [0] : shards).flatMap((shard) => {
      const unit = unitOf(id, shard, placement);
      const isPlaced = members.length === 0 || nodesHolding(id, placement, shard).includes(node);
      const isLeaving = own.kept.includes(unit) && !standIns.has(unit);
      return isPlaced || isLeaving ? [] : [unit];
    });
  }
}

function othersAmong(
  { placement, own, standIns, nodes }: HeldMemory,
  holders: readonly string[],
  unit: Unit,
): string[] {
  const node = placement.own;
  const heardWithin = (names: readonly string[], ms: number): string[] =>
    names.filter((name) => {
      const state = nodes.get(name);
      return state?.fenced === null && state.heardAtMs > Date.now() - ms;
    });
  const memoryOf = (name: string): PlacedMemory | undefined => (name === node ? own : nodes.get(name)?.memory);
  const isLoading = (name: string): boolean => memoryOf(name)?.loading.includes(unit) ?? true;
  const ready = holders.filter((name) => !isLoading(name));
  const keepers = [...nodes.keys()].filter((name) => memoryOf(name)?.kept.includes(unit));
  const able = [...ready, ...keepers];
  // What this node has loaded in place of others it lets go of when they answer again.
  if (able.includes(node) && !standIns.has(unit)) return [];
  const others = (able.length > 0 ? able : holders).filter((name) => name !== node);
  const answering = heardWithin(others, SILENT_MS);
  return answering.length > 0 || able.includes(node) ? answering : heardWithin(others, GONE_MS);
}
