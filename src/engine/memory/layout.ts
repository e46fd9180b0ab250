// The layout of a shard's shared memory: every record that both the kernel (AssemblyScript) and the server (TypeScript)
// read, with its fields and its free bytes, and the constants on which the two must agree. Both compilers compile this
// file, so it contains only number constants and imports nothing. Offsets and sizes are in bytes; a field is a u32
// unless its comment says otherwise. test/unit/engine/layout.test.ts knows the size of every field and checks that no
// two fields of a record overlap and that the free bytes are those named here. docs/internals/memory-layout.md has the
// access rules.
//
// The records of the text index (index, run, term, block, mutable run, merge, cursor) are classes in kernel/postings:
// the AssemblyScript compiler lays them out, and no TypeScript reads them.

/** A server reads only checkpoints of its own layout version (checkpoint/format.ts). */
export const LAYOUT_VERSION = 4;
export const MAGIC = 0x53484631;

/** The allocation unit, and the alignment of every allocated block: one cache line. */
export const LINE_BYTES = 64;
/** Stands for "none" in fields that hold an ordinal, an id or a count. */
export const NONE = 0xffffffff;

// ## Results of kernel calls

export const OK = 0;
/** Memory is full, and the call has changed nothing. */
export const FULL = -1;
/** The chunk is not in the text index. */
export const NOT_THERE = -2;

/** The header of the counts of terms, by offset: room for terms; where their texts begin, end, and must end. */
export const COUNTS_TERMS_MAX = 0;
export const COUNTS_TEXTS = 4;
export const COUNTS_TEXTS_END = 8;
export const COUNTS_TEXTS_MAX = 12;
export const COUNTS_BYTES = 16;

// ## Arena header
// Bytes 0 to 1023 of each memory. Address 0 stays unused, so that 0 can mean "none".
// Free: 0-63, 96-127, 560-575, 600-639, 656-1023.

export const MAGIC_AT = 64;
export const VERSION_AT = 68;
/** 0 while the arena is being formatted, else 1. */
export const STATE_AT = 72;
/** The allocator's lock: OWNER, or the thread id of a reader + 1, while held; 0 when free. */
export const LOCK_AT = 76;
/**
 * The last row version that was assigned. It is always odd and grows by 2. A format keeps it, so no row version is
 * reused during the life of the memory.
 */
export const LAST_ROW_VERSION_AT = 80;
/** Lines in use, including chunk headers. */
export const USED_AT = 84;
/** The line of the fence, which is the last line of the arena. */
export const FENCE_AT = 88;
/** The number of times that the allocator's lock has been taken. */
export const LOCKS_AT = 92;
/** The first free chunk of each bin: BINS words. */
export const BINS_AT = 128;
export const BINS = 108;
// Every search reads the cache line of the epoch, so no field that is written often shares it.
/** The current epoch. It is always odd and grows by 2. A format keeps it, as it keeps the row version counter. */
export const EPOCH_AT = 576;
/** The incarnation of the memory while readers may enter, 0 while the memory is closed. */
export const OPEN_AT = 580;
/** The number of times that the memory has been formatted. */
export const INCARNATION_AT = 584;
/** One more than the highest place in the table of readers that was ever taken. */
export const READERS_END_AT = 588;
/** Address of the segment directory, 0 before the first segment. */
export const DIRECTORY_AT = 592;
/** The last row version that had been assigned when the latest batch of writes was published completely. */
export const PUBLISHED_ROW_VERSION_AT = 596;
/** 1 after a reader died while it held the allocator's lock. Nothing is allocated any more, and the owner must end. */
export const DAMAGED_AT = 640;
/**
 * The list of retired blocks, which wait for readers to leave: its first chunk, its last chunk, and the sum of their
 * lines.
 */
export const RETIRED_FIRST_AT = 644;
export const RETIRED_LAST_AT = 648;
export const RETIRED_LINES_AT = 652;
/** The owner's value in the allocator's lock. */
export const OWNER = 0xffffffff;
/** The number of blocks that one step of reclamation frees, which takes some microseconds under the lock. */
export const RECLAIM_STEP = 64;

// ## Reader
// One place in the table of readers. The table has `READERS_MAX` of them from `READERS_AT` on; allocated memory begins
// after the table. Place n is the (n / READER_LINES)th of line n % READER_LINES, so the first readers have a line of the
// processor's cache each. Images of versions with `READER_LINES` places are read as they are: the rest of a line was 0.
// Free: none.

/** The thread id + 1; 0 for a free place. */
export const READER_THREAD = 0;
/** The epoch that the reader is inside of; 0 while it is outside. */
export const READER_EPOCH = 4;
export const READER_SCRATCH = 8;
/** The incarnation that the scratch belongs to. */
export const READER_INCARNATION = 12;
export const READER_BYTES = 16;
export const READERS_AT = 1024;
export const READER_LINES = 64;
export const READERS_MAX = 256;
export const ARENA_START = 5120;

// ## Chunk header
// The first line of a chunk. A chunk is a run of consecutive lines. Counts and positions are in lines.
// Free: 28-63.

export const CHUNK_LINES = 0;
export const CHUNK_LINES_BEFORE = 4;
export const CHUNK_IN_USE = 8;
/**
 * In a free chunk: its neighbours in the list of its bin. In a retired chunk: the next retired chunk, and the epoch in
 * which it was retired.
 */
export const CHUNK_NEXT = 12;
export const CHUNK_PREVIOUS = 16;
export const CHUNK_EPOCH = 20;
/** In a free chunk: the line up to which the pages have been returned to the operating system. */
export const CHUNK_GIVEN_TO = 24;

// ## Segment directory
// A hash table by collection id: this header, followed by the entries.
// Free: 12-15.

export const DIRECTORY_SIZE = 0;
export const DIRECTORY_USED = 4;
export const DIRECTORY_LIVE = 8;
export const DIRECTORY_ENTRIES = 16;

// ## Directory entry
// Free: 28-31.

/** The id of the collection; 0 for a free place, NONE for a deleted entry, whose place is not used again. */
export const ENTRY_ID = 0;
/** The segment roots, `SEGMENT_ROOTS_BYTES` long. */
export const ENTRY_ROOTS = 4;
export const ENTRY_BYTES = 32;

// ## Segment roots
// Addresses of the indexes of a segment, 0 for an index that does not exist, and two more fields of the segment.
// Free: none.

export const SEGMENT_VECTORS = 0;
export const SEGMENT_TEXT = 4;
export const SEGMENT_FIELDS = 8;
export const SEGMENT_PRIORITIES = 12;
/** The time of the last use of the segment, in seconds. */
export const SEGMENT_USED_AT = 16;
/**
 * In the home arena: a bit for each arena in which the collection has a segment; 0 when there is only the home arena.
 */
export const SEGMENT_ARENAS = 20;
export const SEGMENT_ROOTS_BYTES = 24;
/** Stands in the place of a root when memory had no room for the index. */
export const LOST = 1;

// ## Index root
// The root of a vector index: its rows, its graph, and the state of its recall tuner.
// Free: 88-91, 120-127.

export const ROOT_DIM = 0;
export const ROOT_ROW_BYTES = 4;
export const ROOT_GRAPH_MIN = 8;
/** One more than the highest published ordinal. */
export const ROOT_ROWS_END = 12;
export const ROOT_LIVE = 16;
/** The number of live rows in the graph. */
export const ROOT_INDEXED = 20;
/** The number of removed rows in the graph. */
export const ROOT_TOMBSTONES = 24;
/** The generation of the graph. A node is in the graph when its `NODE_MARK` is equal to it. */
export const ROOT_GRAPH = 28;
/**
 * Indexed-up-to: live rows below this ordinal are in the graph or in the relink queue; searches scan the rows at or
 * above it.
 */
export const ROOT_INDEXED_TO = 32;
/**
 * The entry point: level << `ENTRY_LEVEL_SHIFT` | ordinal in one word, so that a reader sees both of one entry point;
 * NONE without a graph.
 */
export const ROOT_ENTRY = 36;
/**
 * The relink queue: the address of a ring of `QUEUE_ROWS` ordinals, the running number of its first entry, and that of
 * the next entry to come.
 */
export const ROOT_QUEUE = 40;
export const ROOT_QUEUE_HEAD = 44;
export const ROOT_QUEUE_TAIL = 48;
/** The number of lines that the index has allocated. */
export const ROOT_LINES = 52;
/**
 * Bytes of a query, or of a row widened to 16-bit numbers. `ROOT_ROW_BYTES` for rows of 16-bit numbers, and twice as
 * many for rows of 8-bit numbers.
 */
export const ROOT_WIDE_BYTES = 56;
/**
 * Addresses of the quantized vectors in use and of those under construction, 0 for none. Once the principal components
 * of the latter are known, new rows are encoded for both.
 */
export const ROOT_QUANTIZER = 60;
export const ROOT_QUANTIZER_NEXT = 64;
/** Default `ef` of searches that name none; a search uses twice k where that is more. */
export const ROOT_EF = 68;
/** A counter that goes up by one before a batch of writes removes rows and by one after it, so it is odd meanwhile. */
export const ROOT_REMOVALS = 72;
/**
 * One more than the position, in the recall tuner's list, of the quantization in use; 0 while the tuner has not worked
 * on the index.
 */
export const ROOT_QUANTIZATION = 76;
/**
 * The numbers of live rows at which principal components are learned next and recall is measured next; NONE for never.
 */
export const ROOT_LEARN_AT = 80;
export const ROOT_CHECK_AT = 84;
/**
 * Addresses of the block tables of rows and of graph nodes. The former is the small table in the root at first; the
 * latter is 0 before the first node.
 */
export const ROOT_ROW_TABLE = 92;
export const ROOT_NODE_TABLE = 96;
/** The number of nodes linked since the graph was last densified. */
export const ROOT_UNDENSIFIED = 100;
/** One more than the row at which densifying continues; 0 while it is not under way. */
export const ROOT_DENSIFYING = 104;
/**
 * Scores (floats) from the last measurement of recall. A graph search is trusted when all of its JUDGED best hits score
 * at least the first; a repetition with a broader `ef` is trusted from the second on.
 */
export const ROOT_TRUSTED = 108;
export const ROOT_TRUSTED_BROAD = 112;
/** The number of live rows at the last measurement of recall; 0 before the first one has ended. */
export const ROOT_CHECKED = 116;
/** The small block table, of `SMALL_TABLE_BYTES`. */
export const ROOT_SMALL_TABLE = 128;
export const ROOT_BYTES = 256;
export const ENTRY_LEVEL_SHIFT = 28;
export const ENTRY_ORDINAL_MASK = 0x0fffffff;
/**
 * Capacity of the relink queue, which holds rows that were republished below `ROOT_INDEXED_TO` and wait to be indexed.
 * A power of two.
 */
export const QUEUE_ROWS = 1024;

// ## Row words
// The words of all rows of a block stand behind the vectors of the block.
// Free: none.

/** The row version, which is odd while the row is live. */
export const ROW_VERSION = 0;
/** The ordinal + 1 of the next row with a duplicate vector; 0 for none. */
export const ROW_DUPLICATE = 4;
/** The reciprocal of the Euclidean length of the row's numbers, a float. */
export const ROW_SCALE = 8;
export const ROW_WORDS_BYTES = 12;

// ## Node words
// The words of all nodes of a block stand in front of the neighbour lists of the block.
// Free: none.

/** The generation of the graph that the node belongs to. */
export const NODE_MARK = 0;
/** The ordinal + 1 of the previous row in a chain of duplicate vectors; 0 for a row that is a node of the graph. */
export const NODE_DUPLICATE = 4;
export const NODE_WORDS_BYTES = 8;

// ## Block tables
// A block table has a word for the address of each block of rows, of graph nodes, of quantized vectors or of
// priorities. Each doubling of the number of rows adds four blocks of equal size, the first four of 4 rows, so at most
// a quarter of the memory is unused. Beyond `FINE_PLACE` - `FIRST_ROWS` rows, each doubling adds thirty-two blocks, so
// at most a thirty-second is unused. A small table has words only for the blocks before that point.
// kernel/memory/row-blocks.ts and `placeOf` in hnsw/vector-index.ts compute places from these constants.

export const FIRST_ROWS = 16;
export const FINE_PLACE = 4096;
export const SMALL_TABLE_BYTES = 128;
export const TABLE_BYTES = 2176;

// ## Quantizer root
// The quantized vectors of an index.
// Free: 60-63.

export const QUANTIZER_DIM = 0;
/**
 * The number of slots of 4 bits, a multiple of 32, and of slots of 2 bits, a multiple of 64. The slots of 4 bits come
 * first. A principal component has one or more slots: the first holds its coarse level, and each further one refines a
 * level of an earlier slot (quantization/training.ts).
 */
export const QUANTIZER_COMPONENTS_4 = 4;
export const QUANTIZER_COMPONENTS_2 = 8;
export const QUANTIZER_ROW_BYTES = 12;
/** Bytes of a query of 16-bit numbers, equal to `ROOT_WIDE_BYTES`. */
export const QUANTIZER_WIDE_BYTES = 16;
/**
 * Address of the principal component of each slot: vectors of 16-bit numbers of the length `WIDE_SCALE`, in the form of
 * a query.
 */
export const QUANTIZER_COMPONENTS = 20;
/**
 * Address of four arrays of floats, with one float for each slot: unit (the factor that turns a dot product of
 * component and query into a coordinate), step, offset (the mean of the rows along the component), and variance.
 */
export const QUANTIZER_STEPS = 24;
/** The sum of the variances along all dimensions, a float. It tells what share of the variance the slots cover. */
export const QUANTIZER_VARIANCE = 28;
/** Address of the working memory of training; 0 after it. */
export const QUANTIZER_WORK = 32;
/** The number of rows in the covariance so far. */
export const QUANTIZER_SAMPLED = 36;
export const QUANTIZER_LINES = 40;
/** The number of principal components that are learned, from which the slots are made. */
export const QUANTIZER_LEARNED = 44;
/**
 * Address of an array with the slot that each slot refines, NONE for the first slot of a component; 0 in quantized
 * vectors made by builds up to 5df2b01.
 */
export const QUANTIZER_PARENTS = 48;
/**
 * The numbers of slots of 4 bits and of 2 bits that are the first of their component. These precede the other slots of
 * their width.
 */
export const QUANTIZER_FIRST_4 = 52;
export const QUANTIZER_FIRST_2 = 56;
/** The block table, of `TABLE_BYTES`. It is always the large one, since small indexes have no quantized vectors. */
export const QUANTIZER_ROW_BLOCKS = 64;
/**
 * For each thirty-second of each doubling of places from 16 to 2 ** 29, the address that ordinal 0 would have if the
 * block extended that far: 800 words.
 */
export const QUANTIZER_ORIGINS = 2240;
export const QUANTIZER_BYTES = 5440;

// ## Slot plan
// What `planQuantizer` reads for each slot.
// Free: none.

/** The number of the principal component among those learned. */
export const PLAN_COMPONENT = 0;
/** The slot that this slot refines, or NONE. */
export const PLAN_PARENT = 4;
/** The step in standard deviations of the component, a float. */
export const PLAN_STEP = 8;
export const PLAN_BYTES = 12;

// ## Column root
// A column of float64 by ordinal: the priorities of a segment, or the seconds in which its rows expire. The root of the
// priorities leads to that of the expiries.
// Free: 24-63.

/** The number of rows whose value is not 0, and one more than the highest ordinal that ever had one. */
export const COLUMN_COUNT = 0;
export const COLUMN_END = 4;
/** Address of the block table, which is the small one in this root at first. */
export const COLUMN_TABLE = 8;
/** In the priorities: address of the column of expiries; 0 if there is none. */
export const COLUMN_EXPIRIES = 12;
/** In the expiries: no row expires before this second; 0 if none expires. */
export const COLUMN_FIRST_EXPIRY = 16;
/**
 * In the expiries: changes when a row is added or gets another second, so that a bitmap of expired rows is known to be
 * still right. It begins with the last row version, so that a later column at the same address has others.
 */
export const COLUMN_VERSION = 20;
/** The small block table, of `SMALL_TABLE_BYTES`. */
export const COLUMN_SMALL_TABLE = 64;
export const COLUMN_BYTES = 192;

// ## Scratch
// The working memory of one instance of the kernel. It begins with areas that grow, each a pair of address and capacity
// in bytes; fields and small arrays follow.
// Free: 68-75, 108-127, 776-831, 1088-1151.

export const SCRATCH_INPUT = 0;
export const SCRATCH_QUERY = 8;
export const SCRATCH_VISITED = 16;
export const SCRATCH_POOL = 24;
export const SCRATCH_BEST = 32;
/**
 * The output area. A vector search writes k ordinals, k row versions and k scores; a text search writes k ordinals and
 * k scores.
 */
export const SCRATCH_OUTPUT = 40;
/** Working memory of the text index: a query with its cursors, or the sort of a freeze. */
export const SCRATCH_TEXT = 48;
/** The bitmap of ordinals of a filtered search, or a list of ordinals that a call takes. */
export const SCRATCH_ALLOWED = 56;
/** Address of the quantized vectors that lead the graph search; 0 when rows lead it. */
export const ESTIMATOR_QUANTIZER = 64;
export const BEST_SIZE = 76;
export const BEST_MAX = 80;
export const TOUCHED = 84;
/** The number of ordinals in the bitmap in `SCRATCH_ALLOWED` during a filtered search; NONE without a filter. */
export const ALLOWED_END = 88;
/** The number of bridge nodes that a filtered graph search may still use. */
export const BRIDGES_LEFT = 92;
/** The value under which this scratch's thread takes the allocator's lock. */
export const HOLDER = 96;
/** A word that only this thread changes, for memory fences. */
export const FENCE = 100;
/** What a cosine of 1 scores by quantized vectors, a float. */
export const ESTIMATOR_SCALE = 104;
/**
 * Up to `BATCH_ROWS` ordinals that are about to be scored; while the gap that a removed node leaves is closed, the
 * trees of its neighbours.
 */
export const BATCH = 128;
/** Keys of 8 bytes of the neighbours to select from: those of a full list and one more. */
export const CANDIDATES = 512;
/** The selected keys, up to a full list. */
export const CHOSEN = 832;
/** Scores of the ordinals in BATCH. */
export const SCORES = 1152;
export const SCRATCH_BYTES = 1536;
/** The number of areas, and the offset of the capacity in the pair of an area. */
export const SCRATCH_AREAS = 8;
export const AREA_CAPACITY = 4;
/** Capacity of BATCH: the nodes within two hops of a node, and two full lists. */
export const BATCH_ROWS = 96;

// ## Memory of a text index
// The numbers of its components, for `textIndexLines`.

export const TEXT_LENGTHS = 0;
export const TEXT_MUTABLE = 1;
export const TEXT_TERMS = 2;
export const TEXT_BLOCKS = 3;
export const TEXT_POSTINGS = 4;
export const TEXT_POSITIONS = 5;
export const TEXT_LIVE = 6;

// ## Rows and graph

export const ORDINALS_MAX = 0x0ffffff0;
/**
 * A row of 16-bit numbers is a unit vector times this factor. The dot product of two rows and its partial sums stay
 * below 2^31 (Cauchy-Schwarz inequality).
 */
export const WIDE_SCALE = 32767;
/** The maximum number of edges of a node on level 0, and on each level above. */
export const EDGES_0 = 32;
export const EDGES_UP = 16;
/**
 * Of each 16 neighbouring nodes of a level, one is on the next level too, so its upper list has a fixed place in the
 * block.
 */
export const LEVEL_BITS = 4;
export const LEVEL_MAX = 6;
export const EF_CONSTRUCTION = 160;

// ## Searches by vector

/** Default `ef` of a new index, until the recall tuner raises it; a search uses twice k where that is more. */
export const EF_MIN = 96;
/** The number of best hits by whose scores a search is judged, even when the caller asks for fewer. */
export const JUDGED = 10;
/** Values in the place of `ef`: scan all quantized vectors, or scan all rows. */
export const SCAN_QUANTIZED = 0x7fffffff;
export const SCAN_ROWS = 0x7ffffffe;
/**
 * The minimum number of rows that are scored exactly after a scan of the quantized vectors. They contain more than 99 %
 * of the ten nearest rows.
 */
export const SCAN_RERANK = 256;
