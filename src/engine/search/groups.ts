// Groups of hits: the best chunks of each document, or of each value of a metadata field. If the best chunks fall into
// too few groups, the search goes on among the others in rounds: each round leaves out the rows of the groups that are
// full, by the index, and ranks twice as deep, until there are enough groups or no rows. Searching threads only.
import type { Scalar } from '../../api/filter.js';
import { REACH_MAX } from '../../api/limits.js';
import { type Bitmap, bitmapOf, fullBitmap, intersect, subtract, unite } from '../filter/bitmap.js';
import { candidatesOf, certainCandidates } from '../filter/candidates.js';
import { fieldReader, numberOfDecimal } from '../filter/match.js';
import { metadataReader } from './boost.js';
import { type Ranking, type Round, type ScoredHit, positionOf } from './merge.js';
import { type CollectionSearch, type Grouping, type ResultSettings, depthOf } from './params.js';
import type { ShardView } from './snapshot.js';

/** The field that groups chunks by document. */
const DOCID = 'docid';
/** The first round of mode vector ranks so many chunks for each hit that is wanted. */
const RANKED_PER_HIT = 3;

interface Group {
  readonly value: Scalar;
  readonly hits: ScoredHit[];
}

/**
 * The hits of the groups of one page, group by group. Groups are in the order in which they were found: by their best
 * chunk, except that a round follows the one before. `rank` ranks the collection, in a further round among certain rows.
 */
export function groupedHits(
  views: readonly ShardView[],
  search: CollectionSearch,
  settings: ResultSettings & { group: Grouping },
  rank: (asked: CollectionSearch, round?: Round) => Ranking,
): Ranking & { hasMore: boolean } {
  const { offset, page, group, minScore = -Infinity, wantsMore } = settings;
  const end = offset + search.k;
  const groups = new Groups(views, group, end + (wantsMore ? 1 : 0));
  const wanted = page * group.size;
  const first = search.lexical ? depthOf(wanted, true) : RANKED_PER_HIT * wanted;
  let depth = Math.min(first, REACH_MAX);
  const opening = rank({ ...search, depth });
  let ranking = opening;
  let ranksBefore = 0;
  const [best] = opening.lists.flatMap(({ lexical }) => lexical?.scores[0] ?? []).sort((a, b) => b - a);
  const admitted: (Bitmap | undefined)[] = [];
  for (;;) {
    const before = groups.count;
    for (const hit of ranking.hits) if (hit.score >= minScore) groups.add(hit);
    const isExhausted =
      ranking.isWhole || ranking.hits.length < depth || ranking.hits.some(({ score }) => score < minScore);
    if (groups.isComplete || isExhausted) break;
    if (admitted.length === 0)
      admitted.push(...views.map((view, shard) => search.among?.[shard] ?? admittedIn(view, search)));
    const allowed = views.map((view, shard) => groups.remaining(view, admitted[shard] as Bitmap));
    if (allowed.every((rows) => rows.every((word) => word === 0))) break;
    ranksBefore += depth;
    // Without the index the same rows come again, and only a greater depth leads on.
    depth = Math.min(2 * depth, groups.count > before ? Math.max(depth, REACH_MAX) : Infinity);
    ranking = rank({ ...search, depth }, { allowed, ranksBefore, bestBm25: best ?? 0 });
  }
  return { lists: opening.lists, hits: groups.hits(offset, end), hasMore: groups.size > end };
}

/** The rows that the filter admits. */
export function admittedIn(view: ShardView, { filter }: Pick<CollectionSearch, 'filter'>): Bitmap {
  const { segment } = view;
  if (!segment) return new Uint32Array(0);
  return filter ? candidatesOf(view, segment, filter) : fullBitmap(segment.index.end);
}

class Groups {
  private readonly list: Group[] = [];
  private readonly byKey = new Map<string, number>();
  private readonly seen = new Set<string>();
  /** The rows of each group in each view, and how many groups have been looked up there. */
  private readonly rows = new Map<ShardView, { of: Bitmap[]; taken: Bitmap }>();
  private readonly read: ((hit: ScoredHit) => readonly Scalar[]) | undefined;
  /** Number of hits that have been added. */
  count = 0;

  constructor(
    private readonly views: readonly ShardView[],
    private readonly group: Grouping,
    private readonly wanted: number,
  ) {
    if (group.by !== DOCID) this.read = this.valueReader(group.by);
  }

  get size(): number {
    return this.list.length;
  }

  get isComplete(): boolean {
    return this.list.length >= this.wanted && this.count >= this.wanted * this.group.size;
  }

  hits(offset: number, end: number): ScoredHit[] {
    return this.list.slice(offset, end).flatMap(({ value, hits }) => hits.map((hit) => ({ ...hit, group: value })));
  }

  /** Adds a hit to the first group that it belongs to, or to a new one. */
  add(hit: ScoredHit): void {
    const { shard, ordinal } = hit.candidate;
    const key = `${shard}/${ordinal}`;
    if (this.isComplete || this.seen.has(key)) return;
    this.seen.add(key);
    const group = this.list[this.groupOf(this.read ? this.read(hit) : [this.docidOf(hit)])];
    if (!group || group.hits.length >= this.group.size) return;
    group.hits.push(hit);
    this.count++;
  }

  /** The number of a group, which is new if no value has one; -1 if there are enough groups. */
  private groupOf(values: readonly Scalar[]): number {
    const keys = values.map((value) => JSON.stringify(canonical(value)));
    const known = Math.min(...keys.map((key) => this.byKey.get(key) ?? Infinity));
    if (known !== Infinity) return known;
    if (this.list.length >= this.wanted) return -1;
    const [value = null] = values;
    this.byKey.set(keys[0] as string, this.list.length);
    return this.list.push({ value, hits: [] }) - 1;
  }

  /** The rows that may still give a hit: those of no full group or, if there are enough groups, of one that is not full. */
  remaining(view: ShardView, admitted: Bitmap): Bitmap {
    const { segment } = view;
    if (!segment) return admitted;
    if (this.read && !segment.fields) return admitted;
    const known = this.rowsIn(view);
    const isFull = ({ hits }: Group): boolean => hits.length >= this.group.size;
    const rowsOf = (full: boolean): Bitmap =>
      this.list.reduce<Bitmap>(
        (rows, group, i) => (isFull(group) === full ? unite(rows, known[i] as Bitmap) : rows),
        new Uint32Array(0),
      );
    return this.list.length < this.wanted ? subtract(admitted, rowsOf(true)) : intersect(admitted, rowsOf(false));
  }

  /** The rows of each group. A row with the values of several groups belongs to the first. */
  private rowsIn(view: ShardView): readonly Bitmap[] {
    let known = this.rows.get(view);
    if (!known) this.rows.set(view, (known = { of: [], taken: new Uint32Array(0) }));
    while (known.of.length < this.list.length) {
      const { value } = this.list[known.of.length] as Group;
      const rows = subtract(
        this.read ? rowsOfValue(view, this.group.by, value) : rowsOfDocument(view, value as string),
        known.taken,
      );
      known.of.push(rows);
      known.taken = unite(known.taken, rows);
    }
    return known.of;
  }

  private docidOf({ candidate }: ScoredHit): string {
    const view = this.views[candidate.shard] as ShardView;
    return view.segment ? positionOf(view, view.segment, candidate).docid : '';
  }

  /** Reads the values of a field. Values that no filter can name count as no value. */
  private valueReader(field: string): (hit: ScoredHit) => readonly Scalar[] {
    const read = fieldReader(field);
    const metadataOf = metadataReader(this.views);
    return (hit) => {
      const metadata = metadataOf(hit);
      if (!metadata) return [null];
      const value = read(metadata) ?? null;
      const scalars = (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isScalar);
      return scalars.length > 0 ? scalars : [null];
    };
  }
}

const isScalar = (value: unknown): value is Scalar => value === null || typeof value !== 'object';

/** One form for all values that filters take for equal. */
function canonical(value: Scalar): Scalar {
  if (typeof value !== 'string') return value;
  return value === 'true' || value === 'false' ? value === 'true' : (numberOfDecimal(value) ?? value);
}

/** The rows that certainly have the value. */
function rowsOfValue({ segment }: ShardView, field: string, value: Scalar): Bitmap {
  const test = { op: 'in', values: [canonical(value)] } as const;
  return segment?.fields ? certainCandidates(segment.fields, { field, test }) : new Uint32Array(0);
}

const rowsOfDocument = (view: ShardView, docid: string): Bitmap =>
  bitmapOf(view.rowsOf(docid), view.segment?.index.end ?? 0);
