// usearch as an engine of the benchmark: 16-bit floats (bf16, its fastest with full recall), M 16, ef 200 while
// building, one thread. It takes the ef of searches only when an index is made, so each setting opens the saved one
// again. Used by load/vectors.ts.
import { statSync } from 'node:fs';
import type { VectorSet } from '../vector-sets.js';
import { keepFigures, keptFigures, keptPath } from './kept-builds.js';
import { EFS, K, unitRow, type VectorEngine } from './vector-engines.js';
import { cpuMs } from './word-peers.js';

type Library = typeof import('usearch');
type Index = InstanceType<Library['Index']>;

/** Undefined, said on standard output, where it does not load. */
export async function usearchEngine(
  { rows, queries, name }: VectorSet,
  fresh: boolean,
): Promise<VectorEngine | undefined> {
  const library = await load();
  if (!library) return undefined;
  const dim = rows[0]!.length;
  const create = (ef: number): Index =>
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
  const path = keptPath(key);
  const buildRate =
    (fresh ? undefined : (keptFigures(key) as number | undefined)) ?? build(create(EFS[0]!), rows, path);
  keepFigures(key, buildRate);
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

async function load(): Promise<Library | undefined> {
  try {
    return await import('usearch');
  } catch (error) {
    console.log(`skipped: usearch (${(error as Error).message.split('\n')[0]})`);
    return undefined;
  }
}

function build(index: Index, rows: readonly Float32Array[], path: string): number {
  const units = rows.map(unitRow);
  const startedAt = cpuMs();
  units.forEach((row, ordinal) => index.add(BigInt(ordinal), row, 1));
  const rate = (rows.length / (cpuMs() - startedAt)) * 1000;
  index.save(path);
  return rate;
}
