// Metadata filters by the index of metadata: each condition becomes a bitmap of chunks, and and, or, not are done with
// these. Search workers only; called by selection.ts. What it means is said by src/rank/match-filter.ts.
import type { FieldTest, Filter } from '../../src/contract/filter.js';
import { UNLISTED } from '../../src/rank/field-encoding.js';
import { lookupOf } from '../../src/rank/field-lookups.js';
import { subtract, unite } from '../shard/bitmaps.js';
import { both, either, exactly, loosened, neither, type Bounds } from './bounds.js';
import type { Bitmap } from '../shard/words/word-answers.js';
import type { WordIndex } from '../shard/words/word-index.js';

/** The chunks that fit the filter. */
export function fieldBounds(fields: WordIndex, filter: Filter): Bounds {
  const unlisted = fields.any([UNLISTED]);
  const bounds = new FieldBounds(fields).of(filter);
  return unlisted.some((word) => word !== 0) ? loosened(bounds, unlisted) : bounds;
}

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
