// The head: the chunks added last, token by token in the order they came, each token with a link to the one before it of the same
// term. Adds go here and cost the same however large the index is; when it is full it is frozen into a segment. Written by the
// owner; other threads see the slots that SLOTS counts, and find the rest of a chain by walking it from its newest token.
import { allocate, linesOf, release } from '../arena';
import { Area, areaLines, releaseArea } from './area';
import { equalBytes } from './terms';

@unmanaged
export class Head {
  slots: u32;
  /** Slots whose chunk is live. */
  live: u32;
  /** Of the live and the dead: for bounds. */
  shortest: u32;
  /** Size of the table of hashes less one. */
  mask: u32;
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
/** Freezing takes about 20 ns a token (node dist/load/words.js): this many keep it near a millisecond or two. A longer chunk is frozen alone. */
export const TOKENS_MAX: u32 = 65536;

export function createHead(): usize {
  const head = allocate(offsetof<Head>());
  if (head) memory.fill(head, 0, offsetof<Head>());
  return head;
}

export function releaseHead(head: usize): void {
  for (let i: usize = 0; i < AREAS; i++) releaseArea(headArea(head, i));
  release(head);
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

@inline export function tokenCount(head: Head): u32 {
  return head.entriesUsed / <u32>offsetof<Entry>();
}

@inline export function headTermCount(head: Head): u32 {
  return head.termsUsed / <u32>offsetof<HeadTerm>();
}

@inline export function entryAt(head: Head, token: u32): Entry {
  return changetype<Entry>(<usize>head.entries + <usize>token * offsetof<Entry>());
}

@inline export function slotAt(head: Head, slot: u32): Slot {
  return changetype<Slot>(<usize>head.chunks + <usize>slot * offsetof<Slot>());
}

@inline export function headTermAt(head: Head, term: u32): HeadTerm {
  return changetype<HeadTerm>(<usize>head.terms + <usize>term * offsetof<HeadTerm>());
}

@inline export function bytesOf(head: Head, term: HeadTerm): usize {
  return <usize>head.bytes + term.at;
}

/** A place of the table: a hash, and one more than the number of the term with it; 0 where it is free. */
@inline export function tableAt(head: Head, place: u32): usize {
  return <usize>head.table + (<usize>place << 3);
}

/** The place of a term in the table, or the free one where it belongs. Requires that the table has a free one. */
export function placeOf(head: Head, hash: u32, at: usize, length: u32): u32 {
  let place = hash & head.mask;
  for (; load<u32>(tableAt(head, place), 4); place = (place + 1) & head.mask) {
    if (load<u32>(tableAt(head, place)) != hash) continue;
    const term = headTermAt(head, load<u32>(tableAt(head, place), 4) - 1);
    if (term.length == length && equalBytes(bytesOf(head, term), at, length)) break;
  }
  return place;
}

/** The slot of a live chunk, or NONE. */
export function findSlot(head: Head, ordinal: u32): u32 {
  for (let slot = head.slots; slot > 0; slot--) if (slotAt(head, slot - 1).ordinal == ordinal) return slot - 1;
  return 0xffffffff;
}
