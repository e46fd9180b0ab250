// Where things stand in a shard's shared memory, and the constants of the graph. Plain numbers, compiled by both
// compilers: AssemblyScript (assembly/) and TypeScript (instance.ts, kernel.ts, vector-index.ts, tests). Offsets and
// sizes are bytes. The rules for these words: README.md beside this file.

// Arena header, at fixed addresses; address 0 stays unused so that 0 can mean "none".
export const MAGIC = 0x53484631;
export const VERSION = 3;
export const MAGIC_AT = 64;
export const VERSION_AT = 68;
/** 0 while being formatted, else 1. */
export const STATE_AT = 72;
/** The allocator's lock: who is in it, OWNER or a reader's thread id + 1; 0 for nobody. */
export const LOCK_AT = 76;
/**
 * The stamp given out last, always odd; goes up by 2. It survives format, so a stamp means one row version for the life
 * of the memory.
 */
export const STAMP_AT = 80;
/** Lines in use, chunk headers included. */
export const USED_AT = 84;
/** Line of the fence: the last line of the arena. */
export const FENCE_AT = 88;
export const BINS_AT = 128;
export const BINS = 108;
export const ARENA_START = 5120;

/** The allocator's unit and alignment. */
export const LINE_BYTES = 64;
export const GROW_PAGES_MIN = 16;

// Root block of an index.
export const ROOT_DIM = 0;
export const ROOT_ROW_BYTES = 4;
export const ROOT_GRAPH_MIN = 8;
/** One more than the highest ordinal ever published. */
export const ROOT_ROWS_END = 12;
export const ROOT_LIVE = 16;
/** Live rows in the graph. */
export const ROOT_LINKED = 20;
/** Removed rows in the graph. */
export const ROOT_TOMBSTONES = 24;
/** Generation of the graph: a node is in the graph when its mark is this number. */
export const ROOT_GRAPH = 28;
/** Live rows below it are in the graph or in the relink queue; those at or above it are scanned. */
export const ROOT_WATERMARK = 32;
/** Entry point: level << 28 | ordinal; NONE without a graph. */
export const ROOT_ENTRY = 36;
/** The relink queue: a ring of QUEUE_ROWS ordinals, with the running numbers of its first entry and of its next. */
export const ROOT_QUEUE = 40;
export const ROOT_QUEUE_HEAD = 44;
export const ROOT_QUEUE_TAIL = 48;
/** Lines that the index takes of the arena. */
export const ROOT_LINES = 52;
/**
 * Bytes of a query, or of a row widened to 16-bit numbers: those of a row, twice as many where rows are of 8-bit
 * numbers.
 */
export const ROOT_WIDE_BYTES = 56;
/**
 * The codes that walks go by, and those being made, which rows are encoded with already once their axes are learned; 0
 * where there are none.
 */
export const ROOT_CODES = 60;
export const ROOT_CODES_NEXT = 64;
/** Breadth of a search's walk when the caller names none, or twice k where that is more. */
export const ROOT_EF = 68;
/** Goes up before a publication takes rows out, and after it: odd meanwhile. */
export const ROOT_REMOVALS = 72;
/**
 * What a check of recall has found (codes/tending.ts): the scores, floats, from which on the last of the JUDGED best is
 * near enough for a walk to be trusted, and for one BROAD times as broad; and the live rows there were, 0 while no check
 * has ended.
 */
export const ROOT_TRUSTED = 108;
export const ROOT_TRUSTED_BROAD = 112;
export const ROOT_CHECKED = 116;
/**
 * Addresses of the tables of block addresses: of rows, at first the small one in the root, and of graph nodes, 0 before
 * the first.
 */
export const ROOT_ROW_TABLE = 92;
export const ROOT_NODE_TABLE = 96;
export const ROOT_SMALL_TABLE = 128;
export const ROOT_BYTES = 256;

export const ORDINALS_MAX = 0x0ffffff0;
export const DIM_MAX = 65536;
/** Rows are padded with zeros to this many numbers: one round of the dot product's accumulators. */
export const ROW_NUMBERS = 32;
/**
 * A unit vector times this is a row of 16-bit numbers. The dot product of two stays below 2^31, sums on the way too
 * (Cauchy-Schwarz).
 */
export const WIDE_SCALE = 32767;
export const NARROW_MAX = 127;

// Graph.
export const NONE = 0xffffffff;
export const LINKS_0 = 32;
export const LINKS_UP = 16;
/**
 * Of 16 nodes side by side of a level one is of the next too, so that its list has a place of its own in their block
 * (assembly/rows.ts).
 */
export const LEVEL_BITS = 4;
export const LEVEL_MAX = 6;
export const EF_CONSTRUCTION = 160;
/** Of what an insertion's walk found the best are scored by their rows, and neighbours chosen of them. */
export const RESCORED = 80;
/**
 * Breadth of a search's walk when the caller names none, until recall asks for more (codes/tending.ts): this, or twice
 * k where that is more.
 */
export const EF_MIN = 96;
/** A search is judged by the score of so many of its best, however few are asked for. */
export const JUDGED = 10;
export const BROAD = 4;
/** In the place of the breadth of a walk: the codes of all rows are scanned, or the rows. */
export const SCAN_CODES = 0x7fffffff;
export const SCAN_ROWS = 0x7ffffffe;
/** Of what a scan of the codes finds at least so many rows are scored: more than 99 of 100 of the ten nearest are there. */
export const SCAN_RERANK = 256;
/**
 * A search's walk ends when five eighths of ef hops without these, and at least so many, have brought none of the k
 * best (codes/README.md).
 */
export const PATIENCE_LESS = 8;
export const PATIENCE_MIN = 8;
/** Indexes of fewer live rows have no graph. */
export const GRAPH_MIN = 4096;
/** Room of BATCH: TWO_HOP_MIN, and two full lists. */
export const BATCH_ROWS = 96;
/**
 * A node with fewer neighbours that the filter admits is expanded to the neighbours of the others, until there are so
 * many; at most 32. 10 took recall@10 from .97 to .87 where the queries are far from a tenth of 60,000 rows that match,
 * at a rate a sixth higher.
 */
export const TWO_HOP_MIN = 20;
/** Of these others a walk scores and expands the first this many. */
export const BRIDGES_MAX = 64;
/** Admitted nodes, spread over all of them, that a filtered walk starts from beside the node nearest to the query. */
export const SEEDS = 32;
/** Of a node's copies the filter is asked about this many; a node with more is looked into. */
export const COPIES_ASKED = 16;
/** Rows that were put again below the watermark and wait for their link. A power of two. */
export const QUEUE_ROWS = 1024;

// Scratch block of a kernel instance: pairs (address, capacity in bytes) of areas that grow, then words and small
// arrays.
export const SCRATCH_INPUT = 0;
export const SCRATCH_QUERY = 8;
export const SCRATCH_VISITED = 16;
export const SCRATCH_POOL = 24;
export const SCRATCH_BEST = 32;
export const SCRATCH_OUTPUT = 40;
/**
 * Of the words: a question with its cursors, or what a freeze sorts; and a bitmap of ordinals that goes with a
 * question.
 */
export const SCRATCH_WORDS = 48;
export const SCRATCH_ALLOWED = 56;
export const SCRATCH_AREAS = 8;
/** The codes that lead the walk, 0 for rows. */
export const GUIDE_CODES = 64;
export const BEST_SIZE = 76;
export const BEST_MAX = 80;
export const TOUCHED = 84;
/** Ordinals of the bitmap in SCRATCH_ALLOWED while a search is filtered, NONE while it is not. */
export const ALLOWED_END = 88;
/** Nodes that a filtered walk may still use as bridges. */
export const BRIDGES_LEFT = 92;
/** Whose scratch it is, as the allocator's lock names them. */
export const HOLDER = 96;
/** A word that is nobody else's, to be changed by fences. */
export const FENCE = 100;
/** What a cosine of 1 scores by codes, a float. */
export const GUIDE_SCALE = 104;
/** Ordinals that are about to be scored, up to BATCH_ROWS. */
export const BATCH = 128;
/** Keys of a list to choose from: a full list and one more. */
export const CANDIDATES = 512;
/** Keys chosen from them. */
export const CHOSEN = 832;
/** Scores of the ordinals in BATCH. */
export const SCORES = 1152;
export const SCRATCH_BYTES = 1536;
/**
 * A scratch is made with room for this many answers, so that a search does not fail where memory is full; pages never
 * used cost nothing.
 */
export const SCRATCH_ANSWERS = 10_001;
export const SCRATCH_POOL_ENTRIES = 40_200;

// Result codes of kernel calls that can run out of memory.
export const OK = 0;
export const FULL = -1;

// What stands where in a shard's shared memory for its readers: epochs, the table of readers, the directory of parts,
// and priorities. As layout.ts, plain constants read by both compilers, on every thread.

// Epochs and readers (epochs.ts, reader-table.ts). The first line is read by every search, so nothing that is often
// written stands in it.
/** The present epoch, always odd; goes up by 2. Like the stamp, it survives format. */
export const EPOCH_AT = 576;
/** The incarnation of the memory while readers may enter, 0 while they may not. */
export const OPEN_AT = 580;
/** How often the memory has been formatted. */
export const INCARNATION_AT = 584;
/** One more than the highest place that was ever taken in the table of readers. */
export const READERS_END_AT = 588;
/** The stamp given out last before the batch that is being published, or at all. */
export const SETTLED_AT = 596;
/** The directory's table (directory.ts), 0 before the first part. */
export const DIRECTORY_AT = 592;
/** How often the allocator's lock has been taken. */
export const LOCKS_AT = 92;
/** 1 when a reader died within the allocator: nothing is given out any more, and the owner's end is due. */
export const DAMAGED_AT = 640;
/** Blocks that wait for readers: the first, the last, and their lines. */
export const RETIRED_FIRST_AT = 644;
export const RETIRED_LAST_AT = 648;
export const RETIRED_LINES_AT = 652;
/**
 * The table of readers, a line for each: thread id + 1, the epoch it is inside of (0 outside), its scratch and the
 * incarnation that this belongs to.
 */
export const READERS_AT = 1024;
export const READERS_MAX = 64;
export const READER_BYTES = 64;
export const READER_THREAD = 0;
export const READER_EPOCH = 4;
export const READER_SCRATCH = 8;
export const READER_INCARNATION = 12;
/** Holder of the allocator's lock when it is not a reader. */
export const OWNER = 0xffffffff;
/** Blocks freed in one step: some microseconds under the lock. */
export const RECLAIM_STEP = 64;

// The directory of parts: size and used places, then entries.
export const DIRECTORY_SIZE = 0;
export const DIRECTORY_USED = 4;
export const DIRECTORY_LIVE = 8;
export const DIRECTORY_ENTRIES = 16;
export const ENTRY_BYTES = 32;
/** The collection's id; 0 for a free place, NONE for one that is not used again. */
export const ENTRY_ID = 0;
/** Roots of its indexes: of vectors, words, metadata, priorities. 0: not there. */
export const ENTRY_ROOTS = 4;
export const ROOT_VECTORS = 0;
export const ROOT_WORDS = 1;
export const ROOT_FIELDS = 2;
export const ROOT_PRIORITIES = 3;
/** The second at which it was used last: no root, but it goes with them. */
export const ROOT_USED_AT = 4;
/** Of the home arena: a bit for each arena in which the collection has a part, 0 where there is no other. */
export const ROOT_ARENAS = 5;
export const PART_ROOTS = 6;
/** In the place of a root: memory had no room for the index. */
export const LOST = 1;

// Root block of a column of priorities, in blocks as those of rows.
/** Rows that have one, and one more than the highest that ever had. */
export const PRIORITIES_COUNT = 0;
export const PRIORITIES_END = 4;
/** Address of the table of blocks, at first the small one in the root (assembly/block-table.ts). */
export const PRIORITIES_TABLE = 8;
export const PRIORITIES_SMALL_TABLE = 64;
export const PRIORITIES_BYTES = 192;

// The blocks that rows and graph nodes stand in, and the tables that say where: plain numbers for both compilers, as
// layout.ts. Offsets and sizes are bytes. assembly/block-table.ts and row-blocks.ts compute places with them.

// Blocks of rows: four of equal size to each doubling, the first four of 4 rows, so at most a quarter stands empty;
// beyond FINE_PLACE - FIRST_ROWS rows thirty-two to each doubling, so at most a thirty-second does. A small table has
// words for the former alone.
export const FIRST_ROWS = 16;
export const FINE_PLACE = 4096;
export const SMALL_TABLE_BYTES = 128;
export const TABLE_BYTES = 2176;
/**
 * Words of a row, behind the vectors of its block: the stamp, the ordinal + 1 of the next copy of its vector, one by
 * the length of its numbers.
 */
export const ROW_WORDS_BYTES = 12;
/** Words of a node, before the lists of its block: mark, ordinal + 1 of the row before it in a chain of copies. */
export const NODE_WORDS_BYTES = 8;

// When and how the lists of the graph are filled: where that stands in the root of an index, and the constants. Plain
// numbers for both compilers, as in layout.ts; used by assembly/fill.ts in the owner's thread, and by index-state.ts,
// which says when it is due.

/**
 * In the root block of the index: nodes linked since lists were filled last; one more than the row where their filling
 * goes on, 0 while none is under way.
 */
export const ROOT_UNFILLED = 100;
export const ROOT_FILLING = 104;

/**
 * Lists are filled when of so many nodes more than one has been linked since the last time: those of fewer links than
 * this,
 */
export const FILL_SHARE = 3;
export const FILLED_LINKS = 28;
/**
 * with nodes that a walk of this breadth from their own finds, until so many hops bring none that is among the nearest
 * of a full list.
 */
export const FILL_EF = 48;
export const FILL_PATIENCE = 8;

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
