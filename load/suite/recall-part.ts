// How many of the nearest the searches of a workload find: each again with `exact`, which compares with every vector.
// Called by run-workload.ts.
import type { Filled } from './fill.js';
import { told, type Part } from './parts.js';
import type { Target } from './target.js';

export async function recallPart(
  target: Target,
  filled: readonly Filled[],
  { queries, k }: { queries: number; k: number },
): Promise<Part> {
  const { source, collections } = filled.find(({ fill }) => fill.of === 'vectors')!;
  const { tenant, name } = collections[0]!;
  const ids = async (n: number, exact: boolean): Promise<string[]> => {
    const { v } = JSON.parse(`{${source.query(n)}}`) as { v: number[] };
    const { matches } = await target.client.search(tenant, name, { v, k, ...(exact && { exact }) });
    return matches.map(({ id }) => id);
  };
  let [found, wanted] = [0, 0];
  for (let n = 0; n < queries; n++) {
    const [near, nearest] = [await ids(n, false), new Set(await ids(n, true))];
    found += near.filter((id) => nearest.has(id)).length;
    wanted += nearest.size;
  }
  const recall = found / wanted;
  return {
    figures: [{ name: `recall@${k}`, value: recall, unit: '', better: 'higher' }],
    tables: [
      {
        title: `Recall against exact searches of the same server`,
        columns: ['queries', 'k', 'recall'],
        rows: [[String(queries), String(k), told(recall)]],
      },
    ],
    charts: [],
  };
}
