// Which collections a shard holds in memory: all of them, unless the nodes of a cluster share the memory. Owner only.
import { isDeepStrictEqual } from 'node:util';
import type { CollectionId } from '../../api/ids.js';
import { type MemoryPlacement, nodesHolding } from '../../api/memory-placement.js';

/** What a shard is to hold. Owner only. */
export class Holding {
  private readonly known = new Map<CollectionId, boolean>();

  /** `placement`: undefined if the shard holds everything. `shard` is its number. */
  constructor(
    private placement?: MemoryPlacement,
    private readonly shard = 0,
  ) {}

  has(id: CollectionId): boolean {
    const { placement, known, shard } = this;
    if (placement === undefined) return true;
    let has = known.get(id);
    if (has === undefined) known.set(id, (has = nodesHolding(id, placement, shard).includes(placement.own)));
    return has;
  }

  /** Returns whether this changes anything. */
  change(placement: MemoryPlacement): boolean {
    if (isDeepStrictEqual(placement, this.placement)) return false;
    this.placement = placement;
    this.known.clear();
    return true;
  }
}
