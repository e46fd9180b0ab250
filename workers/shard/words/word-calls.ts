// The kernel's calls on an index of words, as instance.ts declares those on vectors. Numbers are u32 unless said
// otherwise; counts may come back as FULL. Used by WordIndex.
export interface WordCalls {
  createWords(): number;
  dropWords(root: number): void;
  addWords(scratch: number, root: number, ordinal: number, tokens: number, bytes: number): number;
  removeWords(scratch: number, root: number, ordinal: number, terms: number): number;
  freezeWords(scratch: number, root: number): number;
  mergeWords(root: number, max: number, all: boolean): number;
  countWords(scratch: number, root: number, terms: number): number;
  matchWords(scratch: number, root: number, terms: number, ordinals: number, chunks: number): number;
  rankWords(
    scratch: number,
    root: number,
    terms: number,
    k: number,
    norm: number,
    normPerToken: number,
    allowed: number,
  ): number;
  /** The answers of these five are bitmaps in the output. */
  findPhrase(scratch: number, root: number, terms: number, lastIsPrefix: boolean): number;
  findContaining(scratch: number, root: number, atEnd: boolean): number;
  findAny(scratch: number, root: number, terms: number): number;
  findLive(scratch: number, root: number): number;
  findRange(scratch: number, root: number, atEnd: boolean): number;
  listPrefixed(scratch: number, root: number, max: number): number;
  ensureAllowed(scratch: number, bytes: number): number;
  wordsLines(root: number, part: number): number;
}
