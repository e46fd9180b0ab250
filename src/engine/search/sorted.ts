// Searches by filters alone: the chunks that fit, in the order of a metadata field or of their documents, exactly. The
// order comes from the terms of the metadata index, range by range, and from the keys of the documents; only the records
// of chunks in a range that may be shown are read. Searching threads only.
import type { Ordinal } from '../../api/ids.js';
import type { ChunkRecord } from '../../storage/records.js';
import { readDocument } from '../../storage/shard-reader.js';
import { type Bitmap, countBits, fullBitmap, intersect, isSet, ordinalsIn, subtract, unite } from '../filter/bitmap.js';
import { candidatesOf } from '../filter/candidates.js';
import { type SortedSection, UNLISTED, firstTermOf, termBehind, valueOfTerm } from '../filter/field-terms.js';
import { fieldReader } from '../filter/match.js';
import { arenaOf, rowOf } from '../memory/ownership.js';
import type { TextIndex } from '../postings/text-index.js';
import type { SegmentView } from '../segments/segment.js';
import type { Selected } from './select.js';
import type { CollectionSearch, ShardHits, SortKind, SortPosition, SortSettings } from './params.js';
import type { ShardView } from './snapshot.js';
import {
  DOCID,
  MISSING,
  TEXT,
  type SortedEntry,
  compare,
  compareValues,
  endOf,
  sortKey,
  sortedPage,
} from './sort-key.js';

/** Up to this many chunks are read and sorted; more are taken apart by the index first. */
const READ_MAX = 512;
/** Terms that are listed at first, and at most: the number doubles. */
const TERMS_AT_ONCE = 64;
const TERMS_MAX = 2048;

/** The sections of the terms of each kind of values. */
const KINDS: readonly SortKind[] = [0, 1, 2, 3];
const SECTIONS: readonly (readonly SortedSection[])[] = [['n', 'd'], ['t'], ['s'], ['b']];

/**
 * The first entries of the views, in order, one more than the page has. `isBehind`: a write has been committed that the
 * index did not show yet, so chunks may be missing.
 */
export function sortedEntries(
  views: readonly ShardView[],
  search: CollectionSearch,
  sort: SortSettings,
): { entries: SortedEntry[]; isBehind: boolean } {
  const end = endOf(search);
  const orders = views.map((view, shard) => new Order(view, shard, search, sort));
  const entries = orders.flatMap((order) => order.first(end + 1)).sort((a, b) => compare(a, b, sort));
  return { entries: entries.slice(0, end + 1), isBehind: orders.some(({ isBehind }) => isBehind) };
}

/** The hits of one page, with the place of the last one. `hasChanged`: some chunks may be missing. */
export function sortedHits(views: readonly ShardView[], search: CollectionSearch, sort: SortSettings): Selected {
  const { entries, isBehind } = sortedEntries(views, search, sort);
  return { ...sortedPage(entries, search, sort), lists: views.map(unranked), hasChanged: isBehind };
}

const NONE = {
  ordinals: new Uint32Array(),
  rowVersions: new Uint32Array(),
  scores: new Float64Array(),
  cosines: new Float32Array(),
};

const unranked = ({ before, removals, segment }: ShardView): ShardHits => ({
  before,
  removals,
  chunks: segment?.index.liveCount ?? 0,
  vector: NONE,
  filterMs: 0,
  vectorMs: 0,
  lexicalMs: 0,
});

type Json = Record<string, unknown>;

/** The chunks of one segment in order. */
class Order {
  /** Whether the index is behind the store: a chunk is gone, or has another value than the index has for it. */
  isBehind = false;
  /** Chunks that were met among those of a value that they do not sort by: they have several, or another one by now. */
  private readonly misplaced: SortedEntry[] = [];
  private readonly read: ReturnType<typeof fieldReader>;
  private readonly documents = new Map<string, Json>();

  constructor(
    private readonly view: ShardView,
    private readonly shard: number,
    private readonly search: CollectionSearch,
    private readonly sort: SortSettings,
  ) {
    this.read = fieldReader(sort.field);
  }

  /** The first `count` chunks after the position where the page before ended. */
  first(count: number): SortedEntry[] {
    const { view, search, sort } = this;
    const { segment } = view;
    if (!segment) return [];
    const rows =
      search.among?.[this.shard] ??
      (search.filter
        ? candidatesOf(view, segment, search.filter)
        : (segment.fields?.every() ?? fullBitmap(segment.index.end)));
    if (countBits(rows) <= READ_MAX) return this.taken(this.entries(segment, rows), count);
    if (sort.field === DOCID) return this.byDocument(segment, rows, count);
    if (!segment.fields) return this.taken(this.entries(segment, rows), count);
    const unlisted = intersect(rows, segment.fields.any([UNLISTED]));
    const listed = this.byTerms(segment, segment.fields, subtract(rows, unlisted), count);
    const first = this.taken([...listed, ...this.entries(segment, unlisted)], count);
    this.compareMisplaced(first, count);
    return first;
  }

  /** A chunk that was met in the wrong place should have been met in the right one too, unless that is not reached. */
  private compareMisplaced(first: readonly SortedEntry[], count: number): void {
    const { after } = this.sort;
    const met = new Set(first.map(({ ordinal }) => ordinal));
    const last = first.length < count ? undefined : first.at(-1);
    this.isBehind ||= this.misplaced.some(
      (entry) =>
        !met.has(entry.ordinal) &&
        (!last || compare(entry, last, this.sort) < 0) &&
        (!after || compare(entry, after, this.sort) > 0),
    );
  }

  private taken(entries: SortedEntry[], count: number): SortedEntry[] {
    const { after } = this.sort;
    const left = after ? entries.filter((entry) => compare(entry, after, this.sort) > 0) : entries;
    return left.sort((a, b) => compare(a, b, this.sort)).slice(0, count);
  }

  private *documentsInOrder(segment: SegmentView, from?: SortPosition): Generator<{ docid: string; rows: Ordinal[] }> {
    const { txn, arena } = this.view;
    const backward = this.sort.field === DOCID && this.sort.descending;
    // The document where the page before ended may have further chunks.
    const inOrder = backward ? txn.documentsBelow(segment.id, from?.docid) : txn.documents(segment.id, from?.docid);
    const first = from && txn.document(segment.id, from.docid);
    const docids = function* (): Generator<string> {
      if (first) yield first.docid;
      for (const { docid } of inOrder) yield docid;
    };
    for (const docid of docids()) {
      const ordinals = txn.members(segment.id, docid).ordinals as Ordinal[];
      yield { docid, rows: ordinals.filter((ordinal) => arenaOf(ordinal) === arena).map(rowOf) };
    }
  }

  /** In the order of the documents. */
  private byDocument(segment: SegmentView, rows: Bitmap, count: number): SortedEntry[] {
    const found: SortedEntry[] = [];
    for (const { rows: own } of this.documentsInOrder(segment, this.sort.after)) {
      const fitting = own.filter((row) => isSet(rows, row));
      found.push(...this.taken(this.entries(segment, fitting), Infinity));
      if (found.length >= count) break;
    }
    return found.slice(0, count);
  }

  /** By the terms of the index: kinds of values one after the other, values in ranges. */
  private byTerms(segment: SegmentView, fields: TextIndex, rows: Bitmap, count: number): SortedEntry[] {
    const { sort } = this;
    const found: SortedEntry[] = [];
    for (const kind of KINDS.slice(sort.after?.kind ?? 0)) {
      if (found.length >= count) break;
      for (const range of rangesOf(fields, sort, kind)) {
        const own = intersect(rows, bitmapOfRange(fields, range));
        found.push(...this.inRange(segment, own, range, count - found.length));
        if (found.length >= count) break;
      }
    }
    if (found.length < count) {
      const valued = SECTIONS.flat().map((section) => fields.range(...termsOf(sort.field, section)));
      found.push(...this.inRange(segment, subtract(rows, valued.reduce(unite)), undefined, count - found.length));
    }
    return found.slice(0, count);
  }

  /** The first chunks of a range. If it has many, all with one value, they are met in the order of their documents. */
  private inRange(segment: SegmentView, rows: Bitmap, range: ValueRange | undefined, count: number): SortedEntry[] {
    const kind = range?.kind ?? MISSING;
    const isOwn = (entry: SortedEntry): boolean => {
      const isHere = entry.kind === kind && (!range || isWithin(entry, range));
      if (!isHere) this.misplaced.push(entry);
      return isHere;
    };
    const isOne = !range || range.isOne;
    if (countBits(rows) <= READ_MAX || !isOne) return this.taken(this.entries(segment, rows).filter(isOwn), count);
    const { after } = this.sort;
    const from = after && after.kind === kind && (!range || isWithin(after, range)) ? after : undefined;
    const found: SortedEntry[] = [];
    for (const { rows: own } of this.documentsInOrder(segment, from)) {
      const fitting = own.filter((row) => isSet(rows, row));
      found.push(...this.taken(this.entries(segment, fitting).filter(isOwn), Infinity));
      if (found.length >= count) break;
    }
    return found.slice(0, count);
  }

  private entries(segment: SegmentView, rows: Bitmap | readonly Ordinal[]): SortedEntry[] {
    const { index, id } = segment;
    const found: SortedEntry[] = [];
    for (const row of Array.isArray(rows) ? (rows as Ordinal[]) : (ordinalsIn(rows as Bitmap) as Generator<Ordinal>)) {
      const rowVersion = index.rowVersionOf(row);
      if ((rowVersion & 1) === 0) continue;
      const chunk = this.view.txn.findChunk(id, segment.stored(row));
      if (!chunk) {
        this.isBehind = true;
        continue;
      }
      found.push({
        shard: this.shard,
        ordinal: row,
        rowVersion,
        docid: chunk.docid,
        index: chunk.index,
        ...this.keyOf(segment, chunk),
      });
    }
    return found;
  }

  private keyOf(segment: SegmentView, { docid, metaJson }: ChunkRecord): Pick<SortPosition, 'kind' | 'value'> {
    if (this.sort.field === DOCID) return { kind: TEXT, value: '' };
    let metadata = this.documents.get(docid);
    if (!metadata) {
      metadata = JSON.parse(readDocument(this.view.txn, segment.id, docid).metadataJson) as Json;
      // Chunks of one document usually follow each other.
      if (this.documents.size >= READ_MAX) this.documents.clear();
      this.documents.set(docid, metadata);
    }
    return sortKey(this.read([JSON.parse(metaJson) as Json, metadata]), this.sort.descending);
  }
}

/** Values of one kind, from the first to the last in ascending order, both included. */
interface ValueRange {
  readonly kind: SortKind;
  readonly terms: readonly (readonly [from: string, to: string])[];
  readonly first: number | string;
  readonly last: number | string;
  readonly isOne: boolean;
}

const isWithin = ({ value }: Pick<SortPosition, 'value'>, { first, last }: ValueRange): boolean =>
  compareValues(value, first) >= 0 && compareValues(value, last) <= 0;

const bitmapOfRange = (fields: TextIndex, { terms }: ValueRange): Bitmap =>
  terms.map(([from, to]) => fields.range(from, to)).reduce(unite);

/** The terms of a section from the value `first` to the value `last`, or all. */
const termsOf = (
  field: string,
  section: SortedSection,
  first?: number | string,
  last?: number | string,
): [from: string, to: string] => [firstTermOf(field, section, first), termBehind(field, section, last)];

/**
 * The values of one kind that the index has, in order, cut into ranges that have at most `READ_MAX` chunks or one value.
 * Terms of equal values, such as long texts with one beginning, are in one range.
 */
function* rangesOf(
  fields: TextIndex,
  { field, descending, after }: SortSettings,
  kind: SortKind,
): Generator<ValueRange> {
  const sections = SECTIONS[kind] as readonly SortedSection[];
  let terms = TERMS_AT_ONCE;
  let bound = after?.kind === kind ? { value: after.value, isIncluded: true } : undefined;
  for (;;) {
    const values = sections.map((section) => {
      const edge = bound && (descending === bound.isIncluded ? termBehind : firstTermOf)(field, section, bound.value);
      const from = descending ? firstTermOf(field, section) : (edge ?? firstTermOf(field, section));
      const to = descending ? (edge ?? termBehind(field, section)) : termBehind(field, section);
      const listed = fields.rangeTerms(from, to, terms, descending).map((term) => valueOfTerm(field, section, term));
      return { listed, isCut: listed.length >= terms };
    });
    const inOrder = (a: number | string, b: number | string): number => (descending ? -1 : 1) * compareValues(a, b);
    // Beyond the last value of a list that is cut, others may follow that are not listed.
    const ends = values.filter(({ isCut }) => isCut).map(({ listed }) => listed.at(-1) as number | string);
    const [end] = ends.sort(inOrder);
    const all = values.flatMap(({ listed }) => listed).filter((value) => end === undefined || inOrder(value, end) <= 0);
    const distinct = all
      .sort(inOrder)
      .filter((value, i) => i === 0 || inOrder(value, all[i - 1] as number | string) !== 0);
    yield* split(fields, field, kind, distinct, descending);
    const last = distinct.at(-1);
    if (end === undefined || last === undefined) return;
    bound = { value: last, isIncluded: false };
    terms = Math.min(2 * terms, TERMS_MAX);
  }
}

/** Halves a range until it has few chunks or one value. */
function* split(
  fields: TextIndex,
  field: string,
  kind: SortKind,
  values: readonly (number | string)[],
  descending: boolean,
): Generator<ValueRange> {
  if (values.length === 0) return;
  const [a, b] = [values[0] as number | string, values.at(-1) as number | string];
  const [first, last] = descending ? [b, a] : [a, b];
  const terms = (SECTIONS[kind] as readonly SortedSection[]).map((section) => termsOf(field, section, first, last));
  const range: ValueRange = { kind, terms, first, last, isOne: values.length === 1 };
  if (range.isOne || countBits(bitmapOfRange(fields, range)) <= READ_MAX) return yield range;
  const half = values.length >> 1;
  yield* split(fields, field, kind, values.slice(0, half), descending);
  yield* split(fields, field, kind, values.slice(half), descending);
}
