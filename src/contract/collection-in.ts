// The collection that a command of a shard is about: what it writes to, is refused for, or finds damaged.
// Asked by the shard pool and by the shard worker. Pure.
import type { CollectionId } from './ids.js';
import type { ShardCommand } from './messages.js';

/** undefined for what is of the catalog, or of no collection. */
export function collectionIn(command: ShardCommand): CollectionId | undefined {
  if (!('collection' in command)) return undefined;
  const { collection } = command;
  return typeof collection === 'number' ? collection : 'id' in collection ? collection.id : undefined;
}
