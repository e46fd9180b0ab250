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
