// The rows of the groups that a search has found, which further rounds leave out (groups.ts). Searching threads only.
import type { Scalar } from '../../api/filter.js';
import { type Bitmap, bitmapOf, fullBitmap, intersect, subtract, unite } from '../filter/bitmap.js';
import { candidatesOf, certainCandidates } from '../filter/candidates.js';
import { DOCID, canonical } from './groups.js';
import type { GroupsSoFar } from './merge.js';
import type { CollectionSearch } from './params.js';
import type { ShardView } from './snapshot.js';

/** The rows that the filter admits. */
export function admittedIn(view: ShardView, { filter }: Pick<CollectionSearch, 'filter'>): Bitmap {
  const { segment } = view;
  if (!segment) return new Uint32Array(0);
  return filter ? candidatesOf(view, segment, filter) : fullBitmap(segment.index.end);
}

/** The rows of groups in the views of one search, which further rounds leave out. */
export class GroupRows {
  /** The rows of each group in each view, and how many groups have been looked up there. */
  private readonly rows = new Map<ShardView, { of: Bitmap[]; taken: Bitmap }>();

  private admitted: readonly Bitmap[] | undefined;

  constructor(
    private readonly views: readonly ShardView[],
    private readonly search: Pick<CollectionSearch, 'filter' | 'among'>,
  ) {}

  /** The rows of each view that are admitted and may still give a hit. The groups are those of earlier calls, or more. */
  remaining(groups: GroupsSoFar): Bitmap[] {
    const { views, search } = this;
    const admitted = (this.admitted ??= views.map((view, i) => search.among?.[i] ?? admittedIn(view, search)));
    return views.map((view, i) => this.remainingIn(view, admitted[i] as Bitmap, groups));
  }

  /** The rows of no full group or, if there are enough groups, of one that is not full. */
  private remainingIn(view: ShardView, admitted: Bitmap, groups: GroupsSoFar): Bitmap {
    const { segment } = view;
    if (!segment) return admitted;
    if (groups.by !== DOCID && !segment.fields) return admitted;
    const known = this.rowsIn(view, groups);
    const rowsOf = (full: boolean): Bitmap =>
      groups.areFull.reduce<Bitmap>(
        (rows, isFull, i) => (isFull === full ? unite(rows, known[i] as Bitmap) : rows),
        new Uint32Array(0),
      );
    return groups.isClosed ? intersect(admitted, rowsOf(false)) : subtract(admitted, rowsOf(true));
  }

  /** The rows of each group. A row with the values of several groups belongs to the first. */
  private rowsIn(view: ShardView, { by, values }: GroupsSoFar): readonly Bitmap[] {
    let known = this.rows.get(view);
    if (!known) this.rows.set(view, (known = { of: [], taken: new Uint32Array(0) }));
    for (const value of values.slice(known.of.length)) {
      const all = by === DOCID ? rowsOfDocument(view, value as string) : rowsOfValue(view, by, value);
      const rows = subtract(all, known.taken);
      known.of.push(rows);
      known.taken = unite(known.taken, rows);
    }
    return known.of;
  }
}

/** The rows that certainly have the value. */
function rowsOfValue({ segment }: ShardView, field: string, value: Scalar): Bitmap {
  const test = { op: 'in', values: [canonical(value)] } as const;
  return segment?.fields ? certainCandidates(segment.fields, { field, test }) : new Uint32Array(0);
}

const rowsOfDocument = (view: ShardView, docid: string): Bitmap =>
  bitmapOf(view.rowsOf(docid), view.segment?.index.end ?? 0);
