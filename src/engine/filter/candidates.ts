// Evaluates the filter of a search: the chunks of a segment that match its metadata filters and its content filter, as
// a candidate bitmap, before anything is ranked. The indexes decide where they can; the records of the remaining chunks
// are read. Searching threads only.
import type { FieldTest, Filter } from '../../api/filter.js';
import type { Ordinal } from '../../api/ids.js';
import type { ContentFilter } from '../../api/search.js';
import { type ShardTxn, readDocument } from '../../storage/shard-reader.js';
import { type ContentPiece, createContentTest, piecesOf } from '../../text/content-filter.js';
import { type Phrase, createClauseTest, termOfPhrase } from '../../text/query-syntax.js';
import { CUT } from '../../text/terms.js';
import { tokensOf } from '../../text/tokenize.js';
import type { TextIndex } from '../postings/text-index.js';
import type { SearchFilter } from '../search/params.js';
import type { ShardView } from '../search/snapshot.js';
import type { SegmentView } from '../segments/segment.js';
import {
  type Bitmap,
  countBits,
  emptyBitmap,
  intersect,
  isSet,
  ordinalsIn,
  setBit,
  subtract,
  unite,
} from './bitmap.js';
import { UNLISTED, lookupOf } from './field-terms.js';
import { type MetaTest, compileFilter } from './match.js';

/**
 * Candidate bitmaps of a filter as an index sees it: `must` has the chunks that certainly match, `may` those that may
 * match. If both are the same bitmap, the answer is exact.
 */
interface CandidateBitmaps {
  readonly must: Bitmap;
  readonly may: Bitmap;
}

const exactly = (bitmap: Bitmap): CandidateBitmaps => ({ must: bitmap, may: bitmap });

const isExact = ({ must, may }: CandidateBitmaps): boolean => must === may;

function combine(by: (a: Bitmap, b: Bitmap) => Bitmap, a: CandidateBitmaps, b: CandidateBitmaps): CandidateBitmaps {
  const must = by(a.must, b.must);
  return { must, may: isExact(a) && isExact(b) ? must : by(a.may, b.may) };
}

const both = (a: CandidateBitmaps, b: CandidateBitmaps): CandidateBitmaps => combine(intersect, a, b);

const either = (a: CandidateBitmaps, b: CandidateBitmaps): CandidateBitmaps => combine(unite, a, b);

/** The complement of `a` in `every`. */
const neither = (every: Bitmap, a: CandidateBitmaps): CandidateBitmaps =>
  combine(subtract, exactly(every), { must: a.may, may: a.must });

/** `a`, with the chunks in `unsure` undecided. */
const loosened = (a: CandidateBitmaps, unsure: Bitmap): CandidateBitmaps => ({
  must: subtract(a.must, unsure),
  may: unite(a.may, unsure),
});

/** Only this many tokens of a longer phrase are looked up; the rest is rechecked in the texts. */
const PHRASE_TOKENS_MAX = 128;
/** Up to this many candidates, reading their texts is faster than scanning the vocabulary for a suffix. */
const READ_SOONER_MAX = 300;

/**
 * Candidates of a content filter from the text index: exact for phrases and prefixes, otherwise an upper bound whose
 * texts must be rechecked. The semantics are defined by src/text/content-filter.ts. Returns undefined if the index
 * cannot restrict the candidates at all.
 */
function contentCandidates(textIndex: TextIndex, filter: ContentFilter): CandidateBitmaps | undefined {
  const bitmaps = textCandidates(textIndex, filter);
  const cut = textIndex.any([CUT]);
  return bitmaps && cut.some((word) => word !== 0) ? loosened(bitmaps, cut) : bitmaps;
}

function textCandidates(textIndex: TextIndex, { op, value }: ContentFilter): CandidateBitmaps | undefined {
  if (op === 'contains') return mayContain(textIndex, piecesOf(value));
  const tokens = tokensOf(value);
  const isCut = tokens.length > PHRASE_TOKENS_MAX;
  if (op === 'exact')
    return tokens.length === 0 ? undefined : possibly(textIndex.phrase(tokens.slice(0, PHRASE_TOKENS_MAX)));
  if (tokens.length === 0) return exactly(new Uint32Array(0));
  const found = textIndex.phrase(tokens.slice(0, PHRASE_TOKENS_MAX), op === 'prefix' && !isCut);
  return isCut ? possibly(found) : exactly(found);
}

const possibly = (found: Bitmap): CandidateBitmaps => ({ must: new Uint32Array(0), may: found });

function mayContain(textIndex: TextIndex, pieces: readonly ContentPiece[]): CandidateBitmaps | undefined {
  return pieces.length === 0 ? undefined : possibly(pieces.map((piece) => having(textIndex, piece)).reduce(intersect));
}

function having(textIndex: TextIndex, { tokens, isOpenAtStart, isOpenAtEnd }: ContentPiece): Bitmap {
  const [first, ...rest] = tokens as [string, ...string[]];
  if (!isOpenAtStart) return textIndex.phrase(tokens, isOpenAtEnd);
  if (rest.length === 0) return textIndex.containing(first, !isOpenAtEnd);
  const found = textIndex.phrase(rest, isOpenAtEnd);
  return countBits(found) <= READ_SOONER_MAX ? found : intersect(found, textIndex.containing(first, true));
}

/** Candidates of a metadata filter from the metadata index. */
function fieldCandidates(fields: TextIndex, filter: Filter): CandidateBitmaps {
  const unlisted = fields.any([UNLISTED]);
  const bitmaps = new FieldCandidates(fields).of(filter);
  return unlisted.some((word) => word !== 0) ? loosened(bitmaps, unlisted) : bitmaps;
}

/** The chunks that certainly match a metadata filter, by the metadata index. */
export const certainCandidates = (fields: TextIndex, filter: Filter): Bitmap => fieldCandidates(fields, filter).must;

/**
 * Evaluates a metadata filter on the metadata index: each condition becomes a bitmap of chunks, and `all`, `any` and
 * `not` combine these. The semantics are defined by match.ts.
 */
class FieldCandidates {
  private readonly every: Bitmap;
  private readonly none: Bitmap;

  constructor(private readonly fields: TextIndex) {
    this.every = fields.every();
    this.none = new Uint32Array(this.every.length);
  }

  of(filter: Filter): CandidateBitmaps {
    if ('all' in filter) return filter.all.map((condition) => this.of(condition)).reduce(both, exactly(this.every));
    if ('any' in filter) return filter.any.map((condition) => this.of(condition)).reduce(either, exactly(this.none));
    if ('not' in filter) return neither(this.every, this.of(filter.not));
    return this.condition(filter.field, filter.test);
  }

  private condition(field: string, test: FieldTest): CandidateBitmaps {
    const lookup = lookupOf(field, test);
    if (!lookup) return { must: this.none, may: this.every };
    let found = this.fields.any(lookup.terms);
    for (const { from, to, piece, atEnd } of lookup.ranges)
      found = unite(found, this.fields.range(from, to, piece, atEnd));
    if (lookup.absent !== undefined) found = unite(found, subtract(this.every, this.fields.any([lookup.absent])));
    const unsure = (lookup.unsureRanges ?? []).map(({ from, to }) => this.fields.range(from, to));
    if (lookup.unsure !== undefined) unsure.push(this.fields.any([lookup.unsure]));
    return unsure.length === 0 ? exactly(found) : loosened(exactly(found), unsure.reduce(unite));
  }
}

type Json = Record<string, unknown>;

/**
 * Rechecks single chunks that an index cannot decide, by reading their metadata and text. A chunk that has been deleted
 * matches nothing.
 */
class Recheck {
  private readonly fits: MetaTest;
  private readonly textTests: ((text: string) => boolean)[];
  /** The document read last. Chunks of one document usually follow each other. */
  private last: { docid: string; metadata: Json } | undefined;

  constructor(
    private readonly txn: ShardTxn,
    private readonly segment: SegmentView,
    { filters, content, clauses }: SearchFilter,
  ) {
    this.fits = compileFilter({ all: filters });
    this.textTests = [
      ...(content ? [createContentTest(content)] : []),
      ...(clauses ? [createClauseTest(clauses, clauses.language)] : []),
    ];
  }

  fitsFilters(ordinal: Ordinal): boolean {
    const chunk = this.txn.findChunk(this.segment.id, this.segment.stored(ordinal));
    if (!chunk) return false;
    const { docid, metaJson } = chunk;
    if (this.last?.docid !== docid)
      this.last = { docid, metadata: JSON.parse(readDocument(this.txn, this.segment.id, docid).metadataJson) as Json };
    return this.fits([JSON.parse(metaJson) as Json, this.last.metadata]);
  }

  fitsText(ordinal: Ordinal): boolean {
    const text = this.txn.text(this.segment.id, this.segment.stored(ordinal))?.toString();
    return this.textTests.every((fits) => fits(text ?? ''));
  }
}

/**
 * The chunks of a segment that match the filter. Requires a filter of metadata or texts, and the indexes that it needs.
 * If an index did not fit in memory, the records of all chunks are read.
 */
export function candidatesOf(view: ShardView, segment: SegmentView, filter: SearchFilter): Bitmap {
  const byFields = filter.filters.length === 0 ? undefined : fieldsOf(segment, filter.filters);
  const byContent = textsOf(segment, filter);
  const { must, may } = [byFields, byContent].filter((bitmaps) => bitmaps !== undefined).reduce(both);
  const unsure = subtract(may, must);
  if (unsure.every((word) => word === 0)) return must;
  return view.read((txn) => {
    const recheck = new Recheck(txn, segment, filter);
    // The candidate bitmaps may be longer than the segment was a moment ago.
    const candidates = emptyBitmap(32 * Math.max(must.length, unsure.length));
    candidates.set(must);
    for (const ordinal of ordinalsIn(unsure) as Generator<Ordinal>) {
      const fits = isIn(byFields, ordinal) || recheck.fitsFilters(ordinal);
      if (fits && (isIn(byContent, ordinal) || recheck.fitsText(ordinal))) setBit(candidates, ordinal);
    }
    return candidates;
  });
}

/** Whether the chunk certainly matches; true if there is no filter of this kind. */
const isIn = (bitmaps: CandidateBitmaps | undefined, ordinal: Ordinal): boolean =>
  !bitmaps || isSet(bitmaps.must, ordinal);

function fieldsOf(segment: SegmentView, filters: SearchFilter['filters']): CandidateBitmaps {
  return segment.fields ? fieldCandidates(segment.fields, { all: filters }) : anything(segment);
}

function textsOf(segment: SegmentView, { content, clauses }: SearchFilter): CandidateBitmaps | undefined {
  const { textIndex } = segment;
  const byContent = content && ((textIndex && contentCandidates(textIndex, content)) ?? anything(segment));
  const byClauses = clauses && (textIndex ? clauseCandidates(textIndex, clauses, segment) : anything(segment));
  return byContent && byClauses ? both(byContent, byClauses) : (byContent ?? byClauses);
}

/** Candidates by the syntax of a query. The semantics are defined by src/text/query-syntax.ts. */
function clauseCandidates(
  textIndex: TextIndex,
  { all, none, language }: NonNullable<SearchFilter['clauses']>,
  segment: SegmentView,
): CandidateBitmaps {
  const having = (phrase: Phrase): Bitmap => {
    const term = termOfPhrase(phrase, language);
    return term === undefined ? textIndex.phrase(phrase.tokens) : textIndex.any([term]);
  };
  const wanted = all.map((phrases) => phrases.map(having).reduce(unite));
  // A chunk without a text has none of the words.
  const found = wanted.length > 0 ? wanted.reduce(intersect) : anything(segment).may;
  const cut = textIndex.any([CUT]);
  const bitmaps = exactly(none.map(having).reduce(subtract, found));
  return cut.some((word) => word !== 0) ? loosened(bitmaps, cut) : bitmaps;
}

const anything = ({ index }: SegmentView): CandidateBitmaps => ({ must: emptyBitmap(0), may: index.liveRows() });
