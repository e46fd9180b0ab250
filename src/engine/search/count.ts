// Counts the chunks of a collection that match a filter and words, and counts the values of metadata fields among them
// (facets). Exact: the indexes decide where they can, and the records of the remaining chunks are read. Searching
// threads only.
import type { FacetValue } from '../../api/count.js';
import type { Ordinal } from '../../api/ids.js';
import type { CollectionRef } from '../../api/collections.js';
import { FACET_VALUES_MAX } from '../../api/limits.js';
import { timeOf } from '../../api/numbers.js';
import { nowSeconds } from '../../base/clock.js';
import { readDocument } from '../../storage/shard-reader.js';
import { type Bitmap, countBits, emptyBitmap, intersect, ordinalsIn, subtract, unite } from '../filter/bitmap.js';
import { candidatesOf } from '../filter/candidates.js';
import {
  UNLISTED,
  fieldRange,
  fieldTermOf,
  isShortened,
  orderIn,
  valueIn,
  valueRanges,
  valueTerm,
} from '../filter/field-terms.js';
import { type MetaLayers, fieldReader, numberOfDecimal } from '../filter/match.js';
import type { TextIndex } from '../postings/text-index.js';
import type { SegmentView } from '../segments/segment.js';
import { type Counted, type CountedFacet, type FacetWish, tooManyValues } from './facets.js';
import { type MissingIndexes, type SearchFilter, type WordMatching, filtersTexts } from './params.js';
import { liveIn } from './rank.js';
import { missingIndexesOf } from './search.js';
import type { ShardSet, ShardView } from './snapshot.js';
import { termsFor, vocabularyOf } from './words.js';

/** A message to a search worker. */
export interface CollectionCount {
  readonly collection: CollectionRef;
  /** The shards of the collection. */
  readonly shards: readonly number[];
  readonly filter?: SearchFilter | undefined;
  /** Only chunks that have any of these terms count. */
  readonly terms?: readonly string[] | undefined;
  /** Which other terms stand for these. */
  readonly matching?: WordMatching | undefined;
  readonly facets: readonly FacetWish[];
}

/** The counts of one field, over all segments so far. */
interface Tally {
  /** Number of chunks by the term of a value (filter/field-terms). */
  readonly terms: Map<string, number>;
  /** Texts that are too long to stand in their terms. */
  readonly longTexts: Map<string, string>;
  present: number;
  readonly numbers: Extremes;
  readonly times: Extremes;
  readonly ranges: number[];
}

class Extremes {
  min = Infinity;
  max = -Infinity;

  add(value: number): void {
    this.min = Math.min(this.min, value);
    this.max = Math.max(this.max, value);
  }

  get has(): boolean {
    return this.min <= this.max;
  }
}

/**
 * Returns the counts, or the indexes that must be loaded or built first. Throws AppError `shard_unavailable`, and a 422
 * for a field with more than FACET_VALUES_MAX values.
 */
export function count(shards: ShardSet, asked: CollectionCount): Counted | MissingIndexes[] {
  return shards.view(asked.shards, asked.collection, (views) => {
    const missing = missingIndexesOf(views, indexesFor(asked));
    return missing.length > 0 ? missing : countIn(views, asked);
  });
}

/** Facets need the metadata index that a metadata filter needs. */
const indexesFor = ({ filter, terms, facets }: CollectionCount): Parameters<typeof missingIndexesOf>[1] => ({
  filter: { ...filter, filters: [...(filter?.filters ?? []), ...(facets.length > 0 ? [{ all: [] }] : [])] },
  ...(terms && { lexical: {} }),
});

function countIn(views: readonly ShardView[], { filter, terms: own, matching, facets }: CollectionCount): Counted {
  const terms = own && matching ? termsFor(vocabularyOf(views), own, matching) : own;
  const tallies = facets.map(
    ({ ranges }): Tally => ({
      terms: new Map(),
      longTexts: new Map(),
      present: 0,
      numbers: new Extremes(),
      times: new Extremes(),
      ranges: ranges.map(() => 0),
    }),
  );
  const nowS = nowSeconds();
  let chunks = 0;
  for (const view of views) {
    const { segment } = view;
    if (!segment || segment.index.liveCount === 0) continue;
    const matching = matchingIn(view, segment, filter, terms, nowS);
    chunks += countBits(matching);
    if (facets.length > 0) addSegment(view, segment, matching, facets, tallies);
  }
  return { chunks, facets: tallies.map((tally, i) => counted(tally, facets[i] as FacetWish, chunks)) };
}

function matchingIn(
  view: ShardView,
  segment: SegmentView,
  filter: SearchFilter | undefined,
  terms: readonly string[] | undefined,
  nowS: number,
): Bitmap {
  const isFiltered = filter !== undefined && (filter.filters.length > 0 || filtersTexts(filter));
  const fitting = liveIn(segment, isFiltered ? candidatesOf(view, segment, filter) : undefined);
  const live = segment.expiries.first <= nowS ? subtract(fitting, segment.expiredRows(nowS)) : fitting;
  return terms ? intersect(live, segment.textIndex?.any(terms) ?? emptyBitmap(0)) : live;
}

function addSegment(
  view: ShardView,
  segment: SegmentView,
  matching: Bitmap,
  facets: readonly FacetWish[],
  tallies: readonly Tally[],
): void {
  const { fields } = segment;
  const listed = fields ? subtract(matching, fields.any([UNLISTED])) : emptyBitmap(0);
  const records = new Records(view, segment);
  facets.forEach((facet, i) => {
    if (fields) addTerms(fields, listed, facet, tallies[i] as Tally, records);
  });
  const unlisted = subtract(matching, listed);
  for (const ordinal of ordinalsIn(unlisted) as Generator<Ordinal>) {
    const meta = records.of(ordinal);
    if (meta) facets.forEach((facet, i) => addRecord(meta, facet, tallies[i] as Tally));
  }
}

/** Counts by the metadata index. */
function addTerms(fields: TextIndex, listed: Bitmap, wish: FacetWish, tally: Tally, records: Records): void {
  const { field } = wish;
  const { from, to } = fieldRange(field);
  const found = fields.counts(from, to, listed, TERMS_PER_VALUE * FACET_VALUES_MAX);
  if (!found) throw tooManyValues(field);
  // A field may have many values, so terms are compared as they are, and only the extremes are read.
  const extremes = new Map<string, { least: string; greatest: string }>();
  for (const [term, chunks] of found) {
    const read = fieldTermOf(term, from.length);
    if (read?.of === 'field') tally.present += chunks;
    if (read?.of === 'value') {
      tally.terms.set(term, (tally.terms.get(term) ?? 0) + chunks);
      if (isShortened(term, from.length) && !tally.longTexts.has(term))
        tally.longTexts.set(term, longText(fields, listed, field, term, records));
    }
    if (read?.orders === undefined) continue;
    const section = term[from.length] as string;
    const known = extremes.get(section);
    if (!known) extremes.set(section, { least: term, greatest: term });
    else if (term < known.least) known.least = term;
    else if (term > known.greatest) known.greatest = term;
  }
  for (const { least, greatest } of extremes.values()) {
    const of = fieldTermOf(least, from.length)?.orders === 'number' ? tally.numbers : tally.times;
    for (const term of [least, greatest]) of.add(orderIn(term, from.length));
  }
  if (tally.terms.size > FACET_VALUES_MAX) throw tooManyValues(field);
  wish.ranges.forEach(({ by, from: least, to: below }, i) => {
    const inRange = valueRanges(field, by, least, below).map((range) => fields.range(range.from, range.to));
    tally.ranges[i]! += countBits(intersect(inRange.reduce(unite), listed));
  });
}

/** A value has at most a term of its own, one by which it is ordered, and a mark. */
const TERMS_PER_VALUE = 3;

/** The text of a term that is too long to stand in it, from the record of a chunk that has the term. */
function longText(fields: TextIndex, listed: Bitmap, field: string, term: string, records: Records): string {
  const [ordinal] = ordinalsIn(intersect(fields.any([term]), listed)) as Generator<Ordinal>;
  const meta = ordinal === undefined ? undefined : records.of(ordinal);
  return (meta ? valuesIn(meta, field) : []).find((value) => valueTerm(field, value) === term) as string;
}

/** Counts the values of a chunk whose metadata is not indexed. */
function addRecord(meta: MetaLayers, { field, ranges }: FacetWish, tally: Tally): void {
  const value = fieldReader(field)(meta);
  if (value === undefined) return;
  tally.present++;
  const values = Array.isArray(value) ? (value as unknown[]) : [value];
  const terms = new Map(values.map((one) => [valueTerm(field, one), one]));
  for (const [term, one] of terms) {
    if (term === undefined) continue;
    tally.terms.set(term, (tally.terms.get(term) ?? 0) + 1);
    if (typeof one === 'string') tally.longTexts.set(term, one);
  }
  if (tally.terms.size > FACET_VALUES_MAX) throw tooManyValues(field);
  const [numbers, times] = [values.flatMap(numbersOf), values.flatMap(timesOf)];
  for (const number of numbers) tally.numbers.add(number);
  for (const time of times) tally.times.add(time);
  ranges.forEach(({ by, from = -Infinity, to = Infinity }, i) => {
    const isIn = (one: number): boolean => one >= from && one < to;
    if ((by === 'number' ? numbers : times).some(isIn)) tally.ranges[i]!++;
  });
}

const valuesIn = (meta: MetaLayers, field: string): readonly unknown[] => [fieldReader(field)(meta)].flat();

function numbersOf(value: unknown): number[] {
  const number = typeof value === 'string' ? numberOfDecimal(value) : value;
  return typeof number === 'number' ? [number] : [];
}

function timesOf(value: unknown): number[] {
  const timeMs = typeof value === 'string' ? timeOf(value) : undefined;
  return timeMs === undefined ? [] : [timeMs];
}

/** The metadata of chunks, read from the store. A chunk that has been deleted has none. */
class Records {
  constructor(
    private readonly view: ShardView,
    private readonly segment: SegmentView,
  ) {}

  of(ordinal: Ordinal): MetaLayers | undefined {
    const { view, segment } = this;
    return view.read((txn) => {
      const chunk = txn.findChunk(segment.id, segment.stored(ordinal));
      if (!chunk) return undefined;
      const { metadataJson } = readDocument(txn, segment.id, chunk.docid);
      return [chunk.metaJson, metadataJson].map((text) => JSON.parse(text) as Readonly<Record<string, unknown>>);
    });
  }
}

function counted(tally: Tally, { field, size }: FacetWish, chunks: number): CountedFacet {
  const { terms, longTexts, numbers, times, present, ranges } = tally;
  const byCount = [...terms].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).slice(0, size);
  const at = fieldRange(field).from.length;
  const values = byCount.map(
    ([term, count]): FacetValue => ({
      value: isShortened(term, at) ? (longTexts.get(term) ?? null) : valueIn(term, at),
      count,
    }),
  );
  const extremes = numbers.has
    ? { min: numbers.min, max: numbers.max }
    : times.has && { min: new Date(times.min).toISOString(), max: new Date(times.max).toISOString() };
  return { values, distinct: terms.size, missing: chunks - present, ...extremes, ranges };
}
