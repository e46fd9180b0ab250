// In which arena of a shard a document goes: where its collection is while there is room, then where most is. A
// document stands in one as a whole. Called by write.ts; shard worker only.
import type { CollectionRef } from '../../src/contract/resources.js';
import { ArenaFull } from './kernel.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';

/**
 * Runs `stage` on a part with room for what it does; what throws ArenaFull has changed nothing. Throws ArenaFull when
 * all arenas are full. Requires that the collection is not away.
 */
export function place<T>(shard: Shard, ref: CollectionRef, stage: (part: Part) => T): T {
  const order = orderOf(shard, ref);
  const plainly = (arena: number): T => stage(shard.partIn(ref, arena));
  const withRoom = (arena: number): T => shard.room.for(() => plainly(arena), { arena, id: ref.id });
  // Past the point where arenas are roomy all are filled up; in the end small parts that nobody uses leave.
  const attempts = [
    ...order.filter((arena) => shard.arenas.isRoomy(arena)).map((arena) => ({ arena, attempt: plainly })),
    ...order.map((arena) => ({ arena, attempt: plainly })),
    ...order.map((arena) => ({ arena, attempt: withRoom })),
  ];
  for (const { arena, attempt } of attempts) {
    try {
      return attempt(arena);
    } catch (error) {
      if (!(error instanceof ArenaFull)) throw error;
    }
  }
  throw new ArenaFull();
}

function orderOf({ arenas, parts }: Shard, { id }: CollectionRef): number[] {
  const byRoom = arenas.byRoom();
  const isThere = (arena: number): boolean => parts.find(id, arena) !== undefined;
  return [...byRoom.filter(isThere), ...byRoom.filter((arena) => !isThere(arena))];
}
