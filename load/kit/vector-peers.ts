// Other vector libraries as engines of the benchmark, in this process and in Python: on the same rows, queries and
// truth, with the same clock.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Curve } from './recall-curve.js';
import { ownCpuMs } from './server-usage.js';
import { EFS, K, type VectorEngine, cacheFigures, cachedFigures, cachePath, unitRow } from './vector-engine.js';
import type { VectorSet } from './vector-sets.js';

export const PYTHON_PEERS = ['hnswlib', 'faiss', 'symphonyqg'] as const;
const PYTHON_EFS = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256];
/** Limit for the output of Python; curves take a few kilobytes. */
const OUTPUT_BYTES_MAX = 1 << 20;

type Line = Curve | { readonly skipped: string; readonly reason: string };

/** Curves of the libraries that this Python (PYTHON, else python3) has; the others are named on standard output. */
export function pythonCurves(
  { rows, queries }: VectorSet,
  truth: readonly ArrayLike<number>[],
  peers: readonly string[],
): Curve[] {
  if (peers.length === 0) return [];
  const python = process.env['PYTHON'] ?? 'python3';
  if (spawnSync(python, ['-c', 'import numpy']).status !== 0) {
    console.log(
      `skipped: ${peers.join(', ')} (a Python with numpy and hnswlib, faiss-cpu, rabitqlib; PYTHON names the interpreter)`,
    );
    return [];
  }
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-vectors-'));
  try {
    const given = {
      dim: rows[0]!.length,
      k: K,
      efs: PYTHON_EFS,
      peers,
      rows: kept(folder, 'rows', floats(rows)),
      queries: kept(folder, 'queries', floats(queries)),
      truth: kept(folder, 'truth', Int32Array.from(truth.flatMap((near) => Array.from(near)))),
    };
    const file = join(folder, 'given.json');
    writeFileSync(file, JSON.stringify(given));
    const { stdout } = spawnSync(python, ['load/kit/vectors_peer.py', file], {
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    return curvesIn(stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The curves in the output. A library that crashes its process loses the curves of those after it. */
function curvesIn(output: string): Curve[] {
  const lines = output
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);
  for (const line of lines) if ('skipped' in line) console.log(`skipped: ${line.skipped} (${line.reason})`);
  return lines.filter((line) => 'points' in line);
}

function floats(rows: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(rows.length * rows[0]!.length);
  rows.forEach((row, i) => all.set(unitRow(row), i * row.length));
  return all;
}

function kept(folder: string, name: string, values: Float32Array | Int32Array): string {
  const path = join(folder, name);
  writeFileSync(path, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  return path;
}

type UsearchLibrary = typeof import('usearch');
type UsearchIndex = InstanceType<UsearchLibrary['Index']>;

/**
 * usearch: 16-bit floats (bf16, its fastest with full recall), M 16, construction ef 200, one thread. Its search ef is
 * fixed when an index is opened, so each setting opens the saved index again. Undefined, with a message on standard
 * output, if it does not load.
 */
export async function usearchEngine(
  { rows, queries, name }: VectorSet,
  fresh: boolean,
): Promise<VectorEngine | undefined> {
  const library = await loadUsearch();
  if (!library) return undefined;
  const dim = rows[0]!.length;
  const create = (ef: number): UsearchIndex =>
    new library.Index({
      metric: library.MetricKind.IP,
      quantization: library.ScalarKind.BF16,
      dimensions: dim,
      connectivity: 16,
      expansion_add: 200,
      expansion_search: ef,
      multi: false,
    });
  const key = `usearch-${name}-${rows.length}`;
  const path = cachePath(key);
  const buildRate =
    (fresh ? undefined : (cachedFigures(key) as number | undefined)) ?? buildUsearch(create(EFS[0]!), rows, path);
  cacheFigures(key, buildRate);
  const asked = queries.map(unitRow);
  let open = { ef: 0, index: create(1) };
  const search = (query: number, { ef }: { ef: number }): number[] => {
    if (open.ef !== ef) {
      open = { ef, index: create(ef) };
      open.index.load(path);
    }
    return Array.from(open.index.search(asked[query]!, K, 1).keys, Number);
  };
  return {
    name: 'usearch 2, bf16',
    buildRate,
    bytesAVector: statSync(path).size / rows.length,
    settings: EFS.map((ef) => ({ ef })),
    search,
  };
}

async function loadUsearch(): Promise<UsearchLibrary | undefined> {
  try {
    return await import('usearch');
  } catch (error) {
    console.log(`skipped: usearch (${(error as Error).message.split('\n')[0]})`);
    return undefined;
  }
}

function buildUsearch(index: UsearchIndex, rows: readonly Float32Array[], path: string): number {
  const units = rows.map(unitRow);
  const startedAt = ownCpuMs();
  units.forEach((row, ordinal) => index.add(BigInt(ordinal), row, 1));
  const rate = (rows.length / (ownCpuMs() - startedAt)) * 1000;
  index.save(path);
  return rate;
}

const M = 16;
const EF_CONSTRUCTION = 200;

/**
 * hnswlib-node: M 16, construction ef 200, inner product of unit vectors. As npm builds it, it uses SSE only and takes
 * plain arrays, which are prepared before the clock starts. Undefined, with a message on standard output, if it is not
 * compiled.
 */
export async function hnswlibEngine(
  { rows, queries, name }: VectorSet,
  fresh: boolean,
): Promise<VectorEngine | undefined> {
  const library = await loadHnswlib();
  if (!library) return undefined;
  const key = `hnswlib-${name}-${rows.length}`;
  const path = cachePath(key);
  const index = new library.HierarchicalNSW('ip', rows[0]!.length);
  let buildRate = fresh ? undefined : (cachedFigures(key) as number | undefined);
  if (buildRate !== undefined && existsSync(path)) index.readIndexSync(path);
  else
    buildRate = buildHnswlib(
      index,
      rows.map((row) => Array.from(unitRow(row))),
    );
  index.writeIndexSync(path);
  cacheFigures(key, buildRate);
  const asked = queries.map((query) => Array.from(unitRow(query)));
  const search = (query: number, { ef }: { ef: number }): number[] => {
    index.setEf(ef);
    return index.searchKnn(asked[query]!, K).neighbors;
  };
  return {
    name: 'hnswlib-node 3.0',
    buildRate,
    bytesAVector: statSync(path).size / rows.length,
    settings: EFS.map((ef) => ({ ef })),
    search,
  };
}

type HnswlibLibrary = typeof import('hnswlib-node');

async function loadHnswlib(): Promise<HnswlibLibrary | undefined> {
  try {
    return ((await import('hnswlib-node')) as unknown as { default: HnswlibLibrary }).default;
  } catch {
    console.log('skipped: hnswlib-node is not compiled (node scripts/peers.mjs, or npm run bench:vectors)');
    return undefined;
  }
}

function buildHnswlib(index: InstanceType<HnswlibLibrary['HierarchicalNSW']>, rows: readonly number[][]): number {
  index.initIndex(rows.length, M, EF_CONSTRUCTION, 1);
  const startedAt = ownCpuMs();
  rows.forEach((row, label) => index.addPoint(row, label));
  return (rows.length / (ownCpuMs() - startedAt)) * 1000;
}

interface HnswlibWasmIndex {
  initIndex(elementsMax: number, m: number, efConstruction: number, seed: number): void;
  addPoint(row: Float32Array, label: number, replaceDeleted: boolean): void;
  setEfSearch(ef: number): void;
  searchKnn(query: Float32Array, k: number, filter: undefined): { neighbors: number[] };
}

interface HnswlibWasmLibrary {
  readonly HierarchicalNSW: new (space: string, dim: number, file: string) => HnswlibWasmIndex;
  readonly HEAPU8: Uint8Array;
}

/**
 * hnswlib compiled to WebAssembly for browsers: M 16, construction ef 200. It checks for a window, so it gets one while
 * it starts; its file system, which needs a browser's database, is not used. Undefined, with a message on standard
 * output, if it does not load.
 */
export async function hnswlibWasmEngine({ rows, queries }: VectorSet): Promise<VectorEngine | undefined> {
  const library = await loadHnswlibWasm();
  if (!library) return undefined;
  const heapBytes = library.HEAPU8.length;
  const index = new library.HierarchicalNSW('ip', rows[0]!.length, '');
  index.initIndex(rows.length, 16, 200, 1);
  const units = rows.map(unitRow);
  const startedAt = ownCpuMs();
  units.forEach((row, label) => index.addPoint(row, label, false));
  const buildRate = (rows.length / (ownCpuMs() - startedAt)) * 1000;
  const asked = queries.map(unitRow);
  const search = (query: number, { ef }: { ef: number }): number[] => {
    index.setEfSearch(ef);
    return index.searchKnn(asked[query]!, K, undefined).neighbors;
  };
  return {
    name: 'hnswlib-wasm',
    buildRate,
    bytesAVector: (library.HEAPU8.length - heapBytes) / rows.length,
    settings: EFS.filter((_, i) => i % 3 === 0).map((ef) => ({ ef })),
    search,
  };
}

async function loadHnswlibWasm(): Promise<HnswlibWasmLibrary | undefined> {
  const before = Object.keys(globalThis);
  try {
    Object.assign(globalThis, { window: globalThis, document: {} });
    const { default: start } = (await import('hnswlib-wasm/dist/hnswlib-317962d7.js' as string)) as {
      default: () => Promise<HnswlibWasmLibrary>;
    };
    return await start();
  } catch (error) {
    console.log(`skipped: hnswlib-wasm (${(error as Error).message.split('\n')[0]})`);
    return undefined;
  } finally {
    for (const name of ['window', 'document']) if (!before.includes(name)) Reflect.deleteProperty(globalThis, name);
  }
}
