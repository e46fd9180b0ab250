// Merges frozen runs in steps: it selects the runs, then writes their terms in order, and for each term the postings of
// all inputs by rising ordinals, without those of dead chunks. Searches use the inputs until the new run replaces all
// of them at once. Owner only.
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
import { POSITIONS, Run, areaOf, compareTerm, isLive, joinLive, keyAt, longAt, tailLength, termCount } from './run';
import { Writer, addPosition, addPosting, beginTerm, endTerm, openWriter } from './run-writer';
import {
  INPUTS_MAX,
  Input,
  MERGE_BYTES,
  Merge,
  TextIndex,
  createRun,
  cursorOf,
  exchangeList,
  inputAt,
  mutableIn,
  releaseMerge,
  runAt,
  runCount,
  trimRun,
  writerOf,
} from './text-index';

/**
 * Copies postings of the current term from the input with the lowest ordinal, until another input has a lower one.
 * Postings of dead chunks are left out. Returns the number of postings processed, or FULL. It may stop after any
 * posting.
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

/**
 * Copies postings up to the ordinal `limit`. If two inputs have a posting of the same ordinal, the chunk is live in at
 * most one of them, and the merge may stop between the two: only a posting that is written moves the frontier.
 */
function copyBelow(merge: usize, input: Input, limit: u32, budget: i32): i32 {
  const state = changetype<Merge>(merge);
  const cursor = cursorOf(input);
  let copied: i32 = 0;
  while (copied++ < budget) {
    const ordinal = nextOrdinal(cursor);
    if (ordinal > limit) return copied;
    if (isLive(cursor.run, ordinal)) {
      if (!copyPosting(writerOf(merge), cursor, ordinal)) return FULL;
      state.frontier = ordinal + 1;
    } else cursor.position += countAt(cursor, cursor.i);
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
  if (!addPosting(writer, ordinal, count)) return false;
  const block = blockOf(cursor, cursor.block);
  const from = <usize>changetype<Run>(cursor.run).positions + block.positions;
  for (let i = position; i < position + count; i++) addPosition(writer, readRun(from, i, block.positionBits));
  return true;
}

const TIER_RUNS: u32 = 4;

/**
 * Selects the inputs of the next merge and returns their number; 0 if no merge is needed. With `all`, all runs are
 * merged into one. Otherwise runs of similar size form a tier, and four runs of a tier are merged into one of the next,
 * so a posting is rewritten once for each fourfold growth and there are few runs (O'Neil et al., "The log-structured
 * merge-tree", 1996). A run with more than half of its chunks dead is rewritten alone.
 */
function chooseInputs(textIndex: TextIndex, merge: usize, all: bool, max: u32): u32 {
  if (all && runCount(textIndex.list) > 1) return choose(textIndex, merge, ANY_TIER, max);
  for (let i: u32 = 0; i < runCount(textIndex.list); i++) {
    const run = changetype<Run>(runAt(textIndex.list, i));
    if (run.live << 1 >= run.chunks) continue;
    inputAt(merge, 0).run = <u32>runAt(textIndex.list, i);
    return 1;
  }
  for (let tier: u32 = 0; tier < 32; tier++) {
    if (sizeOf(textIndex, tier) >= TIER_RUNS) return choose(textIndex, merge, tier, max);
  }
  return 0;
}

const ANY_TIER: u32 = NONE;

/**
 * The tier of a run, from the bytes of its postings and positions. Each tier is four times as large as the one before.
 */
function tierOf(run: usize): u32 {
  const s = changetype<Run>(run);
  return bitsOf((s.postingsUsed >> 1) + (s.positionsUsed >> 1)) >> 1;
}

function sizeOf(textIndex: TextIndex, tier: u32): u32 {
  let size: u32 = 0;
  for (let i: u32 = 0; i < runCount(textIndex.list); i++) if (tierOf(runAt(textIndex.list, i)) == tier) size++;
  return size;
}

function choose(textIndex: TextIndex, merge: usize, tier: u32, max: u32): u32 {
  let chosen: u32 = 0;
  for (let i: u32 = 0; i < runCount(textIndex.list) && chosen < max; i++) {
    const run = runAt(textIndex.list, i);
    if (tier == ANY_TIER || tierOf(run) == tier) inputAt(merge, chosen++).run = <u32>run;
  }
  return chosen;
}

/**
 * Continues the current merge, or begins one if tiers need it or, with `all`, if there is more than one run. Processes
 * about `max` postings. Returns 1 when there may be more to do, else 0; 0 also when memory is full, and the runs then
 * stay as they are.
 */
export function mergeTextIndex(root: usize, max: u32, all: bool): i32 {
  const textIndex = changetype<TextIndex>(root);
  if (!textIndex.merge) {
    const started = start(textIndex, all);
    if (started <= 0) return 0;
  }
  // The area of lengths may have moved since the last step.
  writerOf(textIndex.merge).lengths = textIndex.lengths;
  const step = mergeUpTo(textIndex.merge, max);
  if (step == MORE) return 1;
  const isDone = step == DONE && finish(textIndex);
  if (!isDone) abandon(textIndex);
  return isDone ? 1 : 0;
}

const MORE: i32 = 1;
const DONE: i32 = 0;

/** Begins a merge. Returns 1 when it has begun, 0 when none is needed, and FULL when memory is full. */
function start(textIndex: TextIndex, all: bool): i32 {
  const merge = allocate(MERGE_BYTES);
  if (!merge) return FULL;
  memory.fill(merge, 0, MERGE_BYTES);
  const state = changetype<Merge>(merge);
  state.inputs = chooseInputs(textIndex, merge, all, INPUTS_MAX);
  let first: u32 = NONE;
  let end: u32 = 0;
  for (let i: u32 = 0; i < state.inputs; i++) {
    const run = changetype<Run>(inputAt(merge, i).run);
    first = min(first, run.first);
    end = max(end, run.end);
  }
  const run = state.inputs ? createRun(first, end) : 0;
  openWriter(writerOf(merge), run, textIndex.lengths);
  textIndex.merge = <u32>merge;
  if (run && reserveAll(merge, run)) return 1;
  const isFull = state.inputs > 0;
  abandon(textIndex);
  return isFull ? FULL : 0;
}

/** Reserves the sum of what the inputs use, since growing in steps would copy large areas and take long. */
function reserveAll(merge: usize, run: usize): bool {
  for (let area: usize = 0; area <= POSITIONS; area++) {
    let bytes: usize = 0;
    for (let i: u32 = 0; i < changetype<Merge>(merge).inputs; i++) bytes += areaOf(inputAt(merge, i).run, area).used;
    if (!reserve(areaOf(run, area), bytes)) return false;
  }
  return true;
}

function abandon(textIndex: TextIndex): void {
  const merge = textIndex.merge;
  textIndex.merge = 0;
  releaseMerge(merge);
}

function mergeUpTo(merge: usize, budget: u32): i32 {
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

/** The time that a term takes in addition to its postings, in postings. */
const TERM_COST: i32 = 8;

/** Begins the smallest remaining term. False if there is none. `active` stays 0 when memory is full. */
function beginNext(merge: usize): bool {
  const state = changetype<Merge>(merge);
  const least = leastTerm(merge);
  if (!least) return false;
  const key = keyAt(least.run, least.term);
  const long = longAt(least.run, least.term);
  const length = long ? load<u32>(long) : 0;
  if (!beginTerm(writerOf(merge), key, long + 4, length)) return true;
  state.frontier = 0;
  for (let i: u32 = 0; i < state.inputs; i++) {
    const input = inputAt(merge, i);
    input.isActive = 0;
    if (input.term >= termCount(input.run) || compareTerm(input.run, input.term, key, long + 12, tailLength(length)))
      continue;
    openCursor(cursorOf(input), input.run, input.term++);
    input.isActive = 1;
    state.active++;
  }
  return true;
}

function leastTerm(merge: usize): Input | null {
  let least: Input | null = null;
  for (let i: u32 = 0; i < changetype<Merge>(merge).inputs; i++) {
    const input = inputAt(merge, i);
    if (input.term >= termCount(input.run)) continue;
    if (least) {
      const long = longAt(least.run, least.term);
      if (
        compareTerm(input.run, input.term, keyAt(least.run, least.term), long + 12, long ? load<u32>(long) - 8 : 0) >= 0
      )
        continue;
    }
    least = input;
  }
  return least;
}

/** Replaces the inputs by the new run. False, with nothing changed, when memory is full. */
function finish(textIndex: TextIndex): bool {
  const merge = textIndex.merge;
  const state = changetype<Merge>(merge);
  const writer = writerOf(merge);
  const run = <usize>writer.run;
  for (let i: u32 = 0; i < state.inputs; i++) joinLive(run, inputAt(merge, i).run);
  changetype<Run>(run).chunks = changetype<Run>(run).live;
  const isEmpty = changetype<Run>(run).live == 0;
  if (!isEmpty) trimRun(run);
  for (let i: u32 = 0; i < state.inputs; i++) changetype<Run>(inputAt(merge, i).run).isGone = 1;
  if (!exchangeList(textIndex, mutableIn(textIndex.list), isEmpty ? 0 : run)) {
    for (let i: u32 = 0; i < state.inputs; i++) changetype<Run>(inputAt(merge, i).run).isGone = 0;
    return false;
  }
  if (!isEmpty) writer.run = 0;
  abandon(textIndex);
  return true;
}
