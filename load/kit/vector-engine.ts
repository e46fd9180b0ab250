// What the benchmark of vectors compares: an engine that answers queries at several settings, with what it cost to
// build. The index as it is and its exact scan stand here, hnswlib-node in hnswlib-engine.ts. Used by load/vectors.ts.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Precision } from '../../src/api/choices.js';
import { createArenaMemory } from '../../src/base/huge-pages.js';
import type { VectorIndex } from '../../src/engine/hnsw/vector-index.js';
import { Kernel } from '../../src/engine/memory/arena.js';
import { cosine } from './cosine.js';
import { cpuMs } from './text-peers.js';
import { type VectorSet, readNpy } from './vector-sets.js';

// Graphs that took a minute to build, kept in the temporary folder from one load program to the next, with the figures
// of their building. A file of another build of this code is as good: `--fresh` of load/vectors.ts builds anew. Used by
// the engines.

const FOLDER = `${tmpdir()}/sheaf-load-graphs`;

interface KeptBuild {
  readonly bytes: Uint8Array;
  readonly figures: unknown;
}

/** The path that a library may write its own file to. */
export function keptPath(key: string): string {
  mkdirSync(FOLDER, { recursive: true });
  return `${FOLDER}/${key.replaceAll(/[^\w-]+/g, '_')}`;
}

export function keptBuilt(key: string): KeptBuild | undefined {
  const figures = keptFigures(key);
  return figures === undefined ? undefined : { bytes: readFileSync(keptPath(key)), figures };
}

export function keepBuilt(key: string, bytes: Uint8Array, figures: unknown): void {
  const path = keptPath(key);
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
  keepFigures(key, figures);
}

/** The figures are written last, so that a file without them is one that was cut short. */
export function keepFigures(key: string, figures: unknown): void {
  writeFileSync(`${keptPath(key)}.json`, JSON.stringify(figures));
}

export function keptFigures(key: string): unknown {
  const path = `${keptPath(key)}.json`;
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

// What the background of a shard does for an index, all at once: links, codes, the check of their recall, lists filled.
// Used by measurements of an index without a server.

const STEP = 64;

/** Where memory is full, as far as it goes. */
export function settle(index: VectorIndex): void {
  while (index.hasWork && (index.linkSome(STEP) > 0 || index.isTended));
  while (index.isFillDue) index.fillSome(STEP);
}

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
  const wasm = readFileSync(new URL('../../src/engine/kernel.wasm', import.meta.url));
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

// The true nearest rows of each query: from the file beside the data, or from an exact scan of the index, whose best
// are scored again in full precision. Used by load/vectors.ts.

const NEIGHBORS = '../shared/data/minilm-windows-60k/neighbors.npy';
const NEIGHBORS_ROWS = 60_000;
/** The rounding of rows to 16 bits moves none of the K nearest beyond this rank. */
const DEPTH = 5 * K;

/** For each query the ordinals of its K nearest. */
export function truthOf({ name, rows, queries }: VectorSet, index: VectorIndex): ArrayLike<number>[] {
  if (name === 'minilm-windows-60k' && rows.length === NEIGHBORS_ROWS && existsSync(NEIGHBORS)) {
    const { shape, values } = readNpy(NEIGHBORS);
    const depth = shape[1]!;
    return queries.map((_, i) => values.subarray(i * depth, i * depth + K));
  }
  return queries.map((query) => {
    const near = Array.from(index.search(query, DEPTH, { exact: true }).ordinals);
    const scores = new Map(near.map((ordinal) => [ordinal, cosine(query, rows[ordinal]!)]));
    return near.sort((a, b) => scores.get(b)! - scores.get(a)!).slice(0, K);
  });
}
