// hnswlib compiled to WebAssembly for browsers, as an engine of the benchmark: M 16, ef 200 while building. It asks
// whether there is a window, so it gets one while it starts; its file system, which wants a browser's database, is left
// alone. Used by load/vectors.ts.
import type { VectorSet } from '../vector-sets.js';
import { EFS, K, unitRow, type VectorEngine } from './vector-engines.js';
import { cpuMs } from './word-peers.js';

interface Index {
  initIndex(elementsMax: number, m: number, efConstruction: number, seed: number): void;
  addPoint(row: Float32Array, label: number, replaceDeleted: boolean): void;
  setEfSearch(ef: number): void;
  searchKnn(query: Float32Array, k: number, filter: undefined): { neighbors: number[] };
}

interface Library {
  readonly HierarchicalNSW: new (space: string, dim: number, file: string) => Index;
  readonly HEAPU8: Uint8Array;
}

/** Undefined, said on standard output, where it does not load. */
export async function hnswlibWasmEngine({ rows, queries }: VectorSet): Promise<VectorEngine | undefined> {
  const library = await load();
  if (!library) return undefined;
  const heapBytes = library.HEAPU8.length;
  const index = new library.HierarchicalNSW('ip', rows[0]!.length, '');
  index.initIndex(rows.length, 16, 200, 1);
  const units = rows.map(unitRow);
  const startedAt = cpuMs();
  units.forEach((row, label) => index.addPoint(row, label, false));
  const buildRate = (rows.length / (cpuMs() - startedAt)) * 1000;
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

async function load(): Promise<Library | undefined> {
  const before = Object.keys(globalThis);
  try {
    Object.assign(globalThis, { window: globalThis, document: {} });
    const { default: start } = (await import('hnswlib-wasm/dist/hnswlib-317962d7.js' as string)) as {
      default: () => Promise<Library>;
    };
    return await start();
  } catch (error) {
    console.log(`skipped: hnswlib-wasm (${(error as Error).message.split('\n')[0]})`);
    return undefined;
  } finally {
    for (const name of ['window', 'document']) if (!before.includes(name)) Reflect.deleteProperty(globalThis, name);
  }
}
