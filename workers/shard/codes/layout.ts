// Where things stand in the codes of an index, and their constants: plain numbers for both compilers, as ../layout.ts. Offsets
// and sizes are bytes. What the codes are for: README.md beside this file.

// Root block of the codes.
export const CODES_DIM = 0;
/** Axes at 4 bits, a multiple of 32, then axes at 2 bits, a multiple of 64. */
export const CODES_AXES_4 = 4;
export const CODES_AXES_2 = 8;
export const CODES_ROW_BYTES = 12;
/** Bytes of a row of 16-bit numbers: for scoring again. */
export const CODES_WIDE_BYTES = 16;
/** Address of the axes: rows of 8-bit numbers, as many as a wide row has. Half the bytes, as a query reads them all. */
export const CODES_AXES = 20;
/** Address of four floats an axis, array after array: its unit (what 1 of a product of axis and wide row stands for), its step, its offset (the mean along it), its variance. */
export const CODES_STEPS = 24;
/** Sum of the variances along all axes of the space, as a float: what share of it the axes of the codes hold. */
export const CODES_VARIANCE = 28;
/** Address of the working memory of learning; 0 when done. */
export const CODES_WORK = 32;
/** Rows in the covariance so far. */
export const CODES_SAMPLED = 36;
export const CODES_LINES = 40;
/** Tables of block addresses, as in the root of an index: of codes, and of wide rows. */
export const CODES_ROW_BLOCKS = 64;
export const CODES_WIDE_BLOCKS = 448;
export const CODES_BYTES = 832;

/** Wide rows are padded to this many numbers: one round of the dot product's accumulators. */
export const WIDE_NUMBERS = 32;
/** A unit vector times this is a wide row. The dot product of two stays below 2^31, sums on the way too (Cauchy-Schwarz). */
export const WIDE_SCALE = 32767;
/** Steps in standard deviations that cost a normal distribution least (Max 1960): of 16 levels, and of 4. */
export const STEP_4 = 0.335;
export const STEP_2 = 0.996;
/** The folded query's largest number; it and 16 times another fit 16 bits (assembly/codes/score.ts). */
export const FOLDED_MAX = 1927;
/** Rows the covariance is taken of, and rounds of orthogonal iteration. */
export const SAMPLE_ROWS = 10_000;
export const LEARN_ROUNDS = 12;
/** Room for as many neighbours as two full lists. */
export const NEAR_MAX = 64;
