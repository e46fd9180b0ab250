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
