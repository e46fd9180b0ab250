// Merges segments in steps: which ones, and then their terms in order, and of each the postings of all inputs by rising
// ordinals, without those of dead chunks. Searches go on with the inputs until the new segment takes their places at
// once. Owner only.
import { FULL, NONE } from '../../memory/layout';
import { allocate, reserve } from '../memory/arena';
import {
  Cursor,
  atEnd,
  bitsOf,
  blockOf,
  countAt,
  countOf,
  nextBlock,
  openCursor,
  ordinalAt,
  readRun,
  unpackOrdinals,
} from './posting-list';
import { POSITIONS, Segment, areaOf, compareTerm, isLive, joinLive, keyAt, longAt, tailLength, termCount } from './run';
import { Writer, addPosition, addPosting, beginTerm, endTerm, openWriter } from './run-writer';
import {
  INPUTS_MAX,
  Input,
  MERGE_BYTES,
  Merge,
  Words,
  createSegment,
  cursorOf,
  exchangeList,
  headIn,
  inputAt,
  releaseMerge,
  segmentAt,
  segmentCount,
  trimSegment,
  writerOf,
} from './text-index';

/**
 * Copies postings of one term from the input of a merge that has the lowest ordinal, until another has, without those
 * of dead chunks; answers how many, or FULL. It may stop after any posting.
 */
function copyRun(merge: usize, budget: i32): i32 {
  const state = changetype<Merge>(merge);
  let input: Input | null = null;
  let lowest: u32 = NONE;
  let limit: u32 = NONE;
  for (let i: u32 = 0; i < state.inputs; i++) {
    const other = inputAt(merge, i);
    if (!other.isActive) continue;
    const ordinal = nextOrdinal(cursorOf(other));
    if (!input || ordinal < lowest) {
      limit = lowest;
      lowest = ordinal;
      input = other;
    } else limit = min(limit, ordinal);
  }
  if (!input) return 0;
  return copyBelow(merge, input, limit, budget);
}

/** An ordinal that two inputs have is live in one of them at most. */
function copyBelow(merge: usize, input: Input, limit: u32, budget: i32): i32 {
  const state = changetype<Merge>(merge);
  const cursor = cursorOf(input);
  let copied: i32 = 0;
  while (copied++ < budget) {
    const ordinal = nextOrdinal(cursor);
    if (ordinal > limit) return copied;
    if (!copyPosting(writerOf(merge), cursor, ordinal)) return FULL;
    state.frontier = ordinal + 1;
    if (++cursor.i == countOf(cursor)) {
      nextBlock(cursor);
      cursor.position = 0;
    }
    if (!atEnd(cursor)) continue;
    input.isActive = 0;
    state.active--;
    return copied;
  }
  return copied;
}

/** @inline */
function nextOrdinal(cursor: Cursor): u32 {
  unpackOrdinals(cursor);
  return ordinalAt(cursor, cursor.i);
}

function copyPosting(writer: Writer, cursor: Cursor, ordinal: u32): bool {
  const count = countAt(cursor, cursor.i);
  const position = cursor.position;
  cursor.position += count;
  if (!isLive(cursor.segment, ordinal)) return true;
  if (!addPosting(writer, ordinal, count)) return false;
  const block = blockOf(cursor, cursor.block);
  const from = <usize>changetype<Segment>(cursor.segment).positions + block.positions;
  for (let i = position; i < position + count; i++) addPosition(writer, readRun(from, i, block.positionBits));
  return true;
}

const TIER_SEGMENTS: u32 = 4;

/**
 * Notes the inputs of the next merge, and answers how many; 0 when all is well. With `all`, every segment is wanted in
 * one. Segments of like size make a tier; four of them become one of the next tier, so a posting is rewritten once for
 * each fourfold growth, and few segments stand beside each other (O'Neil et al., "The log-structured merge-tree",
 * 1996). A segment of which more than half is dead is written anew alone.
 */
function chooseInputs(words: Words, merge: usize, all: bool, max: u32): u32 {
  if (all && segmentCount(words.list) > 1) return choose(words, merge, ANY_TIER, max);
  for (let i: u32 = 0; i < segmentCount(words.list); i++) {
    const segment = changetype<Segment>(segmentAt(words.list, i));
    if (segment.live << 1 >= segment.chunks) continue;
    inputAt(merge, 0).segment = <u32>segmentAt(words.list, i);
    return 1;
  }
  for (let tier: u32 = 0; tier < 32; tier++) {
    if (sizeOf(words, tier) >= TIER_SEGMENTS) return choose(words, merge, tier, max);
  }
  return 0;
}

const ANY_TIER: u32 = NONE;

/** Bytes of postings and positions, by doublings of doublings. */
function tierOf(segment: usize): u32 {
  const s = changetype<Segment>(segment);
  return bitsOf((s.postingsUsed >> 1) + (s.positionsUsed >> 1)) >> 1;
}

function sizeOf(words: Words, tier: u32): u32 {
  let size: u32 = 0;
  for (let i: u32 = 0; i < segmentCount(words.list); i++) if (tierOf(segmentAt(words.list, i)) == tier) size++;
  return size;
}

function choose(words: Words, merge: usize, tier: u32, max: u32): u32 {
  let chosen: u32 = 0;
  for (let i: u32 = 0; i < segmentCount(words.list) && chosen < max; i++) {
    const segment = segmentAt(words.list, i);
    if (tier == ANY_TIER || tierOf(segment) == tier) inputAt(merge, chosen++).segment = <u32>segment;
  }
  return chosen;
}

/**
 * Goes on with the merge under way, or begins one where tiers want it; with `all`, until one segment is left. Works off
 * about `max` postings. Answers 1 when there may be more to do, 0 when not, also when memory is full: then the segments
 * stay as they are.
 */
export function mergeWords(root: usize, max: u32, all: bool): i32 {
  const words = changetype<Words>(root);
  if (!words.merge) {
    const started = start(words, all);
    if (started <= 0) return 0;
  }
  // The area of lengths may have grown since the last step.
  writerOf(words.merge).lengths = words.lengths;
  const step = run(words.merge, max);
  if (step == MORE) return 1;
  const isDone = step == DONE && finish(words);
  if (!isDone) abandon(words);
  return isDone ? 1 : 0;
}

const MORE: i32 = 1;
const DONE: i32 = 0;

/** 1 when a merge has begun, 0 when none is wanted. */
function start(words: Words, all: bool): i32 {
  const merge = allocate(MERGE_BYTES);
  if (!merge) return FULL;
  memory.fill(merge, 0, MERGE_BYTES);
  const state = changetype<Merge>(merge);
  state.inputs = chooseInputs(words, merge, all, INPUTS_MAX);
  let first: u32 = NONE;
  let end: u32 = 0;
  for (let i: u32 = 0; i < state.inputs; i++) {
    const segment = changetype<Segment>(inputAt(merge, i).segment);
    first = min(first, segment.first);
    end = max(end, segment.end);
  }
  const segment = state.inputs ? createSegment(first, end) : 0;
  openWriter(writerOf(merge), segment, words.lengths);
  words.merge = <u32>merge;
  if (segment && reserveAll(merge, segment)) return 1;
  const isFull = state.inputs > 0;
  abandon(words);
  return isFull ? FULL : 0;
}

/** Room for all that the inputs have: growing step by step would copy large areas, and take long at a time. */
function reserveAll(merge: usize, segment: usize): bool {
  for (let area: usize = 0; area <= POSITIONS; area++) {
    let bytes: usize = 0;
    for (let i: u32 = 0; i < changetype<Merge>(merge).inputs; i++)
      bytes += areaOf(inputAt(merge, i).segment, area).used;
    if (!reserve(areaOf(segment, area), bytes)) return false;
  }
  return true;
}

function abandon(words: Words): void {
  const merge = words.merge;
  words.merge = 0;
  releaseMerge(merge);
}

function run(merge: usize, budget: u32): i32 {
  const state = changetype<Merge>(merge);
  let left = <i32>budget;
  while (left > 0) {
    if (!state.active && !beginNext(merge)) return DONE;
    if (!state.active) return FULL;
    const done = copyRun(merge, left);
    if (done < 0) return FULL;
    left -= done + TERM_COST;
    if (!state.active && !endTerm(writerOf(merge))) return FULL;
  }
  return MORE;
}

/** A term takes as long as so many postings. */
const TERM_COST: i32 = 8;

/** Begins the smallest term that is left. False when there is none; `active` stays 0 when memory is full. */
function beginNext(merge: usize): bool {
  const state = changetype<Merge>(merge);
  const least = leastTerm(merge);
  if (!least) return false;
  const key = keyAt(least.segment, least.term);
  const long = longAt(least.segment, least.term);
  const length = long ? load<u32>(long) : 0;
  if (!beginTerm(writerOf(merge), key, long + 4, length)) return true;
  state.frontier = 0;
  for (let i: u32 = 0; i < state.inputs; i++) {
    const input = inputAt(merge, i);
    input.isActive = 0;
    if (
      input.term >= termCount(input.segment) ||
      compareTerm(input.segment, input.term, key, long + 12, tailLength(length))
    )
      continue;
    openCursor(cursorOf(input), input.segment, input.term++);
    input.isActive = 1;
    state.active++;
  }
  return true;
}

function leastTerm(merge: usize): Input | null {
  let least: Input | null = null;
  for (let i: u32 = 0; i < changetype<Merge>(merge).inputs; i++) {
    const input = inputAt(merge, i);
    if (input.term >= termCount(input.segment)) continue;
    if (least) {
      const long = longAt(least.segment, least.term);
      if (
        compareTerm(
          input.segment,
          input.term,
          keyAt(least.segment, least.term),
          long + 12,
          long ? load<u32>(long) - 8 : 0,
        ) >= 0
      )
        continue;
    }
    least = input;
  }
  return least;
}

/** The new segment takes the places of its inputs. False, and nothing changed, when memory is full. */
function finish(words: Words): bool {
  const merge = words.merge;
  const state = changetype<Merge>(merge);
  const writer = writerOf(merge);
  const segment = <usize>writer.segment;
  for (let i: u32 = 0; i < state.inputs; i++) joinLive(segment, inputAt(merge, i).segment);
  changetype<Segment>(segment).chunks = changetype<Segment>(segment).live;
  const isEmpty = changetype<Segment>(segment).live == 0;
  if (!isEmpty) trimSegment(segment);
  for (let i: u32 = 0; i < state.inputs; i++) changetype<Segment>(inputAt(merge, i).segment).isGone = 1;
  if (!exchangeList(words, headIn(words.list), isEmpty ? 0 : segment)) {
    for (let i: u32 = 0; i < state.inputs; i++) changetype<Segment>(inputAt(merge, i).segment).isGone = 0;
    return false;
  }
  if (!isEmpty) writer.segment = 0;
  abandon(words);
  return true;
}
