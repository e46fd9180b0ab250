// The root of one collection's words: counts, the length of every chunk, the head and the list of frozen segments.
// The owner writes it; what other threads read changes by one atomic store. How the parts work together: README.md
// above.
import { allocate, linesOf } from '../arena';
import { retire } from '../epochs';
import { Area, areaLines, reserve, retireArea } from './area';
import { headLines, retireHead } from './head';
import { releaseMerge } from './merge-state';
import { retireSegment, segmentLines } from './segment';

@unmanaged
export class Words {
  tokens: u64;
  chunks: u32;
  /** One more than the highest ordinal ever added. */
  end: u32;
  /**
   * What there is to search: the head, a count, and so many segments in the order of their first ordinals. Exchanged as
   * a whole; 0 before the first add.
   */
  list: u32;
  /** The merge under way, or 0. */
  merge: u32;
  /** Tokens of each chunk by ordinal, u16, 0 for none. */
  lengths: u32;
  lengthsBytes: u32;
  lengthsUsed: u32;
}

/** Address of a new index of words, or 0 when memory is full. */
export function createWords(): usize {
  const root = allocate(offsetof<Words>());
  if (root) memory.fill(root, 0, offsetof<Words>());
  return root;
}

/** Requires that nothing leads to it any more; readers may still be at work in it. */
export function dropWords(root: usize): void {
  const words = changetype<Words>(root);
  const list = words.list;
  if (words.merge) releaseMerge(words.merge);
  if (headIn(list)) retireHead(headIn(list));
  for (let i: u32 = 0; i < segmentCount(list); i++) retireSegment(segmentAt(list, i));
  retire(list);
  retireArea(lengthsArea(words));
  retire(root);
}

/** @inline */
function lengthsArea(words: Words): Area {
  return changetype<Area>(changetype<usize>(words) + offsetof<Words>('lengths'));
}

/** Room for the lengths of ordinals up to this one; new ones are 0. False when memory is full. */
export function ensureLengths(words: Words, ordinal: u32): bool {
  const area = lengthsArea(words);
  const end = (<usize>ordinal + 1) << 1;
  if (end <= <usize>area.used) return true;
  if (!reserve(area, end - <usize>area.used)) return false;
  memory.fill(<usize>area.at + area.used, 0, end - <usize>area.used);
  area.used = <u32>end;
  return true;
}

/** Tokens of a chunk, 0 where there is none. */
export function lengthOf(words: Words, ordinal: u32): u32 {
  return ordinal < words.end ? load<u16>(<usize>words.lengths + ((<usize>ordinal) << 1)) : 0;
}

/** @inline */
export function setLength(words: Words, ordinal: u32, tokens: u32): void {
  store<u16>(<usize>words.lengths + ((<usize>ordinal) << 1), <u16>tokens);
}

/** Bytes before the segments of a list. */
export const LIST_HEAD: usize = 8;

/** The head that takes the adds, or 0. @inline */
export function headIn(list: usize): usize {
  return list ? load<u32>(list) : 0;
}

/** @inline */
export function segmentCount(list: usize): u32 {
  return list ? load<u32>(list, 4) : 0;
}

/** @inline */
export function segmentAt(list: usize, i: u32): usize {
  return load<u32>(list + ((<usize>i) << 2), LIST_HEAD);
}

/**
 * A part of the memory, in lines: 0 root, lengths and list, 1 head, 2 and up a part of the segments, -1 the merge under
 * way is in none.
 */
export function wordsLines(root: usize, part: u32): u32 {
  const words = changetype<Words>(root);
  if (part == 0) return linesOf(root) + areaLines(lengthsArea(words)) + (words.list ? linesOf(words.list) : 0);
  const head = headIn(words.list);
  if (part == 1) return head ? headLines(head) : 0;
  let lines: u32 = 0;
  for (let i: u32 = 0; i < segmentCount(words.list); i++) lines += segmentLines(segmentAt(words.list, i), part - 2);
  return lines;
}
