// Which chunks of a part a search may rank: its metadata filters and its content filter, as a bitmap of ordinals made
// before anything is ranked. Indexes decide; what they cannot decide is read. Search workers only; called by
// rank-part.ts.
import type { ContentFilter } from '../../src/contract/api/search.js';
import type { Ordinal } from '../../src/contract/ids.js';
import type { Narrowing } from '../../src/contract/ranking.js';
import { emptyBitmap, isSet, ordinalsIn, setBit, subtract } from '../shard/bitmaps.js';
import type { PartView } from '../shard/part-view.js';
import type { Bitmap } from '../shard/words/word-answers.js';
import { both, type Bounds } from './bounds.js';
import { contentBounds } from './content-bounds.js';
import { fieldBounds } from './field-bounds.js';
import type { ShardView } from './shard-view.js';
import { Verifier } from './verifier.js';

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
