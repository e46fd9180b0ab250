// What the tests of the graph share: an index beside its naive twin, built from clustered vectors, and its recall.
import assert from 'node:assert/strict';
import type { Hits } from '../../../workers/shard/hits.js';
import type { VectorIndex } from '../../../workers/shard/vector-index.js';
import type { Bitmap } from '../../../workers/shard/words/word-answers.js';
import { createKernel, createMemory } from './kernel-kit.js';
import { assertSound, NaiveIndex, recallOf } from './naive-index.js';

export const DIM = 32;
export const ROWS = 3000;

export interface Pair {
  memory: WebAssembly.Memory;
  index: VectorIndex;
  twin: NaiveIndex;
}

export function createPair(): Pair {
  const memory = createMemory();
  return { memory, index: createKernel(memory).createIndex(DIM, { graphMin: 100 }), twin: new NaiveIndex() };
}

export function linkAll(index: VectorIndex): void {
  while (index.linkSome(64) > 0);
}

export function build(next: () => Float32Array): Pair {
  const pair = createPair();
  for (let ordinal = 0; ordinal < ROWS; ordinal++) put(pair, ordinal, next());
  linkAll(pair.index);
  return pair;
}

export function put({ index, twin }: Pair, ordinal: number, vector: Float32Array): void {
  index.put(ordinal, vector);
  twin.put(ordinal, vector);
}

/** Mean recall@10 over a hundred queries, each answer checked for soundness. */
export function recall({ index, twin }: Pair, next: () => Float32Array, ef: number, label: string): number {
  let sum = 0;
  for (let i = 0; i < 100; i++) {
    const query = next();
    const hits = index.search(query, 10, { ef });
    assertSound(index, twin, query, 10, hits, label);
    sum += recallOf(twin, query, 10, hits);
  }
  return sum / 100;
}

export function assertRecall(pair: Pair, next: () => Float32Array, label: string): void {
  const share = recall(pair, next, 64, label);
  assert(share >= 0.95, `${label}: recall@10 ${share}`);
}

/** The 10 nearest of the rows admitted as a walk of breadth `ef` finds them, with nothing behind it. */
export function walkWithin(index: VectorIndex, query: Float32Array, ef: number, allowed: Bitmap): Hits {
  const end = index['instance'].setBitmap(allowed);
  return index.searchBy(query, 10, { ef, rerank: ef }, end);
}
