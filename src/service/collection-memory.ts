// What a collection takes of the memory of all shards together.
// Called by the detail endpoint; front thread.
import type { Collection, MemoryUse } from '../contract/resources.js';
import type { Context } from './context.js';

export async function collectionMemory({ shards }: Context, { id }: Collection): Promise<MemoryUse> {
  const parts = await Promise.all(shards.askAll('memory', { collection: id }));
  const total: MemoryUse = { vectors: 0, codes: 0, graph: 0, postings: 0, text: 0 };
  for (const part of parts) for (const what of Object.keys(total) as (keyof MemoryUse)[]) total[what] += part[what];
  return total;
}
