// A text query while the kernel processes it: the terms, the BM25 constants, the runs it searches, and room for a
// window and cursors. It is in the scratch of the searching thread. The input area holds n factors (f32), followed by n
// terms, each with a terminating zero byte. Any thread, each with its own.
import { SCRATCH_ALLOWED, SCRATCH_INPUT, SCRATCH_TEXT } from '../../memory/layout';
import { areaAt, ensureArea } from '../memory/scratch';
import { Cursor, CURSOR_BYTES } from './posting-list';
import { MutableRun } from './mutable-run';
import { keyOf, lengthTo0, tailLength } from './run';
import { mutableIn, TextIndex } from './text-index';

/** The record at the beginning of the memory of a query. */
@unmanaged
export class Query {
  /** Keys up to this one are not among the k best. */
  floor: u64;
  /**
   * The length normalization of BM25: norm + normPerToken * length, which is k1 = 1.2 for a chunk of average length.
   */
  norm: f32;
  normPerToken: f32;
  terms: u32;
  /**
   * The list of runs that the query searches, the mutable run in it or 0, and the number of slots that the latter had.
   */
  list: u32;
  mutable: u32;
  slots: u32;
  /** All ordinals that the query meets are below this. */
  end: u32;
  /** Address of the chunk lengths by ordinal. */
  lengths: u32;
  /** Address of the filter bitmap and the number of ordinals in it; 0 for no filter. */
  allowed: u32;
  allowedEnd: u32;
  /** Addresses of the arrays that follow the record, and of the run that is being ranked. */
  refs: u32;
  order: u32;
  sums: u32;
  window: u32;
  marks: u32;
  cursors: u32;
  run: u32;
}

/** A term of the query. */
@unmanaged
export class TermRef {
  key: u64;
  at: u32;
  length: u32;
  factor: f32;
  /**
   * The term's number in the mutable run, or NONE; and whether the term alone cannot make a chunk of the mutable run
   * one of the k best.
   */
  mutable: u32;
  isIdle: bool;
}

/** The number of ordinals, or of slots of the mutable run, whose scores are summed up together. */
export const WINDOW: u32 = 4096;

/** Reads `terms` terms from the input area and makes room for `cursors` cursors. Null when memory is full. */
export function openQuery(scratch: usize, root: usize, terms: u32, cursors: u32): Query | null {
  const fixed = (offsetof<Query>() + 15) & ~15;
  const perTerm = offsetof<TermRef>() + 8;
  const bytes = fixed + <usize>terms * perTerm + 16 + (WINDOW << 2) + (WINDOW >> 3) + <usize>cursors * CURSOR_BYTES;
  if (!ensureArea(scratch, SCRATCH_TEXT, bytes)) return null;
  const at = areaAt(scratch, SCRATCH_TEXT);
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
 * Takes a snapshot of the index. In a list, together with the slots that its mutable run had while the list was
 * current, each chunk is found once. The end and the lengths are loaded later and so cover all slots. The loop repeats
 * only when the owner has replaced the list, so the owner makes progress meanwhile.
 */
function look(query: Query, root: usize): void {
  do {
    query.list = atomic.load<u32>(root, offsetof<TextIndex>('list'));
    query.mutable = <u32>mutableIn(query.list);
    query.slots = query.mutable ? atomic.load<u32>(<usize>query.mutable + offsetof<MutableRun>('slots')) : 0;
  } while (atomic.load<u32>(root, offsetof<TextIndex>('list')) != query.list);
  query.end = atomic.load<u32>(root, offsetof<TextIndex>('end'));
  query.lengths = atomic.load<u32>(root, offsetof<TextIndex>('lengths'));
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

/** Makes room for the filter bitmap in the scratch. Returns its address, or 0 when memory is full. */
export function ensureAllowed(scratch: usize, bytes: usize): usize {
  return ensureArea(scratch, SCRATCH_ALLOWED, bytes) ? areaAt(scratch, SCRATCH_ALLOWED) : 0;
}

/** @inline */
export function isAllowed(query: Query, ordinal: u32): bool {
  if (!query.allowed) return true;
  return ordinal < query.allowedEnd && ((load<u8>(<usize>query.allowed + (ordinal >> 3)) >> (ordinal & 7)) & 1) != 0;
}
