// More like these: the vectors of the stored chunks that a search has as examples, and the rows that such a search leaves
// out. The vector of a document is the mean of those of its chunks, at unit length. Searching threads only.
import { type Ordinal, parseChunkId } from '../../api/ids.js';
import { LIKE_CHUNKS_MAX } from '../../api/limits.js';
import { type Bitmap, bitmapOf, isSet, subtract } from '../filter/bitmap.js';
import { candidatesOf } from '../filter/candidates.js';
import { admittedIn } from './group-rows.js';
import { likeVector, mean, unit } from './like-vector.js';
import type { CollectionSearch, LikeSettings } from './params.js';
import type { ShardView } from './snapshot.js';

/** The vectors of the examples that views have, and their rows. */
interface Examples {
  /** Those of the documents, the chunks, and in the same order the counterexamples; undefined for one that is not there. */
  readonly vectors: (Float32Array | undefined)[];
  readonly rows: readonly (readonly Ordinal[])[];
}

/** Finds the examples that have not expired in second `nowS`. */
export function examplesIn(
  views: readonly ShardView[],
  { docids, chunks, not, within }: LikeSettings,
  nowS: number,
): Examples {
  const visible = within && views.map((view) => view.segment && candidatesOf(view, view.segment, { filters: within }));
  const taken = views.map((): Ordinal[] => []);
  const vectorOf = (rowsIn: (view: ShardView) => Ordinal[]): Float32Array | undefined => {
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
    return vectors.length === 0 ? undefined : (unit(mean(vectors)) ?? vectors[0]);
  };
  const all = (ids: { docids: readonly string[]; chunks: readonly string[] }): (Float32Array | undefined)[] => [
    ...ids.docids.map((docid) => vectorOf((view) => view.rowsOf(docid))),
    ...ids.chunks.map((id) => vectorOf((view) => rowOfChunk(view, id))),
  ];
  return { vectors: [...all({ docids, chunks }), ...all(not)], rows: taken };
}

/** The search among the rows that are no examples. */
export const withoutExamples = (
  views: readonly ShardView[],
  search: CollectionSearch,
  { rows }: Examples,
): CollectionSearch => ({
  ...search,
  among: views.map((view, shard) => others(view, search, rows[shard] as Ordinal[], search.among?.[shard])),
});

/** The search with its query vector, among the rows that are no examples. Throws as `likeVector` does. */
export function searchLike(
  views: readonly ShardView[],
  search: CollectionSearch,
  like: LikeSettings,
  at: readonly (string | number)[],
  nowS: number,
): CollectionSearch {
  const examples = examplesIn(views, like, nowS);
  return { ...withoutExamples(views, search, examples), vector: likeVector(like, examples.vectors, at) };
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
