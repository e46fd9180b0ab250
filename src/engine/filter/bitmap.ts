// Bitmaps of ordinals and operations on them. Operands may have different lengths. Pure functions.

/** One bit for each ordinal. Ordinals beyond the end of the array are not set. */
export type Bitmap = Uint32Array;

/** A bitmap with space for `ordinals` ordinals, none of them set. */
export const emptyBitmap = (ordinals: number): Bitmap => new Uint32Array((ordinals + 31) >>> 5);

/** Sets all ordinals below `ordinals`, and possibly a few above, up to the end of the last word. */
export const fullBitmap = (ordinals: number): Bitmap => emptyBitmap(ordinals).fill(0xffffffff);

export const isSet = (bitmap: Bitmap, ordinal: number): boolean =>
  (((bitmap[ordinal >>> 5] ?? 0) >>> (ordinal & 31)) & 1) === 1;

/** Requires that the bitmap is long enough for the ordinal. */
export function setBit(bitmap: Bitmap, ordinal: number): void {
  bitmap[ordinal >>> 5] = (bitmap[ordinal >>> 5] as number) | (1 << (ordinal & 31));
}

/** Requires that all ordinals are below `end`. */
export function bitmapOf(ordinals: Iterable<number>, end: number): Bitmap {
  const bitmap = emptyBitmap(end);
  for (const ordinal of ordinals) setBit(bitmap, ordinal);
  return bitmap;
}

export function intersect(a: Bitmap, b: Bitmap): Bitmap {
  const both = a.slice(0, b.length);
  for (let i = 0; i < both.length; i++) both[i] = (both[i] as number) & (b[i] as number);
  return both;
}

export function unite(a: Bitmap, b: Bitmap): Bitmap {
  const [long, short] = a.length < b.length ? [b, a] : [a, b];
  const either = long.slice();
  for (let i = 0; i < short.length; i++) either[i] = (either[i] as number) | (short[i] as number);
  return either;
}

/** The ordinals that are in `a` and not in `b`. */
export function subtract(a: Bitmap, b: Bitmap): Bitmap {
  const rest = a.slice();
  for (let i = 0; i < Math.min(rest.length, b.length); i++) rest[i] = (rest[i] as number) & ~(b[i] as number);
  return rest;
}

/** The number of set ordinals. */
export function countBits(bitmap: Bitmap): number {
  let count = 0;
  for (let word of bitmap) {
    word -= (word >>> 1) & 0x55555555;
    word = (word & 0x33333333) + ((word >>> 2) & 0x33333333);
    count += Math.imul((word + (word >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
  }
  return count;
}

/** The set ordinals in ascending order. */
export function* ordinalsIn(bitmap: Bitmap): Generator<number> {
  for (let i = 0; i < bitmap.length; i++) {
    for (let word = bitmap[i] as number; word !== 0; word &= word - 1) yield 32 * i + 31 - Math.clz32(word & -word);
  }
}
