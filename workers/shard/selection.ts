// Which chunks of a part a search may rank: its metadata filters and its content filter, as a bitmap of ordinals made before
// anything is ranked. Indexes decide; what they cannot decide is read. Shard worker only; called by search.ts.
import type { ContentFilter } from '../../src/contract/api/search.js';
import type { Ordinal } from '../../src/contract/ids.js';
import type { Narrowing } from '../../src/contract/ranking.js';
import { emptyBitmap, isSet, ordinalsIn, setBit, subtract } from './bitmaps.js';
import { both, type Bounds } from './bounds.js';
import { contentBounds } from './content-bounds.js';
import { fieldBounds } from './field-bounds.js';
import type { Part } from './part.js';
import { prepareFields } from './part-fields.js';
import { prepareWords } from './part-words.js';
import type { Shard } from './shard.js';
import { Verifier } from './verifier.js';
import type { Bitmap } from './words/word-answers.js';

/** Makes the indexes that the selection wants; false while they are being built. */
export function prepareSelection(shard: Shard, part: Part, { filters, content }: Narrowing): boolean {
  const fields = filters.length === 0 || prepareFields(shard, part);
  const words = !content || prepareWords(shard, part);
  return fields && words;
}

/** Requires that it has been prepared, and a filter of either kind. Where memory has no room for an index, every chunk is looked at. */
export function select(shard: Shard, part: Part, narrowing: Narrowing): Bitmap {
  const byFields = narrowing.filters.length === 0 ? undefined : fieldsOf(part, narrowing.filters);
  const byContent = narrowing.content && contentOf(part, narrowing.content);
  const { lower, upper } = [byFields, byContent].filter((bounds) => bounds !== undefined).reduce(both);
  const unsure = subtract(upper, lower);
  if (unsure.every((word) => word === 0)) return lower;
  return shard.store.read((txn) => {
    const verifier = new Verifier(txn, part, narrowing);
    const selected = emptyBitmap(part.ordinals.end);
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

function fieldsOf(part: Part, filters: Narrowing['filters']): Bounds {
  return part.fields?.complete ? fieldBounds(part.fields.complete, { all: filters }) : anything(part);
}

function contentOf(part: Part, content: ContentFilter): Bounds {
  return (part.words?.complete && contentBounds(part.words.complete, content)) ?? anything(part);
}

function anything({ index, ordinals }: Part): Bounds {
  const live = emptyBitmap(ordinals.end);
  for (let ordinal = 0; ordinal < ordinals.end; ordinal++) if (index.isLive(ordinal)) setBit(live, ordinal);
  return { lower: emptyBitmap(0), upper: live };
}
