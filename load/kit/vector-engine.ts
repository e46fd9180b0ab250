// What the benchmark of vectors compares: an engine that answers queries at several settings, with what it cost to
// build. The index as it is and its exact scan stand here, hnswlib-node in hnswlib-engine.ts. Used by load/vectors.ts.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createArenaMemory } from '../../src/base/arena-memory.js';
import type { Precision } from '../../src/contract/precision.js';
import { Kernel } from '../../workers/shard/kernel.js';
import type { VectorIndex } from '../../workers/shard/vector-index.js';
import type { VectorSet } from '../vector-sets.js';
import { keepBuilt, keptBuilt } from './kept-builds.js';
import { settle } from './settle.js';
import { cpuMs } from './word-peers.js';

export const K = 10;
/** Of the engines that walk a graph. */
export const EFS = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384] as const;

/** At length 1, so that inner product and distance rank as cosine does. */
export function unitRow(row: Float32Array): Float32Array {
  const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)) || 1;
  return row.map((value) => value / length);
}

export interface VectorEngine {
  readonly name: string;
  /** Vectors a second of CPU time; NaN where nothing is built. */
  readonly buildRate: number;
  readonly bytesAVector: number;
  /** From fast to thorough; what one means is the engine's own affair. */
  readonly settings: readonly Setting[];
  /** The K nearest of query number `query`. */
  search(query: number, setting: Setting): ArrayLike<number>;
}

export interface Setting {
  readonly ef: number;
  /** Candidates that are scored again; absent where an engine does not. */
  readonly rerank?: number;
}

export interface BuiltIndex {
  readonly index: VectorIndex;
  readonly buildRate: number;
  readonly precision: Precision;
}

/** Stands for a search without `ef`. */
export const DEFAULT_EF = 0;

/** The index of the set, linked; read from the temporary folder if a program before this one built it. */
export function buildIndex({ rows, name }: VectorSet, fresh: boolean, precision: Precision = 'int16'): BuiltIndex {
  const memory = createArenaMemory(1, 65536);
  const wasm = readFileSync(new URL('../../workers/shard/kernel.wasm', import.meta.url));
  const kernel = new Kernel(new WebAssembly.Module(wasm), memory);
  const key = `sheaf-${createHash('sha256').update(wasm).digest('hex').slice(0, 8)}-${precision}-${name}-${rows.length}`;
  const kept = fresh ? undefined : keptBuilt(key);
  if (kept) {
    const { root, buildRate } = kept.figures as { root: number; buildRate: number };
    memory.grow(kept.bytes.length / 65536 - 1);
    new Uint8Array(memory.buffer).set(kept.bytes);
    return { index: kernel.attach(root), buildRate, precision };
  }
  kernel.format();
  const startedAt = cpuMs();
  const index = kernel.createIndex(rows[0]!.length, { graphMin: 1, precision });
  rows.forEach((row, ordinal) => index.put(ordinal, row));
  settle(index);
  const buildRate = (rows.length / (cpuMs() - startedAt)) * 1000;
  keepBuilt(key, new Uint8Array(memory.buffer), { root: index.root, buildRate });
  return { index, buildRate, precision };
}

/** The index as the server has it: the last point is a search that names no ef. */
export function graphEngine({ rows, queries }: VectorSet, { index, buildRate, precision }: BuiltIndex): VectorEngine {
  return {
    name: `sheaf, ${precision}`,
    buildRate,
    bytesAVector: index.usedBytes / rows.length,
    settings: [...EFS, DEFAULT_EF].map((ef) => ({ ef })),
    search: (query, { ef }) => index.search(queries[query]!, K, ef === DEFAULT_EF ? {} : { ef }).ordinals,
  };
}

export function scanEngine({ queries }: VectorSet, { index, precision }: BuiltIndex): VectorEngine {
  return {
    name: 'exact scan',
    buildRate: NaN,
    bytesAVector: (precision === 'int8' ? 1 : 2) * index.dim,
    settings: [{ ef: 0 }],
    search: (query) => index.search(queries[query]!, K, { exact: true }).ordinals,
  };
}
