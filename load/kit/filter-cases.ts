// Filters as searches meet them, over the rows of an index: at random, as one cluster that the queries are near to or
// far from, and as many small clusters. Used by load/filters.ts.
import { createPrng, type Prng } from '../../src/base/prng.js';
import type { VectorIndex } from '../../workers/shard/vector-index.js';
import { dot } from './cosine.js';

export const KINDS = ['random', 'cluster, near queries', 'cluster, far queries', '50 clusters'] as const;
export type Kind = (typeof KINDS)[number];

export interface FilterCase {
  readonly allowed: Uint32Array;
  readonly queries: readonly Float32Array[];
}

/** Filters of each kind: more than one where they differ much. */
const CASES = 4;
const CLUSTERS = 50;

export function filterCases(
  index: VectorIndex,
  rows: readonly Float32Array[],
  queries: readonly Float32Array[],
  kind: Kind,
  matches: number,
): FilterCase[] {
  const prng = createPrng(matches);
  const some = Math.ceil(queries.length / CASES);
  return Array.from({ length: CASES }, (_, i) => {
    const mine = queries.slice(i * some, (i + 1) * some);
    if (kind === 'random')
      return { allowed: bitmapOf(rows.length, drawOrdinals(prng, rows.length, matches)), queries: mine };
    if (kind === '50 clusters')
      return { allowed: bitmapOf(rows.length, drawClusters(prng, index, rows, matches)), queries: mine };
    const centre = rows[prng.int(rows.length)] as Float32Array;
    const nearest = [...queries].sort((a, b) => dot(b, centre) - dot(a, centre));
    const chosen = kind === 'cluster, near queries' ? nearest.slice(0, some) : nearest.slice(-some);
    return { allowed: bitmapOf(rows.length, nearestTo(index, centre, matches)), queries: chosen };
  });
}

function drawOrdinals(prng: Prng, rows: number, count: number): Set<number> {
  const drawn = new Set<number>();
  while (drawn.size < count) drawn.add(prng.int(rows));
  return drawn;
}

/** The rows nearest to some centres, which may overlap. */
function drawClusters(prng: Prng, index: VectorIndex, rows: readonly Float32Array[], matches: number): number[] {
  const each = Math.ceil(matches / CLUSTERS);
  return Array.from({ length: Math.ceil(matches / each) }, () =>
    nearestTo(index, rows[prng.int(rows.length)] as Float32Array, each),
  ).flat();
}

const nearestTo = (index: VectorIndex, centre: Float32Array, count: number): number[] => [
  ...index.search(centre, count, { exact: true }).ordinals,
];

function bitmapOf(rows: number, ordinals: Iterable<number>): Uint32Array {
  const bitmap = new Uint32Array(Math.ceil(rows / 32));
  for (const ordinal of ordinals) bitmap[ordinal >>> 5]! |= 1 << (ordinal & 31);
  return bitmap;
}
