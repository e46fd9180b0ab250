// Which nodes of a cluster hold a collection in memory. Every node has all data on disk; where the nodes share the memory,
// each collection is held by some of them, which search it for all. Pure; any thread.
import { holdersOf } from '../base/rendezvous.js';
import type { CollectionId } from './ids.js';

/** How the nodes share the memory, as one of them sees it. */
export interface MemoryPlacement {
  /** The ids of the nodes that hold collections. */
  readonly members: readonly string[];
  /** The id of this node. */
  readonly own: string;
  /** The number of nodes that hold a collection. */
  readonly copies: number;
}

/** What of the collections in the memory of a shard or a node does not fit the placement yet. */
export interface PlacedMemory {
  /** Collections that are being loaded. */
  readonly loading: readonly CollectionId[];
  /** Collections that stay in memory until the nodes that are to hold them have loaded them. */
  readonly kept: readonly CollectionId[];
}

/** The nodes that are to hold a collection, the first one first. */
export const nodesHolding = (
  id: CollectionId,
  { members, copies }: Pick<MemoryPlacement, 'members' | 'copies'>,
): string[] => holdersOf(id, members, copies);
