// What a shard is told of all collections when it is opened, by their ids: all of a reference but the id. Made by
// shard.ts, used by it and by what brings parts back from a checkpoint; shard worker only.
import type { CollectionId } from '../../src/contract/ids.js';
import type { CollectionGroup } from '../../src/contract/resources.js';

export type CollectionKinds = ReadonlyMap<CollectionId, CollectionGroup['kind']>;

export function kindsOf(groups: readonly CollectionGroup[]): CollectionKinds {
  const kinds = new Map<CollectionId, CollectionGroup['kind']>();
  for (const { kind, ids } of groups) for (const id of ids) kinds.set(id as CollectionId, kind);
  return kinds;
}
