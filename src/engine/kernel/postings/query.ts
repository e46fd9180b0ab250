// A question to the words as the kernel holds it while it answers: the terms, the constants of BM25, and the room for
// window and cursors. It stands in the scratch of the thread that asks (scratch.ts). The input is n factors (f32), then
// n terms, each with a zero byte.
import { SCRATCH_ALLOWED, SCRATCH_INPUT, SCRATCH_WORDS } from '../../memory/layout';
import { areaAt, ensureArea } from '../memory/scratch';
import { Cursor, CURSOR_BYTES } from './posting-list';
import { Head } from './mutable-run';
import { keyOf, lengthTo0, tailLength } from './run';
import { headIn, Words } from './text-index';

@unmanaged
export class Query {
  /** Keys up to this one are not among the best. */
  floor: u64;
  /** A chunk of average length has norm + normPerToken * length = 1.2. */
  norm: f32;
  normPerToken: f32;
  terms: u32;
  /** The list of head and segments that the question is put to, the head, and how many of its slots there were. */
  list: u32;
  head: u32;
  slots: u32;
  /** All their ordinals are below it. */
  end: u32;
  /** Lengths by ordinal. */
  lengths: u32;
  /** A bitmap by ordinal of those that may be answered, and how many ordinals it has; 0 for all. */
  allowed: u32;
  allowedEnd: u32;
  /** Areas below. */
  refs: u32;
  order: u32;
  sums: u32;
  window: u32;
  marks: u32;
  cursors: u32;
  segment: u32;
}

/** A term of the question. */
@unmanaged
export class TermRef {
  key: u64;
  at: u32;
  length: u32;
  factor: f32;
  /** Its number in the head, or NONE; and whether it can make no chunk of the head one of the best. */
  head: u32;
  isIdle: bool;
}

/** Ordinals, or slots of the head, whose sums are built together. */
export const WINDOW: u32 = 4096;

/** Reads the terms of the input; null when memory is full. `cursors` of them are made room for. */
export function openQuery(scratch: usize, root: usize, terms: u32, cursors: u32): Query | null {
  const fixed = (offsetof<Query>() + 15) & ~15;
  const perTerm = offsetof<TermRef>() + 8;
  const bytes = fixed + <usize>terms * perTerm + 16 + (WINDOW << 2) + (WINDOW >> 3) + <usize>cursors * CURSOR_BYTES;
  if (!ensureArea(scratch, SCRATCH_WORDS, bytes)) return null;
  const at = areaAt(scratch, SCRATCH_WORDS);
  memory.fill(at, 0, fixed);
  const query = changetype<Query>(at);
  query.terms = terms;
  look(query, root);
  query.window = <u32>(at + fixed);
  query.marks = query.window + (WINDOW << 2);
  query.cursors = query.marks + (WINDOW >> 3);
  query.refs = query.cursors + cursors * <u32>CURSOR_BYTES;
  query.order = query.refs + terms * <u32>offsetof<TermRef>();
  query.sums = query.order + (terms << 2);
  memory.fill(query.window, 0, (WINDOW << 2) + (WINDOW >> 3));
  readTerms(query, areaAt(scratch, SCRATCH_INPUT));
  return query;
}

/**
 * Notes what there is at this moment: in a list together with the slots that its head had while it was the list, each
 * chunk stands once. What comes with a slot is looked at after it. Going round again means that the owner has exchanged
 * the list, so one of the two gets on.
 */
function look(query: Query, root: usize): void {
  do {
    query.list = atomic.load<u32>(root, offsetof<Words>('list'));
    query.head = <u32>headIn(query.list);
    query.slots = query.head ? atomic.load<u32>(<usize>query.head + offsetof<Head>('slots')) : 0;
  } while (atomic.load<u32>(root, offsetof<Words>('list')) != query.list);
  query.end = atomic.load<u32>(root, offsetof<Words>('end'));
  query.lengths = atomic.load<u32>(root, offsetof<Words>('lengths'));
}

function readTerms(query: Query, input: usize): void {
  let at = input + ((<usize>query.terms) << 2);
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    ref.at = <u32>at;
    ref.length = lengthTo0(at);
    ref.key = keyOf(at, ref.length);
    ref.factor = load<f32>(input + ((<usize>i) << 2));
    at += ref.length + 1;
  }
}

/** @inline */
export function refAt(query: Query, i: u32): TermRef {
  return changetype<TermRef>(<usize>query.refs + <usize>i * offsetof<TermRef>());
}

/** @inline */
export function cursorAt(query: Query, i: u32): Cursor {
  return changetype<Cursor>(<usize>query.cursors + <usize>i * CURSOR_BYTES);
}

/** @inline */
export function tailOf(ref: TermRef): usize {
  return <usize>ref.at + 8;
}

/** @inline */
export function tailLengthOf(ref: TermRef): u32 {
  return tailLength(ref.length);
}

/** Room for a bitmap of the ordinals that may be answered; its address, or 0 when memory is full. */
export function ensureAllowed(scratch: usize, bytes: usize): usize {
  return ensureArea(scratch, SCRATCH_ALLOWED, bytes) ? areaAt(scratch, SCRATCH_ALLOWED) : 0;
}

/** @inline */
export function isAllowed(query: Query, ordinal: u32): bool {
  if (!query.allowed) return true;
  return ordinal < query.allowedEnd && ((load<u8>(<usize>query.allowed + (ordinal >> 3)) >> (ordinal & 7)) & 1) != 0;
}
