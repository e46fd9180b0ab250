// The directory of a shard's segments: a hash table (open addressing, linear probing) from collection ids to the roots
// of the segment's indexes. Only the owner writes. Any thread inside an epoch reads without a lock: an entry's id is
// stored after its roots, and its place never gets another id. To grow, the owner publishes a new table by one store
// and retires the old one.
import {
  DIRECTORY_AT,
  DIRECTORY_ENTRIES,
  DIRECTORY_LIVE,
  DIRECTORY_SIZE,
  DIRECTORY_USED,
  ENTRY_BYTES,
  ENTRY_ID,
  ENTRY_ROOTS,
  NONE,
  SEGMENT_ROOTS_BYTES,
} from '../../memory/layout';
import { allocate } from './arena';
import { retire } from './epochs';

const SIZE_MIN: u32 = 16;

/** Address of the roots of a collection's segment, or 0. Any thread. */
export function findSegment(id: u32): usize {
  const table: usize = atomic.load<u32>(DIRECTORY_AT);
  if (!table) return 0;
  const mask = load<u32>(table, DIRECTORY_SIZE) - 1;
  let place = placeOf(id) & mask;
  let found = atomic.load<u32>(entryAt(table, place), ENTRY_ID);
  while (found && found != id) {
    place = (place + 1) & mask;
    found = atomic.load<u32>(entryAt(table, place), ENTRY_ID);
  }
  return found ? entryAt(table, place) + ENTRY_ROOTS : 0;
}

/**
 * Adds a segment without roots, unless it exists. Returns the address of its roots, or 0 when memory is full. Owner
 * only.
 */
export function addSegment(id: u32): usize {
  const known = findSegment(id);
  if (known) return known;
  if (!ensureCapacity()) return 0;
  const table: usize = load<u32>(DIRECTORY_AT);
  const entry = freeEntry(table, id);
  store<u32>(table, load<u32>(table, DIRECTORY_USED) + 1, DIRECTORY_USED);
  store<u32>(table, load<u32>(table, DIRECTORY_LIVE) + 1, DIRECTORY_LIVE);
  atomic.store<u32>(entry, id, ENTRY_ID);
  return entry + ENTRY_ROOTS;
}

/**
 * Deletes a segment. A reader that has found its roots keeps using the indexes, which are retired, not freed at once.
 * Owner only.
 */
export function deleteSegment(id: u32): void {
  const roots = findSegment(id);
  if (!roots) return;
  const table: usize = load<u32>(DIRECTORY_AT);
  atomic.store<u32>(roots - ENTRY_ROOTS, NONE, ENTRY_ID);
  store<u32>(table, load<u32>(table, DIRECTORY_LIVE) - 1, DIRECTORY_LIVE);
}

/** @inline */
function entryAt(table: usize, place: u32): usize {
  return table + DIRECTORY_ENTRIES + <usize>place * <usize>ENTRY_BYTES;
}

/**
 * The hash of an id. Ids are consecutive, and a multiplication spreads them (Knuth, "The Art of Computer Programming"
 * 3, 6.4).
 * @inline
 */
function placeOf(id: u32): u32 {
  return (id * 0x9e3779b1) >> 7;
}

function freeEntry(table: usize, id: u32): usize {
  const mask = load<u32>(table, DIRECTORY_SIZE) - 1;
  let place = placeOf(id) & mask;
  while (load<u32>(entryAt(table, place), ENTRY_ID)) place = (place + 1) & mask;
  return entryAt(table, place);
}

/**
 * Makes room for one more entry. A quarter of the places stays free; growing drops the places of deleted entries. False
 * when memory is full.
 */
function ensureCapacity(): bool {
  const table: usize = load<u32>(DIRECTORY_AT);
  const size: u32 = table ? load<u32>(table, DIRECTORY_SIZE) : 0;
  if (table && load<u32>(table, DIRECTORY_USED) + 1 <= size - (size >> 2)) return true;
  const live: u32 = table ? load<u32>(table, DIRECTORY_LIVE) : 0;
  let larger = SIZE_MIN;
  while (live + 1 > larger >> 1) larger <<= 1;
  const next = createTable(larger);
  if (!next) return false;
  for (let place: u32 = 0; place < size; place++) copyEntry(next, entryAt(table, place));
  store<u32>(next, live, DIRECTORY_USED);
  store<u32>(next, live, DIRECTORY_LIVE);
  atomic.store<u32>(DIRECTORY_AT, <u32>next);
  retire(table);
  return true;
}

function createTable(size: u32): usize {
  const bytes = <usize>DIRECTORY_ENTRIES + <usize>size * <usize>ENTRY_BYTES;
  const table = allocate(bytes);
  if (!table) return 0;
  memory.fill(table, 0, bytes);
  store<u32>(table, size, DIRECTORY_SIZE);
  return table;
}

function copyEntry(table: usize, entry: usize): void {
  const id = load<u32>(entry, ENTRY_ID);
  if (id && id != NONE) memory.copy(freeEntry(table, id), entry, <usize>(ENTRY_ROOTS + SEGMENT_ROOTS_BYTES));
}
