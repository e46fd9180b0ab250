// Terms near a word: those within a number of edits of it, or that begin with something near it. The optimal string
// alignment distance (Damerau 1964: an edit inserts, deletes or replaces a character, or swaps two neighbours, none of
// them edited twice) is computed by a bit-parallel automaton (Wu and Manber 1992, with a state for swaps) while the
// sorted terms of a frozen run are walked like a trie: what neighbouring terms have in common is read once, and terms
// with a beginning from which the word cannot be reached are skipped together. Only tokens are found, no stems and no
// compounds. Any thread.
import { FULL, SCRATCH_BEST, SCRATCH_OUTPUT } from '../../memory/layout';
import { areaAt, ensureArea } from '../memory/scratch';
import { clearBest, offer, sortBest } from '../memory/top-k';
import { MutableRun, bytesOf, mutableTermAt, mutableTermCount } from './mutable-run';
import { Query, openQuery, refAt } from './query';
import { bytesAt, keyAt, lowerTerm, termAt, termCount, termLength } from './run';
import { runAt, runCount } from './text-index';

/** The longest word in characters: a bit for each, and one for the word as a whole. */
const CHARACTERS_MAX: u32 = 63;
/** The first byte of every token is greater than this; stems and compounds begin with a smaller one. */
const MARKS: u64 = 0x02;

/**
 * The automaton after a prefix of a term. Bit i of `within`d is set if the prefix is within d edits of the first i
 * characters of the word; bit i of `swap`d if it is within d - 1 edits of them and its last character is the one after
 * the next of the word.
 */
@unmanaged
class State {
  within0: u64;
  within1: u64;
  within2: u64;
  swap1: u64;
  swap2: u64;
  /** The number of bytes of the prefix. */
  bytes: u32;
  /** The fewest edits from the word to a beginning of the prefix, if beginnings count; otherwise TOO_MANY. */
  fewest: u32;
}

/** Stands for more edits than are allowed. */
const TOO_MANY: u32 = 3;
const STATES_MAX: u32 = 2 + CHARACTERS_MAX + 2;
const UTF8_MAX: u32 = 4;
const ASCII: u32 = 128;

/** The word and the path through the terms. It is in the window of the query, which is not ranked. */
@unmanaged
class Automaton {
  /** One more than the number of the last state. */
  states: u32;
  characters: u32;
  edits: u32;
  /** The number of leading characters that are not edited. */
  fixed: u32;
  isPrefix: u32;
  spare: u32;
}

const STATES: usize = 32;
const PATH: usize = STATES + <usize>STATES_MAX * 48;
const CHARACTERS: usize = PATH + <usize>STATES_MAX * UTF8_MAX;
const MASKS: usize = (CHARACTERS + <usize>(CHARACTERS_MAX + 1) * 4 + 7) & ~7;
const SHORT: usize = MASKS + <usize>ASCII * 8;

/** @inline */
function stateAt(automaton: Automaton, i: u32): State {
  return changetype<State>(changetype<usize>(automaton) + STATES + <usize>i * offsetof<State>());
}

/** @inline */
function pathOf(automaton: Automaton): usize {
  return changetype<usize>(automaton) + PATH;
}

/** @inline */
function characterAt(automaton: Automaton, i: u32): u32 {
  return load<u32>(changetype<usize>(automaton) + CHARACTERS + ((<usize>i) << 2));
}

/** The number of bytes of the UTF-8 character that begins with this byte. @inline */
function widthOf(first: u32): u32 {
  return first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/** The code point of a character of `width` bytes. @inline */
function codeAt(at: usize, width: u32): u32 {
  const first: u32 = load<u8>(at);
  if (width == 1) return first;
  let code = first & (0x7f >> width);
  for (let i: u32 = 1; i < width; i++) code = (code << 6) | (load<u8>(at + i) & 0x3f);
  return code;
}

/** Prepares the automaton for the word of the query. False if the word is too long. */
function openAutomaton(query: Query, edits: u32, fixed: u32, isPrefix: bool): bool {
  const automaton = changetype<Automaton>(<usize>query.window);
  const ref = refAt(query, 0);
  automaton.characters = 0;
  automaton.edits = edits;
  automaton.fixed = fixed;
  automaton.isPrefix = u32(isPrefix);
  for (let at: u32 = 0; at < ref.length; automaton.characters++) {
    if (automaton.characters == CHARACTERS_MAX) return false;
    const width = widthOf(load<u8>(<usize>ref.at + at));
    const code = codeAt(<usize>ref.at + at, width);
    store<u32>(changetype<usize>(automaton) + CHARACTERS + ((<usize>automaton.characters) << 2), code);
    if (code < ASCII) {
      const mask = changetype<usize>(automaton) + MASKS + ((<usize>code) << 3);
      store<u64>(mask, load<u64>(mask) | ((<u64>1) << automaton.characters));
    }
    at += width;
  }
  const first = stateAt(automaton, 0);
  first.within0 = 1;
  first.within1 = edits >= 1 ? 3 : 0;
  first.within2 = edits >= 2 ? 7 : 0;
  first.swap1 = 0;
  first.swap2 = 0;
  first.bytes = 0;
  first.fewest = fewestAt(automaton, 0);
  automaton.states = 1;
  return true;
}

/** The places at which the word has a character, a bit for each. */
function maskOf(automaton: Automaton, code: u32): u64 {
  if (code < ASCII) return load<u64>(changetype<usize>(automaton) + MASKS + ((<usize>code) << 3));
  let mask: u64 = 0;
  for (let i: u32 = 0; i < automaton.characters; i++) mask |= (<u64>u32(characterAt(automaton, i) == code)) << i;
  return mask;
}

/** The edits from the word to the prefix of the i-th state; 3 if they are too many or the prefix is too short. */
function fewestAt(automaton: Automaton, i: u32): u32 {
  if (i < min(automaton.fixed, automaton.characters)) return TOO_MANY;
  const state = stateAt(automaton, i);
  const whole = (<u64>1) << automaton.characters;
  if (state.within0 & whole) return 0;
  if (automaton.edits >= 1 && state.within1 & whole) return 1;
  return automaton.edits >= 2 && state.within2 & whole ? 2 : TOO_MANY;
}

/** Follows one more character. False, with no state added, if the word cannot be reached any more. */
function follow(automaton: Automaton, code: u32, bytes: u32): bool {
  const before = stateAt(automaton, automaton.states - 1);
  if (
    automaton.states - 1 < automaton.fixed &&
    automaton.states - 1 < automaton.characters &&
    characterAt(automaton, automaton.states - 1) != code
  )
    return false;
  const next = stateAt(automaton, automaton.states);
  const mask = maskOf(automaton, code);
  const all: u64 = <u64>-1 >> (63 - automaton.characters);
  next.within0 = (before.within0 & mask) << 1;
  next.within1 = 0;
  next.within2 = 0;
  if (automaton.edits >= 1) {
    const edited = before.within0 | (before.within0 << 1) | (next.within0 << 1);
    next.within1 = (((before.within1 & mask) << 1) | edited | ((before.swap1 & mask) << 2)) & all;
    next.swap1 = before.within0 & (mask >> 1);
  }
  if (automaton.edits >= 2) {
    const edited = before.within1 | (before.within1 << 1) | (next.within1 << 1);
    next.within2 = (((before.within2 & mask) << 1) | edited | ((before.swap2 & mask) << 2)) & all;
    next.swap2 = before.within1 & (mask >> 1);
  }
  if (!(next.within0 | next.within1 | next.within2)) return false;
  next.bytes = bytes;
  next.fewest = automaton.isPrefix ? min(before.fewest, fewestAt(automaton, automaton.states)) : TOO_MANY;
  automaton.states++;
  return true;
}

/** Returns to the state after the bytes that the path and a term have in common. */
function rewind(automaton: Automaton, at: usize, length: u32): void {
  const path = pathOf(automaton);
  const known = min(stateAt(automaton, automaton.states - 1).bytes, length);
  let common: u32 = 0;
  while (common < known && load<u8>(path + common) == load<u8>(at + common)) common++;
  while (stateAt(automaton, automaton.states - 1).bytes > common) automaton.states--;
}

/**
 * Follows a term from the last state on. Returns the number of bytes after which the word cannot be reached any more,
 * or 0 if the whole term was followed.
 */
function advance(automaton: Automaton, at: usize, length: u32): u32 {
  let done = stateAt(automaton, automaton.states - 1).bytes;
  while (done < length) {
    const width = widthOf(load<u8>(at + done));
    const end = done + width;
    if (!follow(automaton, codeAt(at + done, width), end)) return end;
    memory.copy(pathOf(automaton) + done, at + done, width);
    done = end;
  }
  return 0;
}

/** The edits from the word to the term that was followed; `isWhole` tells whether all of it was. @inline */
function found(automaton: Automaton, isWhole: bool): u32 {
  if (automaton.isPrefix) return stateAt(automaton, automaton.states - 1).fewest;
  return isWhole ? fewestAt(automaton, automaton.states - 1) : TOO_MANY;
}

// The key of a term found: fewer edits come first, then more chunks, then the lower run and term. Bits: 3 - edits 2 |
// chunks 26 | complement of the run 12 | complement of the term's number 24.

const CHUNKS_MASK: u32 = 0x3ffffff;
const RUN_MASK: u32 = 0xfff;
const TERM_MASK: u32 = 0xffffff;
/** The number that stands for the mutable run. */
const MUTABLE: u32 = RUN_MASK;

/** @inline */
function keyFor(edits: u32, chunks: u32, run: u32, term: u32): u64 {
  const order = ((<u64>(3 - edits)) << 62) | ((<u64>min(chunks, CHUNKS_MASK)) << 36);
  return order | ((<u64>(~run & RUN_MASK)) << 24) | <u64>(~term & TERM_MASK);
}

/** Index of the next term that does not share the first `bytes` bytes with the i-th, or one shortly before it. */
function after(run: usize, i: u32, bytes: u32): u32 {
  if (bytes > 8) return i + 1;
  const end = termCount(run);
  const shift = 64 - ((<u64>bytes) << 3);
  const prefix = keyAt(run, i) >> shift;
  let step: u32 = 1;
  while (i + step < end && keyAt(run, i + step) >> shift == prefix) step <<= 1;
  let low = i + (step >> 1) + 1;
  let high = min(i + step, end);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keyAt(run, middle) >> shift == prefix) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nearInRun(scratch: usize, automaton: Automaton, run: usize, number: u32): void {
  const end = min(termCount(run), TERM_MASK + 1);
  automaton.states = 1;
  for (let i = lowerTerm(run, (MARKS + 1) << 56, 0, 0); i < end; ) {
    const at = bytesAt(run, i, changetype<usize>(automaton) + SHORT);
    const length = termLength(run, i);
    rewind(automaton, at, length);
    const deadAfter = advance(automaton, at, length);
    const edits = found(automaton, deadAfter == 0);
    if (edits < TOO_MANY) {
      const term = termAt(run, i);
      if (term.count > term.dead) offer(scratch, keyFor(edits, term.count - term.dead, number, i));
      i++;
    } else i = deadAfter ? after(run, i, deadAfter) : i + 1;
  }
}

function nearInMutable(scratch: usize, automaton: Automaton, mutable: MutableRun): void {
  const end = min(mutableTermCount(mutable), TERM_MASK + 1);
  for (let i: u32 = 0; i < end; i++) {
    const term = mutableTermAt(mutable, i);
    const at = bytesOf(mutable, term);
    if (!term.chunks || !term.length || load<u8>(at) <= <u32>MARKS) continue;
    automaton.states = 1;
    const edits = found(automaton, advance(automaton, at, term.length) == 0);
    if (edits < TOO_MANY) offer(scratch, keyFor(edits, term.chunks, MUTABLE, i));
  }
}

/**
 * Writes to the output area up to `max` terms within `edits` (0 to 2) of the query's term or, with `isPrefix`, with a
 * beginning within them, of each run: a byte, `0` and the number of edits, then the term and a terminating zero byte.
 * Fewer edits come first, then more chunks of a run. The first `fixed` characters must be equal. A term may occur more
 * than once; a word of more than 63 characters has none. Returns the number of bytes, or FULL.
 */
export function listNear(scratch: usize, root: usize, edits: u32, fixed: u32, isPrefix: bool, max: u32): i32 {
  const query = openQuery(scratch, root, 1, 0);
  if (!query || !ensureArea(scratch, SCRATCH_BEST, (<usize>max) << 3)) return FULL;
  if (!openAutomaton(query, edits, fixed, isPrefix)) return 0;
  const automaton = changetype<Automaton>(<usize>query.window);
  clearBest(scratch, max);
  const runs = min(runCount(query.list), MUTABLE);
  for (let i: u32 = 0; i < runs; i++) nearInRun(scratch, automaton, runAt(query.list, i), i);
  if (query.mutable) nearInMutable(scratch, automaton, changetype<MutableRun>(query.mutable));
  const count = sortBest(scratch);
  const bytes = writeFound(scratch, query, count, 0);
  if (!ensureArea(scratch, SCRATCH_OUTPUT, bytes + 8)) return FULL;
  return <i32>writeFound(scratch, query, count, areaAt(scratch, SCRATCH_OUTPUT));
}

const DIGIT: u32 = 0x30;

/** Writes the terms of the best keys. Returns the number of bytes; with `to` = 0 it only counts. */
function writeFound(scratch: usize, query: Query, count: u32, to: usize): usize {
  let bytes: usize = 0;
  for (let i: u32 = 0; i < count; i++) {
    const key = load<u64>(areaAt(scratch, SCRATCH_BEST) + ((<usize>i) << 3));
    const number = ~(<u32>(key >> 24)) & RUN_MASK;
    const term = ~(<u32>key) & TERM_MASK;
    const mutable = changetype<MutableRun>(<usize>query.mutable);
    const run = number == MUTABLE ? 0 : runAt(query.list, number);
    const length = run ? termLength(run, term) : mutableTermAt(mutable, term).length;
    if (to) {
      store<u8>(to + bytes, DIGIT + 3 - <u32>(key >> 62));
      const at = run ? bytesAt(run, term, <usize>query.window + SHORT) : bytesOf(mutable, mutableTermAt(mutable, term));
      memory.copy(to + bytes + 1, at, length);
      store<u8>(to + bytes + 1 + length, 0);
    }
    bytes += length + 2;
  }
  return bytes;
}
