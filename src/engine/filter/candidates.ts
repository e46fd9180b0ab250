// Which chunks of a part a search may rank: its metadata filters and its content filter, as a bitmap of ordinals made
// before anything is ranked. Indexes decide; what they cannot decide is read. Search workers only.
import type { FieldTest, Filter } from '../../api/filter.js';
import type { Ordinal } from '../../api/ids.js';
import type { ContentFilter } from '../../api/search.js';
import { type ShardTxn, readDocument } from '../../storage/shard-reader.js';
import { type ContentPiece, createContentTest, piecesOf } from '../../text/content-filter.js';
import { CUT } from '../../text/terms.js';
import { tokensOf } from '../../text/tokenize.js';
import type { WordIndex } from '../postings/text-index.js';
import type { Narrowing } from '../search/params.js';
import type { ShardView } from '../search/snapshot.js';
import type { PartView } from '../segments/segment.js';
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
 * What an index can say of a filter: the chunks that certainly fit, and all that may. Where both are one bitmap it is
 * exact.
 */
interface Bounds {
  readonly lower: Bitmap;
  readonly upper: Bitmap;
}

const exactly = (bitmap: Bitmap): Bounds => ({ lower: bitmap, upper: bitmap });

const isExact = ({ lower, upper }: Bounds): boolean => lower === upper;

function combine(by: (a: Bitmap, b: Bitmap) => Bitmap, a: Bounds, b: Bounds): Bounds {
  const lower = by(a.lower, b.lower);
  return { lower, upper: isExact(a) && isExact(b) ? lower : by(a.upper, b.upper) };
}

const both = (a: Bounds, b: Bounds): Bounds => combine(intersect, a, b);

const either = (a: Bounds, b: Bounds): Bounds => combine(unite, a, b);

/** What is in `every` and does not fit. */
const neither = (every: Bitmap, a: Bounds): Bounds =>
  combine(subtract, exactly(every), { lower: a.upper, upper: a.lower });

/** The chunks in `unsure` may fit or not. */
const loosened = (a: Bounds, unsure: Bitmap): Bounds => ({
  lower: subtract(a.lower, unsure),
  upper: unite(a.upper, unsure),
});

/** A longer phrase is looked for by its beginning, and then in the texts. */
const PHRASE_TOKENS_MAX = 128;
/** So few texts are read sooner than all terms are looked through for one that ends as wanted. */
const READ_SOONER_MAX = 300;

/**
 * A content filter by the index of words: phrases and prefixes exactly, the others as the chunks whose texts have to be
 * read. What it means is said by src/text/content-filter.ts. undefined where the words cannot tell anything: then any
 * text may fit.
 */
function contentBounds(words: WordIndex, filter: ContentFilter): Bounds | undefined {
  const bounds = boundsOf(words, filter);
  const cut = words.any([CUT]);
  return bounds && cut.some((word) => word !== 0) ? loosened(bounds, cut) : bounds;
}

function boundsOf(words: WordIndex, { op, value }: ContentFilter): Bounds | undefined {
  if (op === 'contains') return mayContain(words, piecesOf(value));
  const tokens = tokensOf(value);
  const isCut = tokens.length > PHRASE_TOKENS_MAX;
  if (op === 'exact')
    return tokens.length === 0 ? undefined : possibly(words.phrase(tokens.slice(0, PHRASE_TOKENS_MAX)));
  if (tokens.length === 0) return exactly(new Uint32Array(0));
  const found = words.phrase(tokens.slice(0, PHRASE_TOKENS_MAX), op === 'prefix' && !isCut);
  return isCut ? possibly(found) : exactly(found);
}

const possibly = (found: Bitmap): Bounds => ({ lower: new Uint32Array(0), upper: found });

function mayContain(words: WordIndex, pieces: readonly ContentPiece[]): Bounds | undefined {
  return pieces.length === 0 ? undefined : possibly(pieces.map((piece) => having(words, piece)).reduce(intersect));
}

function having(words: WordIndex, { tokens, isOpenAtStart, isOpenAtEnd }: ContentPiece): Bitmap {
  const [first, ...rest] = tokens as [string, ...string[]];
  if (!isOpenAtStart) return words.phrase(tokens, isOpenAtEnd);
  if (rest.length === 0) return words.containing(first, !isOpenAtEnd);
  const found = words.phrase(rest, isOpenAtEnd);
  return countBits(found) <= READ_SOONER_MAX ? found : intersect(found, words.containing(first, true));
}

/** The chunks that fit the filter. */
function fieldBounds(fields: WordIndex, filter: Filter): Bounds {
  const unlisted = fields.any([UNLISTED]);
  const bounds = new FieldBounds(fields).of(filter);
  return unlisted.some((word) => word !== 0) ? loosened(bounds, unlisted) : bounds;
}

/**
 * A metadata filter by the index of metadata: each condition becomes a bitmap of chunks, and and, or, not are done with
 * these. What it means is said by match.ts.
 */
class FieldBounds {
  private readonly every: Bitmap;
  private readonly none: Bitmap;

  constructor(private readonly fields: WordIndex) {
    this.every = fields.every();
    this.none = new Uint32Array(this.every.length);
  }

  of(filter: Filter): Bounds {
    if ('all' in filter) return filter.all.map((part) => this.of(part)).reduce(both, exactly(this.every));
    if ('any' in filter) return filter.any.map((part) => this.of(part)).reduce(either, exactly(this.none));
    if ('not' in filter) return neither(this.every, this.of(filter.not));
    return this.condition(filter.field, filter.test);
  }

  private condition(field: string, test: FieldTest): Bounds {
    const lookup = lookupOf(field, test);
    if (!lookup) return { lower: this.none, upper: this.every };
    let found = this.fields.any(lookup.terms);
    for (const { from, to, piece, atEnd } of lookup.ranges)
      found = unite(found, this.fields.range(from, to, piece, atEnd));
    if (lookup.absent !== undefined) found = unite(found, subtract(this.every, this.fields.any([lookup.absent])));
    return lookup.unsure === undefined ? exactly(found) : loosened(exactly(found), this.fields.any([lookup.unsure]));
  }
}

type Json = Record<string, unknown>;

/**
 * Looks at the stored records of single chunks: whether metadata and text fit, where an index cannot tell. A chunk that
 * has gone fits nothing.
 */
class Verifier {
  private readonly fits: MetaTest;
  private readonly fitsContent: (text: string) => boolean;
  /** Of the document read last: its chunks stand together. */
  private last: { docid: string; metadata: Json } | undefined;

  constructor(
    private readonly txn: ShardTxn,
    private readonly part: PartView,
    { filters, content }: Narrowing,
  ) {
    this.fits = compileFilter({ all: filters });
    this.fitsContent = content ? createContentTest(content) : () => true;
  }

  fitsFilters(ordinal: Ordinal): boolean {
    const chunk = this.txn.findChunk(this.part.id, this.part.stored(ordinal));
    if (!chunk) return false;
    const { docid, metaJson } = chunk;
    if (this.last?.docid !== docid)
      this.last = { docid, metadata: JSON.parse(readDocument(this.txn, this.part.id, docid).metadataJson) as Json };
    return this.fits([JSON.parse(metaJson) as Json, this.last.metadata]);
  }

  fitsText(ordinal: Ordinal): boolean {
    const text = this.txn.text(this.part.id, this.part.stored(ordinal))?.toString();
    return text !== undefined && this.fitsContent(text);
  }
}

/**
 * Requires that what it wants is indexed, and a filter of either kind. Where memory has no room for an index, every
 * chunk is looked at.
 */
export function select(view: ShardView, part: PartView, narrowing: Narrowing): Bitmap {
  const byFields = narrowing.filters.length === 0 ? undefined : fieldsOf(part, narrowing.filters);
  const byContent = narrowing.content && contentOf(part, narrowing.content);
  const { lower, upper } = [byFields, byContent].filter((bounds) => bounds !== undefined).reduce(both);
  const unsure = subtract(upper, lower);
  if (unsure.every((word) => word === 0)) return lower;
  return view.read((txn) => {
    const verifier = new Verifier(txn, part, narrowing);
    // Bounds may reach further than the rows did a moment ago.
    const selected = emptyBitmap(32 * Math.max(lower.length, unsure.length));
    selected.set(lower);
    for (const ordinal of ordinalsIn(unsure) as Generator<Ordinal>) {
      const fits = isIn(byFields, ordinal) || verifier.fitsFilters(ordinal);
      if (fits && (isIn(byContent, ordinal) || verifier.fitsText(ordinal))) setBit(selected, ordinal);
    }
    return selected;
  });
}

/** Whether the chunk certainly fits, be it that nothing is asked for. */
const isIn = (bounds: Bounds | undefined, ordinal: Ordinal): boolean => !bounds || isSet(bounds.lower, ordinal);

function fieldsOf(part: PartView, filters: Narrowing['filters']): Bounds {
  return part.fields ? fieldBounds(part.fields, { all: filters }) : anything(part);
}

function contentOf(part: PartView, content: ContentFilter): Bounds {
  return (part.words && contentBounds(part.words, content)) ?? anything(part);
}

function anything({ index }: PartView): Bounds {
  const { end } = index;
  const live = emptyBitmap(end);
  for (let ordinal = 0; ordinal < end; ordinal++) if (index.isLive(ordinal)) setBit(live, ordinal);
  return { lower: emptyBitmap(0), upper: live };
}
