// What the parts of a collection take of the shard's memory, by what it is for (a count of blocks, not a walk through
// them; texts and metadata are on disk alone, so texts take none), and how they are searched now. Called by
// commands.ts; shard worker only.
import type { MemoryUse, Walks } from '../../src/contract/resources.js';
import type { Part } from './part.js';

/** In bytes. Of a collection that has nothing here: zeros. */
export function memoryUse(parts: readonly Part[]): MemoryUse {
  const use: MemoryUse = { vectors: 0, codes: 0, graph: 0, postings: 0, text: 0 };
  for (const { index, words, fields } of parts) {
    const { rowsBytes, codesBytes, usedBytes } = index;
    use.vectors += rowsBytes;
    use.codes += codesBytes;
    use.graph += usedBytes - rowsBytes - codesBytes;
    use.postings += (words?.bytes ?? 0) + (fields?.bytes ?? 0);
  }
  return use;
}

/** What searches for the `k` best do that name no breadth. `chunks`: of the collection in all shards. */
export function walksOf(parts: readonly Part[], k: number, chunks: number): Walks {
  const breadths = parts.map(({ index }) => index.breadthFor(k, Math.min(1, index.liveCount / Math.max(1, chunks))));
  return {
    breadth: Math.max(0, ...breadths),
    isSettled: parts.every(({ index }) => !index.hasWork && !index.isFillDue),
  };
}
