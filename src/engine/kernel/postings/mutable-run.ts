// The mutable run of a text index: the chunks added last, as tokens in the order in which they came, each linked to the
// previous token of the same term. Chunks are added here at a cost that does not depend on the size of the index; a
// full mutable run is frozen. The owner writes. Other threads read the slots that `slots` counted when they began, and
// skip newer tokens of a chain. An area that grows leaves its old block to them: a thread that knows the number of an
// element before it loads the address of the area finds the element there.
import { NONE } from '../../memory/layout';
import { Area, allocate, areaLines, linesOf, retireArea } from '../memory/arena';
import { retire } from '../memory/epochs';
import { equalBytes } from './run';

/** The record of a mutable run: its counts and its five areas. */
@unmanaged
export class MutableRun {
  slots: u32;
  /** The number of slots whose chunk is live. */
  live: u32;
  /** The length of the shortest chunk, live or dead, for bounds. */
  shortest: u32;
  entries: u32;
  entriesBytes: u32;
  entriesUsed: u32;
  chunks: u32;
  chunksBytes: u32;
  chunksUsed: u32;
  terms: u32;
  termsBytes: u32;
  termsUsed: u32;
  bytes: u32;
  bytesBytes: u32;
  bytesUsed: u32;
  /** The hash table of terms: a header of 8 bytes with the number of places less one, followed by the places. */
  table: u32;
  tableBytes: u32;
  tableUsed: u32;
}

/** The numbers of the areas; the last one is the hash table. */
export const ENTRIES: usize = 0;
export const SLOTS: usize = 1;
export const MUTABLE_TERMS: usize = 2;
export const MUTABLE_BYTES: usize = 3;
const AREAS: usize = 5;

/** A token: its term, its slot, and one more than the number of the previous token of the same term. */
@unmanaged
export class Entry {
  term: u32;
  slot: u32;
  before: u32;
}

/** A chunk of the mutable run: its ordinal, or NONE once it is dead, its first token and the number of its tokens. */
@unmanaged
export class Slot {
  ordinal: u32;
  first: u32;
  length: u32;
}

/** A term of the mutable run. `at` and `length` locate its bytes in the area of bytes. */
@unmanaged
export class MutableTerm {
  at: u32;
  length: u32;
  /** One more than the number of the term's newest token, and the number of its tokens. */
  last: u32;
  tokens: u32;
  /**
   * The number of live chunks with the term, its occurrences in the newest chunk, and the largest number of occurrences
   * in any chunk.
   */
  chunks: u32;
  run: u32;
  most: u32;
}

/** The maximum number of slots, which is also the size of a window. */
export const SLOTS_MAX: u32 = 4096;
/**
 * The number of tokens at which the mutable run is frozen. Freezing takes about 20 ns a token (node dist/load/main.js
 * text peers), so this keeps it at a millisecond or two. A longer chunk is frozen alone.
 */
export const TOKENS_MAX: u32 = 65536;

/** Creates an empty mutable run. Returns its address, or 0 when memory is full. */
export function createMutableRun(): usize {
  const mutable = allocate(offsetof<MutableRun>());
  if (mutable) memory.fill(mutable, 0, offsetof<MutableRun>());
  return mutable;
}

/** Retires a mutable run, which readers may still be using. Requires that it is in no list. */
export function retireMutableRun(mutable: usize): void {
  for (let i: usize = 0; i < AREAS; i++) retireArea(mutableArea(mutable, i));
  retire(mutable);
}

export function mutableLines(mutable: usize): u32 {
  let lines = linesOf(mutable);
  for (let i: usize = 0; i < AREAS; i++) lines += areaLines(mutableArea(mutable, i));
  return lines;
}

export function mutableArea(mutable: usize, index: usize): Area {
  return changetype<Area>(mutable + offsetof<MutableRun>('entries') + index * offsetof<Area>());
}

/** @inline */
export function tokenCount(mutable: MutableRun): u32 {
  return mutable.entriesUsed / <u32>offsetof<Entry>();
}

/** @inline */
export function mutableTermCount(mutable: MutableRun): u32 {
  return (
    atomic.load<u32>(changetype<usize>(mutable) + offsetof<MutableRun>('termsUsed')) / <u32>offsetof<MutableTerm>()
  );
}

/** One more than the number of the newest token of a term. @inline */
export function newestOf(term: MutableTerm): u32 {
  return atomic.load<u32>(changetype<usize>(term) + offsetof<MutableTerm>('last'));
}

/** @inline */
export function entryAt(mutable: MutableRun, token: u32): Entry {
  return changetype<Entry>(<usize>mutable.entries + <usize>token * offsetof<Entry>());
}

/** @inline */
export function slotAt(mutable: MutableRun, slot: u32): Slot {
  return changetype<Slot>(<usize>mutable.chunks + <usize>slot * offsetof<Slot>());
}

/** @inline */
export function mutableTermAt(mutable: MutableRun, term: u32): MutableTerm {
  return changetype<MutableTerm>(<usize>mutable.terms + <usize>term * offsetof<MutableTerm>());
}

/** @inline */
export function bytesOf(mutable: MutableRun, term: MutableTerm): usize {
  return <usize>mutable.bytes + term.at;
}

/** The slot of a live chunk among the first `slots`, or NONE. */
export function findSlot(mutable: MutableRun, slots: u32, ordinal: u32): u32 {
  for (let slot = slots; slot > 0; slot--) if (slotAt(mutable, slot - 1).ordinal == ordinal) return slot - 1;
  return NONE;
}

// The hash table of terms, from their bytes to their numbers: open addressing with linear probing. The owner adds
// terms; any thread looks them up in the table whose address it has loaded. A table that is too small is replaced as a
// whole.

const TABLE_HEAD: usize = 8;

/** Address of the hash table, which a look-up must load only once, because the table may be replaced. @inline */
export function tableOf(mutable: MutableRun): usize {
  return atomic.load<u32>(changetype<usize>(mutable) + offsetof<MutableRun>('table'));
}

/** Address of a place in a table: a hash and one more than the number of its term; 0 for a free place. @inline */
function tableAt(table: usize, place: u32): usize {
  return table + TABLE_HEAD + ((<usize>place) << 3);
}

/**
 * Address of the place of a term in a table, or of the free place where it belongs. Requires that the table has a free
 * place.
 */
export function placeOf(mutable: MutableRun, table: usize, hash: u32, at: usize, length: u32): usize {
  const mask = load<u32>(table);
  let place = tableAt(table, hash & mask);
  for (let next = hash + 1; numberAt(place); place = tableAt(table, next++ & mask)) {
    if (load<u32>(place) != hash) continue;
    const term = mutableTermAt(mutable, numberAt(place) - 1);
    if (term.length == length && equalBytes(bytesOf(mutable, term), at, length)) break;
  }
  return place;
}

/** One more than the number of the term in a place, or 0. It is stored after everything it refers to. @inline */
export function numberAt(place: usize): u32 {
  return atomic.load<u32>(place, 4);
}

/**
 * Grows the table, if needed, so that a third of its places stays free with `terms` terms. False when memory is full.
 */
export function growTable(mutable: MutableRun, terms: u32): bool {
  const old: usize = mutable.table;
  const places = terms + (terms >> 1);
  if (old && places <= load<u32>(old)) return true;
  let size: u32 = 64;
  while (places > size - 1) size <<= 1;
  const bytes = TABLE_HEAD + ((<usize>size) << 3);
  const table = allocate(bytes);
  if (!table) return false;
  memory.fill(table, 0, bytes);
  store<u32>(table, size - 1);
  if (old) copyTable(table, old);
  atomic.store<u32>(changetype<usize>(mutable) + offsetof<MutableRun>('table'), <u32>table);
  mutable.tableBytes = <u32>bytes;
  retire(old);
  return true;
}

function copyTable(table: usize, old: usize): void {
  const mask = load<u32>(table);
  for (let place: u32 = 0; place <= load<u32>(old); place++) {
    const pair = load<u64>(tableAt(old, place));
    if (!pair) continue;
    let to = <u32>pair & mask;
    while (load<u64>(tableAt(table, to))) to = (to + 1) & mask;
    store<u64>(tableAt(table, to), pair);
  }
}
