// The layout of a shard's shared memory: every record that both compilers know, with its fields and its free bytes, and
// the numbers that the kernel (AssemblyScript) and the server (TypeScript) must agree on. Both compile this file, so it
// has flat numbers alone and imports nothing. Offsets and sizes are bytes; a field is a word of four bytes unless its
// comment says otherwise. test/unit/engine/layout.test.ts knows the size of every field: no two of a record overlap,
// and the free bytes are those that are named here. docs/internals/memory-layout.md has the rules of access.
//
// The records of the text index (index, run, term, block, mutable run, merge, cursor) are classes of kernel/postings:
// the compiler of the kernel lays them out, and no TypeScript reads them.

/** A checkpoint is read by a server with the same version of the layout (checkpoint/format.ts). */
export const LAYOUT_VERSION = 3;
export const MAGIC = 0x53484631;

/** The unit of the allocator, and the alignment of all that it gives out: a line of the cache. */
export const LINE_BYTES = 64;
/** In place of an ordinal, an id or a count. */
export const NONE = 0xffffffff;

// ## Results of kernel calls

export const OK = 0;
/** Memory has no room, and nothing has changed. */
export const FULL = -1;
/** The chunk is not in the text index. */
export const NOT_THERE = -2;

// ## Arena header
// Bytes 0 to 1023 of each memory. Address 0 stays unused, so that 0 can mean "none".
// Free: 0-63, 96-127, 560-575, 600-639, 656-1023.

export const MAGIC_AT = 64;
export const VERSION_AT = 68;
/** 0 while the arena is being formatted, else 1. */
export const STATE_AT = 72;
/** The lock of the allocator: who is in it, OWNER or the thread id of a reader + 1; 0 for nobody. */
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
/** How often the lock of the allocator has been taken. */
export const LOCKS_AT = 92;
/** The first free chunk of each bin: BINS words. */
export const BINS_AT = 128;
export const BINS = 108;
// The line of the epoch is read by every search, so nothing that is often written stands in it.
/** The present epoch, always odd; goes up by 2. Like the stamp, it survives format. */
export const EPOCH_AT = 576;
/** The incarnation of the memory while readers may enter, 0 while they may not. */
export const OPEN_AT = 580;
/** How often the memory has been formatted. */
export const INCARNATION_AT = 584;
/** One more than the highest place that was ever taken in the table of readers. */
export const READERS_END_AT = 588;
/** Address of the directory of segments, 0 before the first segment. */
export const DIRECTORY_AT = 592;
/** The stamp given out last before the batch that is being published, or at all. */
export const SETTLED_AT = 596;
/** 1 when a reader died within the allocator: nothing is given out any more, and the owner's end is due. */
export const DAMAGED_AT = 640;
/** Blocks that wait for readers: the first, the last, and their lines. */
export const RETIRED_FIRST_AT = 644;
export const RETIRED_LAST_AT = 648;
export const RETIRED_LINES_AT = 652;
/** Holder of the allocator's lock when it is not a reader. */
export const OWNER = 0xffffffff;
/** Blocks freed in one step: some microseconds under the lock. */
export const RECLAIM_STEP = 64;

// ## Reader
// One line of the table of readers, which has READERS_MAX of them at READERS_AT. What the arena gives out begins behind
// the table.
// Free: 16-63.

/** Thread id + 1; 0 for a free place. */
export const READER_THREAD = 0;
/** The epoch that the reader is inside of, 0 outside. */
export const READER_EPOCH = 4;
export const READER_SCRATCH = 8;
/** The incarnation that the scratch belongs to. */
export const READER_INCARNATION = 12;
export const READER_BYTES = 64;
export const READERS_AT = 1024;
export const READERS_MAX = 64;
export const ARENA_START = 5120;

// ## Chunk header
// The first line of a chunk, which is a run of lines. Counts and places are lines.
// Free: 28-63.

export const CHUNK_LINES = 0;
export const CHUNK_LINES_BEFORE = 4;
export const CHUNK_IN_USE = 8;
/** Of a free chunk: its neighbours in the bin. Of a retired one: the next, and the epoch it was retired in. */
export const CHUNK_NEXT = 12;
export const CHUNK_PREVIOUS = 16;
export const CHUNK_EPOCH = 20;
/** Of a free chunk: the line up to which the system has its pages back. */
export const CHUNK_GIVEN_TO = 24;

// ## Segment directory
// A hash table by collection id: this header, then entries.
// Free: 12-15.

export const DIRECTORY_SIZE = 0;
export const DIRECTORY_USED = 4;
export const DIRECTORY_LIVE = 8;
export const DIRECTORY_ENTRIES = 16;

// ## Directory entry
// Free: 28-31.

/** The id of the collection; 0 for a free place, NONE for one that is not used again. */
export const ENTRY_ID = 0;
/** The roots of the segment, of 24 bytes. */
export const ENTRY_ROOTS = 4;
export const ENTRY_BYTES = 32;

// ## Segment roots
// Addresses of the indexes of a segment, 0 for one that is not there, and two words that go with them.
// Free: none.

export const SEGMENT_VECTORS = 0;
export const SEGMENT_TEXT = 4;
export const SEGMENT_FIELDS = 8;
export const SEGMENT_PRIORITIES = 12;
/** The second at which the segment was used last. */
export const SEGMENT_USED_AT = 16;
/** In the home arena: a bit for each arena in which the collection has a segment, 0 where there is no other. */
export const SEGMENT_ARENAS = 20;
export const SEGMENT_ROOTS_BYTES = 24;
/** In the place of a root: memory had no room for the index. */
export const LOST = 1;

// ## Index root
// The vectors of a segment, their graph, and how the recall of searches is kept.
// Free: 88-91, 120-127.

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
/** Entry point: level << ENTRY_LEVEL_SHIFT | ordinal, one word, so that both always agree; NONE without a graph. */
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
/** One more than the place of the shape of codes in use; 0 while the recall tuner has not worked on the index. */
export const ROOT_SHAPE = 76;
/** Live rows at which axes are learned, and recall is checked, next; NONE for never. */
export const ROOT_LEARN_AT = 80;
export const ROOT_CHECK_AT = 84;
/**
 * Addresses of the tables of block addresses: of rows, at first the small one in the root, and of graph nodes, 0 before
 * the first.
 */
export const ROOT_ROW_TABLE = 92;
export const ROOT_NODE_TABLE = 96;
/** Nodes linked since lists were filled last. */
export const ROOT_UNFILLED = 100;
/** One more than the row where the filling of lists goes on, 0 while none is under way. */
export const ROOT_FILLING = 104;
/**
 * What a check of recall has found: the scores, floats, from which on the last of the JUDGED best is near enough for a
 * walk to be trusted, and for a broad one.
 */
export const ROOT_TRUSTED = 108;
export const ROOT_TRUSTED_BROAD = 112;
/** The live rows at the last check of recall, 0 while no check has ended. */
export const ROOT_CHECKED = 116;
/** The small table of blocks, of SMALL_TABLE_BYTES. */
export const ROOT_SMALL_TABLE = 128;
export const ROOT_BYTES = 256;
export const ENTRY_LEVEL_SHIFT = 28;
export const ENTRY_ORDINAL_MASK = 0x0fffffff;
/** Rows that were put again below the watermark and wait for their link. A power of two. */
export const QUEUE_ROWS = 1024;

// ## Row words
// They stand behind the vectors of their block.
// Free: none.

/** The version of the row: odd while it is live. */
export const ROW_STAMP = 0;
/** The ordinal + 1 of the next duplicate of its vector. */
export const ROW_DUPLICATE = 4;
/** One by the length of its numbers, a float. */
export const ROW_SCALE = 8;
export const ROW_WORDS_BYTES = 12;

// ## Node words
// They stand before the lists of their block.
// Free: none.

/** Generation of the graph that the node is in. */
export const NODE_MARK = 0;
/** The ordinal + 1 of the row before it in a chain of duplicates; 0 for one that is itself a node of the graph. */
export const NODE_DUPLICATE = 4;
export const NODE_WORDS_BYTES = 8;

// ## Block tables
// A table has a word for the address of each block of rows, of graph nodes, of codes or of priorities. There are four
// blocks of equal size to each doubling, the first four of 4 rows, so at most a quarter stands empty; beyond FINE_PLACE
// - FIRST_ROWS rows thirty-two to each doubling, so at most a thirty-second does. A small table has words for the
// former alone. kernel/memory/row-blocks.ts and `placeOf` of hnsw/vector-index.ts compute places with these numbers.

export const FIRST_ROWS = 16;
export const FINE_PLACE = 4096;
export const SMALL_TABLE_BYTES = 128;
export const TABLE_BYTES = 2176;

// ## Codes root
// The quantized vectors of an index.
// Free: 60-63.

export const CODES_DIM = 0;
/**
 * Slots of 4 bits, a multiple of 32, then slots of 2 bits, a multiple of 64. An axis has one or more of them, the first
 * for the coarse steps, each other for those within a step of the one before (quantization/training.ts).
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
/** Address of the slot that each slot refines, NONE for the first of an axis; 0 in codes of builds up to 5df2b01. */
export const CODES_PARENTS = 48;
/** The slots of 4 bits, and those of 2 bits, that are the first of their axis stand before the others. */
export const CODES_FIRST_4 = 52;
export const CODES_FIRST_2 = 56;
/** The table of blocks, of TABLE_BYTES: an index of few rows has no codes. */
export const CODES_ROW_BLOCKS = 64;
/**
 * Where ordinal 0 would stand if a block reached so far, for each thirty-second of each doubling of places from 16 to 2
 * ** 29: 800 words.
 */
export const CODES_ORIGINS = 2240;
export const CODES_BYTES = 5440;

// ## Slot plan
// What `planCodes` is given of each slot.
// Free: none.

/** The number of the axis among those learned. */
export const PLAN_AXIS = 0;
/** The slot that it refines, or NONE. */
export const PLAN_PARENT = 4;
/** Its step in standard deviations, a float. */
export const PLAN_STEP = 8;
export const PLAN_BYTES = 12;

// ## Priorities root
// A column of float64 by ordinal.
// Free: 12-63.

/** Rows that have a priority, and one more than the highest that ever had. */
export const PRIORITIES_COUNT = 0;
export const PRIORITIES_END = 4;
/** Address of the table of blocks, at first the small one in the root. */
export const PRIORITIES_TABLE = 8;
/** The small table of blocks, of SMALL_TABLE_BYTES. */
export const PRIORITIES_SMALL_TABLE = 64;
export const PRIORITIES_BYTES = 192;

// ## Scratch
// The working memory of one instance of the kernel: areas that grow, each a pair of address and capacity in bytes, then
// words and small arrays.
// Free: 68-75, 108-127, 776-831, 1088-1151.

export const SCRATCH_INPUT = 0;
export const SCRATCH_QUERY = 8;
export const SCRATCH_VISITED = 16;
export const SCRATCH_POOL = 24;
export const SCRATCH_BEST = 32;
/** Answers: of a search by vector k ordinals, k stamps and k scores; of one by text k ordinals and k scores. */
export const SCRATCH_OUTPUT = 40;
/** Of the text index: a question with its cursors, or what a freeze sorts. */
export const SCRATCH_WORDS = 48;
/** A bitmap of ordinals that goes with a question. */
export const SCRATCH_ALLOWED = 56;
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
/** Ordinals that are about to be scored, up to BATCH_ROWS; or the trees of neighbours while links are mended. */
export const BATCH = 128;
/** Keys of a list to choose from, of 8 bytes: a full list and one more. */
export const CANDIDATES = 512;
/** Keys chosen from them, a full list. */
export const CHOSEN = 832;
/** Scores of the ordinals in BATCH. */
export const SCORES = 1152;
export const SCRATCH_BYTES = 1536;
/** How many areas there are, and where in the pair of one its capacity stands. */
export const SCRATCH_AREAS = 8;
export const AREA_CAPACITY = 4;
/** Room of BATCH: for the nodes within two hops that make a walk go on, and two full lists. */
export const BATCH_ROWS = 96;

// ## Memory of a text index
// The number of each of its parts, for `wordsLines`.

export const TEXT_LENGTHS = 0;
export const TEXT_HEAD = 1;
export const TEXT_TERMS = 2;
export const TEXT_BLOCKS = 3;
export const TEXT_POSTINGS = 4;
export const TEXT_POSITIONS = 5;
export const TEXT_LIVE = 6;

// ## Rows and graph

export const ORDINALS_MAX = 0x0ffffff0;
/**
 * A unit vector times this is a row of 16-bit numbers. The dot product of two stays below 2^31, sums on the way too
 * (Cauchy-Schwarz).
 */
export const WIDE_SCALE = 32767;
/** Links of a node on level 0, and on each level above. */
export const LINKS_0 = 32;
export const LINKS_UP = 16;
/** Of 16 nodes side by side of a level one is of the next too, so that its list has a place of its own in their block. */
export const LEVEL_BITS = 4;
export const LEVEL_MAX = 6;
export const EF_CONSTRUCTION = 160;

// ## Searches by vector

/**
 * Breadth of a search's walk when the caller names none, until recall asks for more: this, or twice k where that is
 * more.
 */
export const EF_MIN = 96;
/** A search is judged by the score of so many of its best, however few are asked for. */
export const JUDGED = 10;
/** In the place of the breadth of a walk: the codes of all rows are scanned, or the rows. */
export const SCAN_CODES = 0x7fffffff;
export const SCAN_ROWS = 0x7ffffffe;
/** Of what a scan of the codes finds at least so many rows are scored: more than 99 of 100 of the ten nearest are there. */
export const SCAN_RERANK = 256;
