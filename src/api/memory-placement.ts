// Which nodes of a cluster hold what in memory. Every node has all data on disk; where the nodes share the memory, each
// collection, or each shard of a collection, is held by some of them, which search it for all. Pure; any thread.
import { holdersOf } from '../base/rendezvous.js';
import type { CollectionId } from './ids.js';

/** How the nodes share the memory, as one of them sees it. */
export interface MemoryPlacement {
  /** The ids of the nodes that hold collections. */
  readonly members: readonly string[];
  /** The id of this node. */
  readonly own: string;
  /** The number of nodes that hold a collection, or a shard of it. */
  readonly copies: number;
  /** The number of shards, if each shard of a collection is placed by itself; absent: collections are placed whole. */
  readonly shards?: number;
}

/** A collection, or `id/shard`: a shard of it. */
export type Unit = CollectionId | `${number}/${number}`;

export const unitOf = (id: CollectionId, shard: number, { shards }: Pick<MemoryPlacement, 'shards'>): Unit =>
  shards === undefined ? id : `${id}/${shard}`;

/** The collection of a unit, if the unit concerns a shard. */
export function collectionIn(unit: Unit, shard: number): CollectionId | undefined {
  if (typeof unit === 'number') return unit;
  const [id, of] = unit.split('/').map(Number);
  return of === shard ? (id as CollectionId) : undefined;
}

/** What of the collections in the memory of a shard does not fit the placement yet, as `PlacedMemory` has it. */
export interface PlacedCollections {
  readonly loading: readonly CollectionId[];
  readonly kept: readonly CollectionId[];
}

/** What of the units in the memory of a node does not fit the placement yet. */
export interface PlacedMemory {
  /** Units that are being loaded. */
  readonly loading: readonly Unit[];
  /** Units that stay in memory until the nodes that are to hold them have loaded them. */
  readonly kept: readonly Unit[];
  /** What a node tells others, as `MemoryPlacement` has them. Absent from nodes of an earlier release. */
  readonly copies?: number;
  readonly shards?: number | undefined;
}

/** Keys of the shards of a collection differ by one, and those of collections by more than there are shards. */
const SHARDS_MAX = 1024;

/**
 * The nodes that are to hold each shard of a collection, the first one first. Where shards are placed by themselves, no
 * node has more of them than its share, rounded up: a shard whose first nodes have theirs goes to the next. Where
 * collections are placed whole, there is one entry for all shards.
 */
export function holdersByShard(
  id: CollectionId,
  { members, copies, shards }: Pick<MemoryPlacement, 'members' | 'copies' | 'shards'>,
): string[][] {
  if (shards === undefined) return [holdersOf(id, members, copies)];
  const most = Math.ceil((shards * Math.min(copies, members.length)) / Math.max(1, members.length));
  const held = new Map<string, number>();
  return Array.from({ length: shards }, (_, shard) => {
    const ordered = holdersOf(id * SHARDS_MAX + shard, members, members.length);
    const isFree = (member: string): boolean => (held.get(member) ?? 0) < most;
    const holders = [...ordered.filter(isFree), ...ordered.filter((member) => !isFree(member))].slice(0, copies);
    for (const member of holders) held.set(member, (held.get(member) ?? 0) + 1);
    return holders;
  });
}

/** The nodes that are to hold a collection, or a shard of it where these are placed by themselves. */
export const nodesHolding = (
  id: CollectionId,
  placement: Pick<MemoryPlacement, 'members' | 'copies' | 'shards'>,
  shard = 0,
): string[] => holdersByShard(id, placement)[placement.shards === undefined ? 0 : shard] ?? [];
