// The head: the chunks added last, token by token in the order they came, each token with a link to the one before it
// of the same term. Adds go here and cost the same however large the index is; when it is full it is frozen into a
// segment. Written by the owner; other threads see the slots that SLOTS counted when they began, and skip the newer
// tokens of a chain. An area that grows leaves its old place to them: whoever knows the number of an element before it
// loads the area's address finds it there.
import { allocate, linesOf } from '../arena';
import { retire } from '../epochs';
import { Area, areaLines, retireArea } from './area';

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
 * Freezing takes about 20 ns a token (node dist/load/words.js): this many keep it near a millisecond or two. A longer
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

/** 0 entries, 1 slots, 2 terms, 3 their bytes, 4 the table of hashes. */
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
  return 0xffffffff;
}
