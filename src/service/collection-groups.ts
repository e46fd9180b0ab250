// Collections as a shard is told of them when it opens: ids by all else that it must know of them. Of ten thousand
// collections there are few kinds. Called by open-shard.ts, on the front thread; pure.
import type { CollectionGroup } from '../contract/resources.js';
import type { Collection } from '../contract/resources.js';

export function groupsOf(collections: Iterable<Collection>): CollectionGroup[] {
  const groups = new Map<string, { kind: CollectionGroup['kind']; ids: number[] }>();
  for (const { id, generation, dim, language, precision } of collections) {
    const name = `${generation} ${dim} ${language} ${precision}`;
    const group = groups.get(name) ?? { kind: { generation, dim, language, precision }, ids: [] };
    groups.set(name, group);
    group.ids.push(id);
  }
  return Array.from(groups.values(), ({ kind, ids }) => ({ kind, ids: Uint32Array.from(ids) }));
}
