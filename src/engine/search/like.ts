// More like these: the query vector of a search by stored chunks, and the rows that such a search leaves out. With P the
// mean of the unit vectors of the examples and N that of the counterexamples, the query is P, or 2 P - N if there are any
// (Rocchio 1971, with the weights 2 and 1). The vector of a document is the mean of those of its chunks, at unit length.
// Searching threads only.
import { invalidField } from '../../api/errors.js';
import { type Ordinal, parseChunkId } from '../../api/ids.js';
import { LIKE_CHUNKS_MAX } from '../../api/limits.js';
import { type Bitmap, bitmapOf, isSet, subtract } from '../filter/bitmap.js';
import { candidatesOf } from '../filter/candidates.js';
import { admittedIn } from './groups.js';
import type { CollectionSearch, LikeSettings } from './params.js';
import type { ShardView } from './snapshot.js';

/**
 * The search with its query vector, among the rows that are no examples. `at` is where the examples stand in the request.
 * Throws a 422 for an id that is not stored, or has expired in second `nowS`.
 */
export function searchLike(
  views: readonly ShardView[],
  search: CollectionSearch,
  { docids, chunks, not, within }: LikeSettings,
  at: readonly (string | number)[],
  nowS: number,
): CollectionSearch {
  const visible = within && views.map((view) => view.segment && candidatesOf(view, view.segment, { filters: within }));
  const { among } = search;
  const taken = views.map((): Ordinal[] => []);
  const vectorOf = (place: string[], i: number, rowsIn: (view: ShardView) => Ordinal[]): Float32Array => {
    const vectors: Float32Array[] = [];
    views.forEach((view, shard) => {
      const rows = rowsIn(view).filter(
        (row) =>
          view.segment?.index.isLive(row) &&
          (visible?.[shard] === undefined ? !visible : isSet(visible[shard], row)) &&
          !hasExpired(view, row, nowS),
      );
      taken[shard]?.push(...rows);
      for (const row of rows.slice(0, LIKE_CHUNKS_MAX))
        vectors.push((view.segment as NonNullable<ShardView['segment']>).index.rowOf(row));
    });
    const [first] = vectors;
    if (!first) throw invalidField([...at, ...place, i], 'The collection has nothing with this id.', 'not_found');
    return unit(mean(vectors)) ?? first;
  };
  const all = (place: string[], ids: { docids: readonly string[]; chunks: readonly string[] }): Float32Array[] => [
    ...ids.docids.map((docid, i) => vectorOf([...place, 'docids'], i, (view) => view.rowsOf(docid))),
    ...ids.chunks.map((id, i) => vectorOf([...place, 'chunks'], i, (view) => rowOfChunk(view, id))),
  ];
  const examples = mean(all([], { docids, chunks }));
  const counterexamples = all(['not'], not);
  const against = counterexamples.length > 0 ? mean(counterexamples) : undefined;
  const vector = unit(against ? examples.map((value, i) => 2 * value - (against[i] as number)) : examples);
  if (!vector)
    throw invalidField([...at], 'The vectors of the examples cancel each other out; choose others.', 'value_error');
  return {
    ...search,
    vector,
    among: views.map((view, shard) => others(view, search, taken[shard] as Ordinal[], among?.[shard])),
  };
}

function hasExpired({ segment }: ShardView, row: Ordinal, nowS: number): boolean {
  const second = segment?.expiries.of(row) ?? 0;
  return second !== 0 && second <= nowS;
}

/** The rows that the filter admits, without those that are taken. */
function others(view: ShardView, search: CollectionSearch, taken: readonly Ordinal[], among?: Bitmap): Bitmap {
  const { segment } = view;
  if (!segment) return new Uint32Array();
  const { end } = segment.index;
  return subtract(among ?? admittedIn(view, search), bitmapOf(taken, end));
}

function rowOfChunk(view: ShardView, id: string): Ordinal[] {
  const { docid, chunkPath } = parseChunkId(id) ?? { docid: id, chunkPath: '' };
  return view.rowsOf(docid, chunkPath);
}

function mean(vectors: readonly Float32Array[]): Float32Array {
  const sum = new Float32Array(vectors[0]?.length ?? 0);
  for (const vector of vectors)
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (vector[i] as number) / vectors.length;
  return sum;
}

/** Below this length the direction of a vector is chance. */
const LENGTH_MIN = 1e-4;

function unit(vector: Float32Array): Float32Array | undefined {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length < LENGTH_MIN ? undefined : vector.map((value) => value / length);
}
