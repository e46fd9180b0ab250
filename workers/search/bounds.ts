// What an index can say of a filter: the chunks that certainly fit, and all that may. Where both are one bitmap it is
// exact. Pure. Made by field-bounds.ts and content-bounds.ts; selection.ts looks at what lies between.
import { intersect, subtract, unite } from '../shard/bitmaps.js';
import type { Bitmap } from '../shard/words/word-answers.js';

export interface Bounds {
  readonly lower: Bitmap;
  readonly upper: Bitmap;
}

export const exactly = (bitmap: Bitmap): Bounds => ({ lower: bitmap, upper: bitmap });

const isExact = ({ lower, upper }: Bounds): boolean => lower === upper;

function combine(by: (a: Bitmap, b: Bitmap) => Bitmap, a: Bounds, b: Bounds): Bounds {
  const lower = by(a.lower, b.lower);
  return { lower, upper: isExact(a) && isExact(b) ? lower : by(a.upper, b.upper) };
}

export const both = (a: Bounds, b: Bounds): Bounds => combine(intersect, a, b);

export const either = (a: Bounds, b: Bounds): Bounds => combine(unite, a, b);

/** What is in `every` and does not fit. */
export const neither = (every: Bitmap, a: Bounds): Bounds =>
  combine(subtract, exactly(every), { lower: a.upper, upper: a.lower });

/** The chunks in `unsure` may fit or not. */
export const loosened = (a: Bounds, unsure: Bitmap): Bounds => ({
  lower: subtract(a.lower, unsure),
  upper: unite(a.upper, unsure),
});
