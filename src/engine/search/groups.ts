// Groups of hits: the best chunks of each document, or of each value of a metadata field. If the best chunks fall into
// too few groups, the search goes on among the others in rounds: each round leaves out the rows of the groups that are
// full, by the index, and ranks twice as deep, until there are enough groups or no rows. Pure; any thread.
import type { Scalar } from '../../api/filter.js';
import { REACH_MAX } from '../../api/limits.js';
import { fieldReader, numberOfDecimal } from '../filter/match.js';
import type { GroupsSoFar, HitReader, Ranking, Round, ScoredHit } from './merge.js';
import { type CollectionSearch, type Grouping, type ResultSettings, depthOf } from './params.js';

/** The field that groups chunks by document. */
export const DOCID = 'docid';
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
  reader: HitReader,
  search: CollectionSearch,
  settings: ResultSettings & { group: Grouping },
  rank: (asked: CollectionSearch, round?: Round) => Ranking,
): Ranking & { hasMore: boolean } {
  const { offset, page, group, minScore = -Infinity, wantsMore } = settings;
  const end = offset + search.k;
  const groups = new Groups(reader, group, end + (wantsMore ? 1 : 0));
  const wanted = page * group.size;
  const first = search.lexical ? depthOf(wanted, true) : RANKED_PER_HIT * wanted;
  let depth = Math.min(first, REACH_MAX);
  const opening = rank({ ...search, depth });
  let ranking = opening;
  let ranksBefore = 0;
  for (;;) {
    const before = groups.count;
    for (const hit of ranking.hits) if (hit.score >= minScore) groups.add(hit);
    const isExhausted =
      ranking.isWhole || ranking.hits.length < depth || ranking.hits.some(({ score }) => score < minScore);
    if (groups.isComplete || isExhausted) break;
    ranksBefore += depth;
    // Without the index the same rows come again, and only a greater depth leads on.
    depth = Math.min(2 * depth, groups.count > before ? Math.max(depth, REACH_MAX) : Infinity);
    ranking = rank({ ...search, depth }, { groups: groups.soFar, ranksBefore, bestBm25: opening.bestBm25 ?? 0 });
  }
  return { lists: opening.lists, hits: groups.hits(offset, end), hasMore: groups.size > end };
}

class Groups {
  private readonly list: Group[] = [];
  private readonly byKey = new Map<string, number>();
  private readonly seen = new Set<string>();
  private readonly read: ((hit: ScoredHit) => readonly Scalar[]) | undefined;
  /** Number of hits that have been added. */
  count = 0;

  constructor(
    private readonly reader: HitReader,
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
    const group = this.list[this.groupOf(this.read ? this.read(hit) : [this.reader.locate(hit.candidate).docid])];
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

  get soFar(): GroupsSoFar {
    const { list, group, wanted } = this;
    return {
      by: group.by,
      values: list.map(({ value }) => value),
      areFull: list.map(({ hits }) => hits.length >= group.size),
      isClosed: list.length >= wanted,
    };
  }

  /** Reads the values of a field. Values that no filter can name count as no value. */
  private valueReader(field: string): (hit: ScoredHit) => readonly Scalar[] {
    const read = fieldReader(field);
    return (hit) => {
      const metadata = this.reader.metadataOf(hit);
      if (!metadata) return [null];
      const value = read(metadata) ?? null;
      const scalars = (Array.isArray(value) ? (value as unknown[]) : [value]).filter(isScalar);
      return scalars.length > 0 ? scalars : [null];
    };
  }
}

const isScalar = (value: unknown): value is Scalar => value === null || typeof value !== 'object';

/** One form for all values that filters take for equal. */
export function canonical(value: Scalar): Scalar {
  if (typeof value !== 'string') return value;
  return value === 'true' || value === 'false' ? value === 'true' : (numberOfDecimal(value) ?? value);
}
