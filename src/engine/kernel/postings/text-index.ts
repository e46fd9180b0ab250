// The root of a segment's text index: its counts, the length of every chunk, the mutable run, the list of frozen runs, and
// the current merge. docs/internals/text-index.md explains how these work together. The owner writes; what other
// threads read is published by one atomic store.
import { TEXT_LENGTHS, TEXT_MUTABLE } from '../../memory/layout';
import {
  Area,
  allocate,
  areaLines,
  linesOf,
  release,
  releaseArea,
  reserve,
  retireArea,
  trimArea,
} from '../memory/arena';
import { retire } from '../memory/epochs';
import { createMutableRun, mutableLines, retireMutableRun } from './mutable-run';
import { CURSOR_BYTES, Cursor } from './posting-list';
import { LIVE_BITS, Run, areaOf, retireRun, runLines } from './run';
import { WRITER_BYTES, Writer, positionsArea } from './run-writer';

/**
 * The state of a merge, kept in the arena so that the merge can stop after any posting and continue later: its inputs
 * with a cursor each, and the run that it writes.
 */
@unmanaged
export class Merge {
  inputs: u32;
  /** The number of inputs that have the current term; 0 between terms. */
  active: u32;
  /** One more than the last ordinal that has been written for the current term; 0 before the first. */
  frontier: u32;
}

/** An input of a merge. Its cursor follows the record. */
@unmanaged
export class Input {
  run: u32;
  /** The number of the input's next term. */
  term: u32;
  /** 1 while postings of the current term are left. */
  isActive: u32;
  spare: u32;
}

export const INPUTS_MAX: u32 = 8;
const WRITER: usize = 64;
const INPUTS: usize = WRITER + WRITER_BYTES;
const INPUT_BYTES: usize = offsetof<Input>() + CURSOR_BYTES;
export const MERGE_BYTES: usize = INPUTS + <usize>INPUTS_MAX * INPUT_BYTES;

/** @inline */
export function writerOf(merge: usize): Writer {
  return changetype<Writer>(merge + WRITER);
}

/** @inline */
export function inputAt(merge: usize, i: u32): Input {
  return changetype<Input>(merge + INPUTS + <usize>i * INPUT_BYTES);
}

/** @inline */
export function cursorOf(input: Input): Cursor {
  return changetype<Cursor>(changetype<usize>(input) + offsetof<Input>());
}

/** Frees a merge, and retires the run that it was writing unless the run has been published. */
export function releaseMerge(merge: usize): void {
  const writer = writerOf(merge);
  releaseArea(positionsArea(writer));
  if (writer.run) retireRun(writer.run);
  release(merge);
}

/** The root record of a text index. */
@unmanaged
export class TextIndex {
  tokens: u64;
  chunks: u32;
  /** One more than the highest ordinal ever added. */
  end: u32;
  /**
   * Address of the list: the mutable run, a count, and that many frozen runs in the order of their first ordinals. The
   * list is replaced as a whole; 0 before the first chunk.
   */
  list: u32;
  /** Address of the current merge, or 0. */
  merge: u32;
  /** The number of tokens of each chunk by ordinal, u16; 0 for a chunk that does not exist. */
  lengths: u32;
  lengthsBytes: u32;
  lengthsUsed: u32;
}

/** Creates an empty text index. Returns its root, or 0 when memory is full. Owner only. */
export function createTextIndex(): usize {
  const root = allocate(offsetof<TextIndex>());
  if (root) memory.fill(root, 0, offsetof<TextIndex>());
  return root;
}

/** The number of chunks in the index. Any thread. */
export function chunksIn(root: usize): u32 {
  return atomic.load<u32>(root + offsetof<TextIndex>('chunks'));
}

/** The number of tokens in the index. Any thread. */
export function tokensIn(root: usize): f64 {
  return <f64>atomic.load<u64>(root + offsetof<TextIndex>('tokens'));
}

/**
 * Retires a text index. Requires that no shared address leads to it any more; readers may still be using it. Owner
 * only.
 */
export function dropTextIndex(root: usize): void {
  const textIndex = changetype<TextIndex>(root);
  const list = textIndex.list;
  if (textIndex.merge) releaseMerge(textIndex.merge);
  if (mutableIn(list)) retireMutableRun(mutableIn(list));
  for (let i: u32 = 0; i < runCount(list); i++) retireRun(runAt(list, i));
  retire(list);
  retireArea(lengthsArea(textIndex));
  retire(root);
}

/** @inline */
function lengthsArea(textIndex: TextIndex): Area {
  return changetype<Area>(changetype<usize>(textIndex) + offsetof<TextIndex>('lengths'));
}

/** Makes room for the lengths of ordinals up to this one; new lengths are 0. False when memory is full. */
export function ensureLengths(textIndex: TextIndex, ordinal: u32): bool {
  const area = lengthsArea(textIndex);
  const end = (<usize>ordinal + 1) << 1;
  if (end <= <usize>area.used) return true;
  if (!reserve(area, end - <usize>area.used)) return false;
  memory.fill(<usize>area.at + area.used, 0, end - <usize>area.used);
  area.used = <u32>end;
  return true;
}

/** The number of tokens of a chunk, 0 if there is none. */
export function lengthOf(textIndex: TextIndex, ordinal: u32): u32 {
  return ordinal < textIndex.end ? load<u16>(<usize>textIndex.lengths + ((<usize>ordinal) << 1)) : 0;
}

/** @inline */
export function setLength(textIndex: TextIndex, ordinal: u32, tokens: u32): void {
  store<u16>(<usize>textIndex.lengths + ((<usize>ordinal) << 1), <u16>tokens);
}

/** Bytes of a list before its frozen runs. */
const LIST_HEAD: usize = 8;

/** The mutable run of a list, or 0. @inline */
export function mutableIn(list: usize): usize {
  return list ? load<u32>(list) : 0;
}

/** @inline */
export function runCount(list: usize): u32 {
  return list ? load<u32>(list, 4) : 0;
}

/** @inline */
export function runAt(list: usize, i: u32): usize {
  return load<u32>(list + ((<usize>i) << 2), LIST_HEAD);
}

/** Lines of one component of the memory, `TEXT_LENGTHS` to `TEXT_LIVE`. The memory of a merge is not counted. */
export function textIndexLines(root: usize, kind: u32): u32 {
  const textIndex = changetype<TextIndex>(root);
  if (kind == TEXT_LENGTHS)
    return linesOf(root) + areaLines(lengthsArea(textIndex)) + (textIndex.list ? linesOf(textIndex.list) : 0);
  const mutable = mutableIn(textIndex.list);
  if (kind == TEXT_MUTABLE) return mutable ? mutableLines(mutable) : 0;
  let lines: u32 = 0;
  for (let i: u32 = 0; i < runCount(textIndex.list); i++) lines += runLines(runAt(textIndex.list, i), kind);
  return lines;
}

// The list of runs is replaced as a whole: a reader has the old list or the new one, and finds each chunk once in
// either.

/**
 * Creates an empty frozen run for ordinals in [first, end), with no live chunks. Returns its address, or 0 when memory
 * is full.
 */
export function createRun(first: u32, end: u32): usize {
  const address = allocate(offsetof<Run>());
  if (!address) return 0;
  memory.fill(address, 0, offsetof<Run>());
  const run = changetype<Run>(address);
  run.first = first;
  run.end = end;
  const bits = areaOf(address, LIVE_BITS);
  const bytes = ((<usize>(end - (first & ~63)) + 63) >> 6) << 3;
  if (!reserve(bits, bytes)) {
    retireRun(address);
    return 0;
  }
  memory.fill(bits.at, 0, bytes);
  bits.used = <u32>bytes;
  return address;
}

/** Publishes an empty mutable run for the next chunk. False, with nothing changed, when memory is full. */
export function publishMutableRun(textIndex: TextIndex): bool {
  const mutable = createMutableRun();
  if (!mutable) return false;
  if (exchangeList(textIndex, mutable, 0)) return true;
  retireMutableRun(mutable);
  return false;
}

/**
 * Publishes a new list with the mutable run `mutable` (0 for none), without the frozen runs marked as gone, and with
 * the frozen run `added` (0 for none). Retires the old list and the runs that it alone had. False, with nothing
 * changed, when memory is full.
 */
export function exchangeList(textIndex: TextIndex, mutable: usize, added: usize): bool {
  const old = <usize>textIndex.list;
  const list = allocate(LIST_HEAD + ((<usize>runCount(old) + 1) << 2));
  if (!list) return false;
  let to = list + LIST_HEAD;
  let waiting = added;
  for (let i: u32 = 0; i < runCount(old); i++) {
    const run = runAt(old, i);
    if (isGone(run)) continue;
    if (waiting && changetype<Run>(run).first > changetype<Run>(waiting).first) {
      to = put(to, waiting);
      waiting = 0;
    }
    to = put(to, run);
  }
  if (waiting) to = put(to, waiting);
  store<u32>(list, <u32>mutable);
  store<u32>(list, <u32>((to - list - LIST_HEAD) >> 2), 4);
  atomic.store<u32>(changetype<usize>(textIndex) + offsetof<TextIndex>('list'), <u32>list);
  if (mutableIn(old) && mutableIn(old) != mutable) retireMutableRun(mutableIn(old));
  retireList(old);
  return true;
}

/** @inline */
function put(to: usize, run: usize): usize {
  store<u32>(to, <u32>run);
  return to + 4;
}

/** @inline */
function isGone(run: usize): bool {
  return changetype<Run>(run).isGone != 0;
}

/** Retires a replaced list, and its frozen runs that are marked as gone. */
function retireList(list: usize): void {
  for (let i: u32 = 0; i < runCount(list); i++) if (isGone(runAt(list, i))) retireRun(runAt(list, i));
  retire(list);
}

/** Frees the unused capacity of a complete run before any other thread has seen it. */
export function trimRun(run: usize): void {
  for (let i: usize = 0; i < LIVE_BITS; i++) trimArea(areaOf(run, i));
}
