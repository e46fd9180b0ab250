// The naive version of grouped searches: the same rounds as the engine's, over predicates in place of bitmaps.
import { type NaiveChunk, type NaiveHit, type NaiveQuery, naiveMost, naiveRanking } from './naive-search.js';

type Value = string | number | boolean | null;

export interface NaiveGroup {
  value: Value;
  hits: NaiveHit[];
}

/** One form for all values that filters take for equal. */
function canonical(value: unknown): Value {
  if (value === 'true' || value === 'false') return value === 'true';
  return typeof value === 'string' && /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value) ? Number(value) : (value as Value);
}

function valuesOf({ docid, meta }: NaiveChunk, by: string): Value[] {
  if (by === 'docid') return [docid];
  const value = meta[by] ?? null;
  const scalars = [value].flat().filter((one) => one === null || typeof one !== 'object');
  return scalars.length > 0 ? scalars : [null];
}

/** Whether a filter for the value finds the chunk. */
function isFound(chunk: NaiveChunk, by: string, value: Value): boolean {
  if (by !== 'docid' && chunk.meta[by] === undefined) return value === null;
  const stored = by === 'docid' ? [chunk.docid] : [chunk.meta[by]].flat();
  return stored.some((one) => (one === null || typeof one !== 'object') && canonical(one) === canonical(value));
}

/** The first `wanted` groups of a search for pages of `query.k` groups. */
export function naiveGroups(
  all: readonly NaiveChunk[],
  query: NaiveQuery,
  { by, size, wanted }: { by: string; size: number; wanted: number },
): NaiveGroup[] {
  const chunks = new Map(all.map((chunk) => [chunk.id, chunk]));
  const groups: NaiveGroup[] = [];
  const seen = new Set<string>();
  const isFull = ({ hits }: NaiveGroup): boolean => hits.length >= size;
  const isComplete = (): boolean => groups.length >= wanted && groups.every(isFull);
  const add = (hit: NaiveHit): void => {
    if (isComplete() || seen.has(hit.id)) return;
    seen.add(hit.id);
    const values = valuesOf(chunks.get(hit.id) as NaiveChunk, by);
    let group = groups.find(({ value }) => values.some((one) => canonical(one) === canonical(value)));
    if (!group && groups.length < wanted) groups.push((group = { value: values[0] ?? null, hits: [] }));
    if (group && !isFull(group)) group.hits.push(hit);
  };
  const many = query.k * size;
  let depth = query.mode === 'vector' ? 3 * many : Math.max(50, 5 * many);
  const most = query.mode === 'hybrid' ? naiveMost(all, query) : 0;
  let before = 0;
  let fits = query.fits;
  for (;;) {
    const count = seen.size;
    const ranking = naiveRanking(all, { ...query, fits, depth, ...(before > 0 && { round: { before, most } }) });
    const held = groups.reduce((sum, { hits }) => sum + hits.length, 0);
    ranking.forEach(add);
    if (isComplete() || ranking.length < depth) return groups;
    const isOpen = groups.length < wanted;
    fits = (chunk) => {
      if (!query.fits(chunk)) return false;
      const group = groups.find(({ value }) => isFound(chunk, by, value));
      return isOpen ? !group || !isFull(group) : group !== undefined && !isFull(group);
    };
    // Frozen: the predicate must not see groups of the round that it restricts.
    const allowed = new Set(all.filter(fits).map(({ id }) => id));
    fits = ({ id }) => allowed.has(id);
    if (allowed.size === 0) return groups;
    before += depth;
    const grew = groups.reduce((sum, { hits }) => sum + hits.length, 0) > held;
    depth = grew || count < seen.size ? Math.min(2 * depth, 10_000) : 2 * depth;
  }
}
