// Where things stand in the codes of an index, and their constants: plain numbers for both compilers, as ../layout.ts.
// Offsets and sizes are bytes. What the codes are for: README.md beside this file.

// In the root block of the index, behind its other words: how its codes are tended (tending.ts), as of the end of the
// last work on them.
/** One more than the place of the shape in use; 0 while there has been no work. */
export const ROOT_SHAPE = 76;
/** Live rows at which axes are learned, and recall is checked, next; NONE for never. */
export const ROOT_LEARN_AT = 80;
export const ROOT_CHECK_AT = 84;

// Root block of the codes.
export const CODES_DIM = 0;
/**
 * Slots of 4 bits, a multiple of 32, then slots of 2 bits, a multiple of 64. An axis has one or more of them, the first
 * for the coarse steps, each other for those within a step of the one before (slots.ts).
 */
export const CODES_AXES_4 = 4;
export const CODES_AXES_2 = 8;
export const CODES_ROW_BYTES = 12;
/** Bytes of a query of 16-bit numbers, as in the root of the index. */
export const CODES_WIDE_BYTES = 16;
/** Address of the axis of each slot: rows of 16-bit numbers of the length WIDE_SCALE, as a query is. */
export const CODES_AXES = 20;
/**
 * Address of four floats a slot, array after array: its unit (what 1 of a product of axis and query stands for), its
 * step, its offset (the mean along it), its variance.
 */
export const CODES_STEPS = 24;
/** Sum of the variances along all axes of the space, as a float: what share of it the axes of the codes hold. */
export const CODES_VARIANCE = 28;
/** Address of the working memory of learning; 0 when done. */
export const CODES_WORK = 32;
/** Rows in the covariance so far. */
export const CODES_SAMPLED = 36;
export const CODES_LINES = 40;
/** Axes that are learned, of which the slots are made. */
export const CODES_LEARNED = 44;
/** Address of the slot that each slot refines, NONE for the first of an axis; 0 in codes of older builds. */
export const CODES_PARENTS = 48;
/** The slots of 4 bits, and those of 2 bits, that are the first of their axis stand before the others. */
export const CODES_FIRST_4 = 52;
export const CODES_FIRST_2 = 56;
/** Table of block addresses, of TABLE_BYTES: small indexes have no codes. */
export const CODES_ROW_BLOCKS = 64;
/**
 * Where ordinal 0 would stand if a block reached so far, for each thirty-second of each doubling of places from 16 to 2
 * ** 29 (assembly/codes/codes.ts).
 */
export const CODES_ORIGINS = 2240;
export const CODES_BYTES = 5440;

/** The folded query's largest number; it and 16 times another fit 16 bits (assembly/codes/score.ts). */
export const FOLDED_MAX = 1927;
/** Slots a code may have, and what a query folded along them takes: 16-bit numbers, and floats on the way. */
const AXES_MAX = 512;
export const FOLDED_BYTES_MAX = 6 * AXES_MAX;
/** Indexes of fewer live rows have no codes. */
export const CODES_MIN = 4096;
/**
 * Of the candidates of a walk of breadth ef this share, and these more, are scored by their rows, and at least this
 * many for each hit.
 */
export const RERANK_SHARE = 0.75;
export const RERANK_MIN = 8;
export const RERANK_PER_HIT = 2;
/** Rows the covariance is taken of, and rounds of orthogonal iteration. */
export const SAMPLE_ROWS = 10_000;
export const LEARN_ROUNDS = 12;
/** Axes are learned again at each doubling of the rows until there are this many. */
export const LEARN_ROWS_MAX = 100_000;
/**
 * Recall@10 that is enough, of the questions of a check whose walks are trusted: real ones are easier (README.md). The
 * share of these of which less than half may be found, and the share of all that may be doubtful.
 */
export const RECALL_MIN = 0.97;
export const LOST_MAX = 0.01;
export const DOUBTFUL_MAX = 0.5;
/**
 * Where questions lie as far as those of which walks find this, walks are trusted, and broad ones: real questions are
 * easier, and a scan of the codes costs several broad walks.
 */
export const TRUSTED_RECALL = 0.94;
export const TRUSTED_RECALL_BROAD = 0.85;
/** Recall@10 of scans of the codes that is enough, of all questions; and half of each has to be found. */
export const CODES_RECALL_MIN = 0.98;
/** A check waits until no more of the rows wait for their links. */
export const UNLINKED_SHARE_MAX = 0.1;
/** Multiplications in a slice of learning: well below a millisecond. */
export const SLICE_PRODUCTS = 2_400_000;
