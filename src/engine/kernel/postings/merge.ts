// Merges segments in steps: terms in order, and of each the postings of all inputs by rising ordinals, without those of
// dead chunks. Searches go on with the inputs until the new segment takes their places at once. The owner's thread
// only.
import { FULL } from '../../layout';
import { allocate } from '../arena';
import { reserve } from './area';
import { openCursor } from './cursor';
import { createSegment, exchangeList, trimSegment } from './lists';
import { joinLive } from './live';
import { copyRun } from './merge-copy';
import { cursorOf, Input, inputAt, INPUTS_MAX, Merge, MERGE_BYTES, releaseMerge, writerOf } from './merge-state';
import { areaOf, compareTerm, keyAt, longAt, Segment, termCount } from './segment';
import { tailLength } from './terms';
import { chooseInputs } from './tiers';
import { headIn, Words } from './words';
import { beginTerm, endTerm, openWriter } from './writer';
import { POSITIONS } from './writer-state';

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
  let first: u32 = 0xffffffff;
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
