// What an index of words answers: rankings, bitmaps of chunks, and where its memory goes. Types and small functions.
// Used by WordIndex and whoever asks it.
/** Best first, equal scores by ordinal. */
export interface RankedWords {
  readonly count: number;
  readonly ordinals: Uint32Array;
  /** BM25. Chunks that tie have the very same number, in any shard. */
  readonly scores: Float64Array;
}

/** One bit an ordinal; those behind its end are not set. */
export type Bitmap = Uint32Array;

export interface WordBytes {
  readonly lengths: number;
  readonly head: number;
  readonly terms: number;
  readonly blocks: number;
  readonly postings: number;
  readonly positions: number;
  readonly live: number;
}

/** In the order of the kernel's numbers for them. */
export const PARTS: readonly (keyof WordBytes)[] = [
  'lengths',
  'head',
  'terms',
  'blocks',
  'postings',
  'positions',
  'live',
];

/** The first `count` of an answer. */
export function firstWords({ ordinals, scores }: RankedWords, count: number): RankedWords {
  return { count, ordinals: ordinals.subarray(0, count), scores: scores.subarray(0, count) };
}

/** The first `max` of some terms, each once, in the order of their bytes. */
export function firstTerms(terms: readonly string[], max: number): string[] {
  const inOrder = [...new Set(terms)].map((term) => Buffer.from(term)).sort(Buffer.compare);
  return inOrder.slice(0, max).map((term) => term.toString());
}
