// Ranks the chunks of the head: the chains of those terms that can matter are walked, newest chunk first, and the
// others are counted in the tokens of the chunks found. Called after the segments, when the floor is high. Any thread.
import { NONE } from '../../layout';
import { offer } from '../best';
import { Entry, entryAt, Head, headTermAt, newestOf, Slot, slotAt } from './head';
import { numberAt, placeOf, tableOf } from './head-table';
import { isAllowed, Query, refAt, TermRef } from './query';
import { hashOf } from './terms';
import { weigh } from './weigh';
import { keyFor, raiseFloor } from './window';

export function rankHead(scratch: usize, query: Query, head: Head): void {
  raiseFloor(scratch, query);
  let rest: u32 = 0;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    ref.head = findInHead(head, ref);
    const bound = ref.head == NONE ? 0 : boundInHead(query, head, ref);
    const isIdle = keyFor(rest + bound, 0) <= query.floor;
    if (isIdle) rest += bound;
    else if (bound) walkChain(query, head, ref);
    ref.isIdle = isIdle;
  }
  for (let first: u32 = 0; first < query.slots; first += 64) takeSlots(scratch, query, head, first, rest);
}

/** Number of a term in the head, or NONE. */
export function findInHead(head: Head, ref: TermRef): u32 {
  const table = tableOf(head);
  return table ? numberAt(placeOf(head, table, hashOf(ref.at, ref.length), ref.at, ref.length)) - 1 : NONE;
}

/** @inline */
function boundInHead(query: Query, head: Head, ref: TermRef): u32 {
  return weigh(query, ref.factor, headTermAt(head, ref.head).most, head.shortest);
}

/** Adds the weights of a term to the sums of the slots. Tokens of one chunk follow each other in the chain. */
function walkChain(query: Query, head: Head, ref: TermRef): void {
  let token = newestOf(headTermAt(head, ref.head));
  while (token) {
    const slot = entryAt(head, token - 1).slot;
    let count: u32 = 0;
    for (; token && entryAt(head, token - 1).slot == slot; token = entryAt(head, token - 1).before) count++;
    if (slot >= query.slots) continue;
    const sum = <usize>query.window + ((<usize>slot) << 2);
    store<u32>(sum, load<u32>(sum) + weigh(query, ref.factor, count, slotAt(head, slot).length));
    const mark = <usize>query.marks + ((<usize>(slot >> 6)) << 3);
    store<u64>(mark, load<u64>(mark) | ((<u64>1) << (slot & 63)));
  }
}

function takeSlots(scratch: usize, query: Query, head: Head, first: u32, rest: u32): void {
  const at = <usize>query.marks + (first >> 3);
  for (let mark = load<u64>(at); mark; mark &= mark - 1) {
    const number = first + <u32>ctz(mark);
    const slot = slotAt(head, number);
    const ordinal = slot.ordinal;
    let score = load<u32>(<usize>query.window + ((<usize>number) << 2));
    if (ordinal == NONE || keyFor(score + rest, ordinal) <= query.floor || !isAllowed(query, ordinal)) continue;
    score += restOf(query, head, slot);
    if (keyFor(score, ordinal) <= query.floor) continue;
    offer(scratch, keyFor(score, ordinal));
    raiseFloor(scratch, query);
  }
}

/** Weights of the terms that were not walked. */
function restOf(query: Query, head: Head, slot: Slot): u32 {
  let score: u32 = 0;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    if (!ref.isIdle || ref.head == NONE) continue;
    const count = countInSlot(head, slot, ref.head);
    if (count) score += weigh(query, ref.factor, count, slot.length);
  }
  return score;
}

/** How often a chunk of the head has a term. */
export function countInSlot(head: Head, slot: Slot, term: u32): u32 {
  let count: u32 = 0;
  let at = changetype<usize>(entryAt(head, slot.first));
  for (const end = at + <usize>slot.length * offsetof<Entry>(); at < end; at += offsetof<Entry>())
    count += load<u32>(at) == term ? 1 : 0;
  return count;
}
