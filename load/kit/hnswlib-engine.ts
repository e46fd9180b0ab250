// hnswlib-node as an engine of the benchmark: M 16, ef 200 while building, inner product of unit vectors. As npm builds
// it, it uses SSE alone and takes vectors as plain arrays; these are made before the clock starts. Used by
// load/vectors.ts.
import { existsSync, statSync } from 'node:fs';
import type { VectorSet } from '../vector-sets.js';
import { keepFigures, keptFigures, keptPath } from './kept-builds.js';
import { EFS, K, unitRow, type VectorEngine } from './vector-engines.js';
import { cpuMs } from './word-peers.js';

const M = 16;
const EF_CONSTRUCTION = 200;

/** Undefined, said on standard output, where it has not been compiled. */
export async function hnswlibEngine(
  { rows, queries, name }: VectorSet,
  fresh: boolean,
): Promise<VectorEngine | undefined> {
  const library = await load();
  if (!library) return undefined;
  const key = `hnswlib-${name}-${rows.length}`;
  const path = keptPath(key);
  const index = new library.HierarchicalNSW('ip', rows[0]!.length);
  let buildRate = fresh ? undefined : (keptFigures(key) as number | undefined);
  if (buildRate !== undefined && existsSync(path)) index.readIndexSync(path);
  else
    buildRate = build(
      index,
      rows.map((row) => Array.from(unitRow(row))),
    );
  index.writeIndexSync(path);
  keepFigures(key, buildRate);
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

type Library = typeof import('hnswlib-node');

async function load(): Promise<Library | undefined> {
  try {
    return ((await import('hnswlib-node')) as unknown as { default: Library }).default;
  } catch {
    console.log('skipped: hnswlib-node is not compiled (node scripts/peers.mjs, or npm run bench:vectors)');
    return undefined;
  }
}

function build(index: InstanceType<Library['HierarchicalNSW']>, rows: readonly number[][]): number {
  index.initIndex(rows.length, M, EF_CONSTRUCTION, 1);
  const startedAt = cpuMs();
  rows.forEach((row, label) => index.addPoint(row, label));
  return (rows.length / (cpuMs() - startedAt)) * 1000;
}
