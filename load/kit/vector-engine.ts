// Engines for the vector benchmark, which answer queries at several settings, with their build cost. This file has the
// index of Sheaf and its exact scan; vector-peers.ts has other libraries. Slowly built graphs are cached in the
// temporary folder.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import type { Precision } from '../../src/api/choices.js';
import type { VectorIndex } from '../../src/engine/hnsw/vector-index.js';
import { cosine } from './cosine.js';
import { createKernel, createMemory, finishBackgroundWork, kernelWasm } from './kernel.js';
import { ownCpuMs } from './server-usage.js';
import { type VectorSet, readNpy } from './vector-sets.js';

const CACHE = `${tmpdir()}/sheaf-load-graphs`;

interface CachedBuild {
  readonly bytes: Uint8Array;
  readonly figures: unknown;
}

/** The path at which a library may cache its own file. */
export function cachePath(key: string): string {
  mkdirSync(CACHE, { recursive: true });
  return `${CACHE}/${key.replaceAll(/[^\w-]+/g, '_')}`;
}

export function cachedBuild(key: string): CachedBuild | undefined {
  const figures = cachedFigures(key);
  return figures === undefined ? undefined : { bytes: readFileSync(cachePath(key)), figures };
}

export function cacheBuild(key: string, bytes: Uint8Array, figures: unknown): void {
  const path = cachePath(key);
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
  cacheFigures(key, figures);
}

/** Caches the figures of a build. They are written last, so that a file without them is recognized as incomplete. */
export function cacheFigures(key: string, figures: unknown): void {
  writeFileSync(`${cachePath(key)}.json`, JSON.stringify(figures));
}

export function cachedFigures(key: string): unknown {
  const path = `${cachePath(key)}.json`;
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}

export const K = 10;
/** Values of ef for engines with a graph. */
export const EFS = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384] as const;

/** The row scaled to length 1, so that inner product and distance rank like cosine. */
export function unitRow(row: Float32Array): Float32Array {
  const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0)) || 1;
  return row.map((value) => value / length);
}

export interface VectorEngine {
  readonly name: string;
  /** Vectors per second of CPU time; NaN if nothing is built. */
  readonly buildRate: number;
  readonly bytesAVector: number;
  /** Settings from fast to thorough; their meaning depends on the engine. */
  readonly settings: readonly Setting[];
  /** The K nearest of query number `query`. */
  search(query: number, setting: Setting): ArrayLike<number>;
}

export interface Setting {
  readonly ef: number;
  /** Candidates that are rescored; absent if the engine does not rescore. */
  readonly rerank?: number;
}

export interface BuiltIndex {
  readonly index: VectorIndex;
  readonly buildRate: number;
  readonly precision: Precision;
}

/** The setting for a search without `ef`. */
export const DEFAULT_EF = 0;

const PAGE_BYTES = 65_536;

/** The index of a set with a complete graph, from the cache of an earlier program if there is one. */
export function buildIndex({ rows, name }: VectorSet, fresh: boolean, precision: Precision = 'int16'): BuiltIndex {
  const build = createHash('sha256').update(kernelWasm()).digest('hex').slice(0, 8);
  const key = `sheaf-${build}-${precision}-${name}-${rows.length}`;
  const memory = createMemory();
  const kernel = createKernel(memory);
  const cached = fresh ? undefined : cachedBuild(key);
  if (cached) {
    const { root, buildRate } = cached.figures as { root: number; buildRate: number };
    memory.grow((cached.bytes.length - memory.buffer.byteLength) / PAGE_BYTES);
    new Uint8Array(memory.buffer).set(cached.bytes);
    return { index: kernel.attach(root), buildRate, precision };
  }
  const startedAt = ownCpuMs();
  const index = kernel.createIndex(rows[0]!.length, { graphMin: 1, precision });
  rows.forEach((row, ordinal) => index.put(ordinal, row));
  finishBackgroundWork(index);
  const buildRate = (rows.length / (ownCpuMs() - startedAt)) * 1000;
  cacheBuild(key, new Uint8Array(memory.buffer), { root: index.root, buildRate });
  return { index, buildRate, precision };
}

/** The index as in the server. The last setting is a search without ef. */
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

const NEIGHBORS = '../shared/data/minilm-windows-60k/neighbors.npy';
const NEIGHBORS_ROWS = 60_000;
/** How many rows of an exact scan are rescored: rounding to 16 bits moves none of the K nearest beyond this rank. */
const DEPTH = 5 * K;

/**
 * For each query the ordinals of its K nearest: from the file beside the data, or from an exact scan whose best are
 * rescored in full precision.
 */
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
