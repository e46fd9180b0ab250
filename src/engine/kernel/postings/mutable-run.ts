// The head: the chunks added last, token by token in the order they came, each token with a link to the one before it
// of the same term. Adds go here and cost the same however large the index is; when it is full it is frozen into a
// segment. Written by the owner; other threads see the slots that SLOTS counted when they began, and skip the newer
// tokens of a chain. An area that grows leaves its old place to them: whoever knows the number of an element before it
// loads the area's address finds it there.
import { NONE } from '../../memory/layout';
import { Area, allocate, areaLines, linesOf, retireArea } from '../memory/arena';
import { retire } from '../memory/epochs';
import { equalBytes } from './run';

@unmanaged
export class Head {
  slots: u32;
  /** Slots whose chunk is live. */
  live: u32;
  /** Of the live and the dead: for bounds. */
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
  /** Hashes: the number of places less one, 8 bytes in all, and the places. */
  table: u32;
  tableBytes: u32;
  tableUsed: u32;
}

/** The areas of a head, by number; the last is the table of hashes. */
export const ENTRIES: usize = 0;
export const SLOTS: usize = 1;
export const HEAD_TERMS: usize = 2;
export const HEAD_BYTES: usize = 3;
const AREAS: usize = 5;

/** A token: the term, its slot, and one more than the number of the token before it with the same term. */
@unmanaged
export class Entry {
  term: u32;
  slot: u32;
  before: u32;
}

/** A chunk of the head: its ordinal, NONE once it is dead, and its tokens. */
@unmanaged
export class Slot {
  ordinal: u32;
  first: u32;
  length: u32;
}

@unmanaged
export class HeadTerm {
  at: u32;
  length: u32;
  /** One more than the number of its newest token, and how many it has. */
  last: u32;
  tokens: u32;
  /** Live chunks that have it, how often the newest does, and the most often that one does. */
  chunks: u32;
  run: u32;
  most: u32;
}

/** A window of sums holds them all. */
export const SLOTS_MAX: u32 = 4096;
/**
 * Freezing takes about 20 ns a token (node dist/load/main.js text peers): this many keep it near a millisecond or two. A longer
 * chunk is frozen alone.
 */
export const TOKENS_MAX: u32 = 65536;

export function createHead(): usize {
  const head = allocate(offsetof<Head>());
  if (head) memory.fill(head, 0, offsetof<Head>());
  return head;
}

/** Gives back a head, be it that readers are still at work in it. Requires that it is in no list. */
export function retireHead(head: usize): void {
  for (let i: usize = 0; i < AREAS; i++) retireArea(headArea(head, i));
  retire(head);
}

export function headLines(head: usize): u32 {
  let lines = linesOf(head);
  for (let i: usize = 0; i < AREAS; i++) lines += areaLines(headArea(head, i));
  return lines;
}

export function headArea(head: usize, index: usize): Area {
  return changetype<Area>(head + offsetof<Head>('entries') + index * offsetof<Area>());
}

/** @inline */
export function tokenCount(head: Head): u32 {
  return head.entriesUsed / <u32>offsetof<Entry>();
}

/** @inline */
export function headTermCount(head: Head): u32 {
  return atomic.load<u32>(changetype<usize>(head) + offsetof<Head>('termsUsed')) / <u32>offsetof<HeadTerm>();
}

/** One more than the number of the newest token of a term. @inline */
export function newestOf(term: HeadTerm): u32 {
  return atomic.load<u32>(changetype<usize>(term) + offsetof<HeadTerm>('last'));
}

/** @inline */
export function entryAt(head: Head, token: u32): Entry {
  return changetype<Entry>(<usize>head.entries + <usize>token * offsetof<Entry>());
}

/** @inline */
export function slotAt(head: Head, slot: u32): Slot {
  return changetype<Slot>(<usize>head.chunks + <usize>slot * offsetof<Slot>());
}

/** @inline */
export function headTermAt(head: Head, term: u32): HeadTerm {
  return changetype<HeadTerm>(<usize>head.terms + <usize>term * offsetof<HeadTerm>());
}

/** @inline */
export function bytesOf(head: Head, term: HeadTerm): usize {
  return <usize>head.bytes + term.at;
}

/** The slot of a live chunk among the first `slots`, or NONE. */
export function findSlot(head: Head, slots: u32, ordinal: u32): u32 {
  for (let slot = slots; slot > 0; slot--) if (slotAt(head, slot - 1).ordinal == ordinal) return slot - 1;
  return NONE;
}

// The table of hashes of a head: open addressing by linear probing, from the bytes of a term to its number. The owner
// adds terms; any thread looks them up, in the table whose address it loaded: one that is too small is exchanged as a
// whole.

const TABLE_HEAD: usize = 8;

/** The table of hashes. It is exchanged as a whole, so a look-up loads its address once. @inline */
export function tableOf(head: Head): usize {
  return atomic.load<u32>(changetype<usize>(head) + offsetof<Head>('table'));
}

/** A place of a table: a hash, and one more than the number of the term with it; 0 where it is free. @inline */
function tableAt(table: usize, place: u32): usize {
  return table + TABLE_HEAD + ((<usize>place) << 3);
}

/**
 * Address of the place of a term in a table, or of the free one where it belongs. Requires that the table has a free
 * one.
 */
export function placeOf(head: Head, table: usize, hash: u32, at: usize, length: u32): usize {
  const mask = load<u32>(table);
  let place = tableAt(table, hash & mask);
  for (let next = hash + 1; numberAt(place); place = tableAt(table, next++ & mask)) {
    if (load<u32>(place) != hash) continue;
    const term = headTermAt(head, numberAt(place) - 1);
    if (term.length == length && equalBytes(bytesOf(head, term), at, length)) break;
  }
  return place;
}

/** Written after all that it stands for. @inline */
export function numberAt(place: usize): u32 {
  return atomic.load<u32>(place, 4);
}

/** A table with a third of its places free for `terms` of them. */
export function growTable(head: Head, terms: u32): bool {
  const old: usize = head.table;
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
  atomic.store<u32>(changetype<usize>(head) + offsetof<Head>('table'), <u32>table);
  head.tableBytes = <u32>bytes;
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
