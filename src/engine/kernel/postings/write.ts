// The writes to a text index: adds a chunk to the mutable run, removes a chunk, and freezes the mutable run. Every
// allocation comes before the first visible change. Owner only.
import { FULL, NONE, NOT_THERE, OK, SCRATCH_INPUT, SCRATCH_TEXT } from '../../memory/layout';
import { releaseArea, reserve } from '../memory/arena';
import { areaAt, ensureArea } from '../memory/scratch';
import {
  ENTRIES,
  Entry,
  MUTABLE_BYTES,
  MUTABLE_TERMS,
  MutableRun,
  MutableTerm,
  SLOTS,
  SLOTS_MAX,
  Slot,
  TOKENS_MAX,
  bytesOf,
  entryAt,
  findSlot,
  growTable,
  mutableArea,
  mutableTermAt,
  mutableTermCount,
  numberAt,
  placeOf,
  slotAt,
  tokenCount,
} from './mutable-run';
import { Query, TermRef, openQuery, refAt, tailLengthOf, tailOf } from './query';
import {
  clearLive,
  compareBytes,
  findTerm,
  hashOf,
  isLive,
  keyOf,
  lengthTo0,
  retireRun,
  setLive,
  tailLength,
  termAt,
  termCount,
} from './run';
import {
  WRITER_BYTES,
  Writer,
  addPosition,
  addPosting,
  beginTerm,
  endTerm,
  openWriter,
  positionsArea,
} from './run-writer';
import {
  Merge,
  TextIndex,
  createRun,
  ensureLengths,
  exchangeList,
  inputAt,
  lengthOf,
  mutableIn,
  publishMutableRun,
  runAt,
  runCount,
  setLength,
  trimRun,
  writerOf,
} from './text-index';

/**
 * Sorts records of sixteen bytes in place: a u64 key and a u64 value. This is a heap sort (Williams 1964), which has no
 * slow inputs and allocates nothing. With `mutable`, values are term numbers, and terms with equal keys are compared by
 * their tails; without it, keys must be distinct.
 */
function sortRecords(at: usize, count: u32, mutable: MutableRun | null): void {
  for (let i = count >> 1; i > 0; i--) sinkRecord(at, i - 1, count, mutable);
  for (let end = count; end > 1; end--) {
    const top = v128.load(at);
    const last = at + ((<usize>(end - 1)) << 4);
    v128.store(at, v128.load(last));
    v128.store(last, top);
    sinkRecord(at, 0, end - 1, mutable);
  }
}

function sinkRecord(at: usize, from: u32, count: u32, mutable: MutableRun | null): void {
  let place = from;
  const record = v128.load(at + ((<usize>place) << 4));
  for (let child: u32 = 2 * place + 1; child < count; child = 2 * place + 1) {
    let below = at + ((<usize>child) << 4);
    if (
      child + 1 < count &&
      isBefore(load<u64>(below), load<u64>(below, 8), load<u64>(below, 16), load<u64>(below, 24), mutable)
    ) {
      child++;
      below += 16;
    }
    if (
      !isBefore(
        v128.extract_lane<u64>(record, 0),
        v128.extract_lane<u64>(record, 1),
        load<u64>(below),
        load<u64>(below, 8),
        mutable,
      )
    )
      break;
    v128.store(at + ((<usize>place) << 4), v128.load(below));
    place = child;
  }
  v128.store(at + ((<usize>place) << 4), record);
}

/** @inline */
function isBefore(key: u64, value: u64, otherKey: u64, otherValue: u64, mutable: MutableRun | null): bool {
  if (key != otherKey || !mutable) return key < otherKey;
  return compareTails(mutable, <u32>value, <u32>otherValue) < 0;
}

function compareTails(mutable: MutableRun, a: u32, b: u32): i32 {
  const one = mutableTermAt(mutable, a);
  const other = mutableTermAt(mutable, b);
  return compareBytes(
    bytesOf(mutable, one) + 8,
    tailLength(one.length),
    bytesOf(mutable, other) + 8,
    tailLength(other.length),
  );
}

/**
 * Freezes the mutable run: its terms are sorted, the tokens of each term are sorted by ordinal and position, and the
 * result is packed into a frozen run without the dead chunks. The index then has no mutable run until the next chunk is
 * added. FULL, with nothing changed, when memory is full.
 */
export function freeze(scratch: usize, root: usize): i32 {
  const textIndex = changetype<TextIndex>(root);
  if (!mutableIn(textIndex.list)) return OK;
  const mutable = changetype<MutableRun>(mutableIn(textIndex.list));
  const run = mutable.live ? runOf(scratch, textIndex, mutable) : 0;
  if (mutable.live && !run) return FULL;
  if (exchangeList(textIndex, 0, run)) return OK;
  if (run) retireRun(run);
  return FULL;
}

/** Makes a frozen run of the live chunks. Returns its address, or 0 when memory is full. */
function runOf(scratch: usize, textIndex: TextIndex, mutable: MutableRun): usize {
  const terms = mutableTermCount(mutable);
  if (!ensureArea(scratch, SCRATCH_TEXT, WRITER_BYTES + ((<usize>(terms + mostTokens(mutable))) << 4))) return 0;
  const run = emptyRun(mutable);
  if (!run) return 0;
  const at = areaAt(scratch, SCRATCH_TEXT);
  const writer = changetype<Writer>(at);
  openWriter(writer, run, textIndex.lengths);
  const sorted = at + WRITER_BYTES;
  sortTerms(mutable, sorted, terms);
  const isWritten = writeTerms(writer, mutable, sorted, terms);
  releaseArea(positionsArea(writer));
  if (!isWritten) {
    retireRun(run);
    return 0;
  }
  trimRun(run);
  return run;
}

function mostTokens(mutable: MutableRun): u32 {
  let most: u32 = 0;
  for (let term: u32 = 0; term < mutableTermCount(mutable); term++)
    most = max(most, mutableTermAt(mutable, term).tokens);
  return most;
}

function emptyRun(mutable: MutableRun): usize {
  let first: u32 = NONE;
  let end: u32 = 0;
  for (let slot: u32 = 0; slot < mutable.slots; slot++) {
    const ordinal = slotAt(mutable, slot).ordinal;
    if (ordinal == NONE) continue;
    first = min(first, ordinal);
    end = max(end, ordinal + 1);
  }
  const run = createRun(first, end);
  if (!run) return 0;
  for (let slot: u32 = 0; slot < mutable.slots; slot++) {
    const ordinal = slotAt(mutable, slot).ordinal;
    if (ordinal != NONE) setLive(run, ordinal);
  }
  return run;
}

function sortTerms(mutable: MutableRun, at: usize, terms: u32): void {
  for (let i: u32 = 0; i < terms; i++) {
    const term = mutableTermAt(mutable, i);
    store<u64>(at + ((<usize>i) << 4), keyOf(bytesOf(mutable, term), term.length));
    store<u64>(at + ((<usize>i) << 4), i, 8);
  }
  sortRecords(at, terms, mutable);
}

function writeTerms(writer: Writer, mutable: MutableRun, sorted: usize, terms: u32): bool {
  const records = sorted + ((<usize>terms) << 4);
  for (let i: u32 = 0; i < terms; i++) {
    const record = sorted + ((<usize>i) << 4);
    const term = mutableTermAt(mutable, <u32>load<u64>(record, 8));
    if (!term.chunks) continue;
    const count = collect(mutable, term, records);
    if (!beginTerm(writer, load<u64>(record), bytesOf(mutable, term), term.length)) return false;
    if (!writePostings(writer, records, count) || !endTerm(writer)) return false;
  }
  return true;
}

/**
 * Writes the live tokens of a term to `records`, sorted by ordinal and position, and returns their number. The chain
 * leads from the newest token back, so the array is filled from its end.
 */
function collect(mutable: MutableRun, term: MutableTerm, records: usize): u32 {
  const end = records + ((<usize>term.tokens) << 4);
  let at = end;
  let isSorted = true;
  for (let token = term.last; token; token = entryAt(mutable, token - 1).before) {
    const slot = slotAt(mutable, entryAt(mutable, token - 1).slot);
    if (slot.ordinal == NONE) continue;
    const key = ((<u64>slot.ordinal) << 32) | (token - 1 - slot.first);
    if (at < end && load<u64>(at) < key) isSorted = false;
    at -= 16;
    store<u64>(at, key);
  }
  const count = <u32>((end - at) >> 4);
  if (at > records) memory.copy(records, at, (<usize>count) << 4);
  if (!isSorted) sortRecords(records, count, null);
  return count;
}

function writePostings(writer: Writer, records: usize, count: u32): bool {
  const end = records + ((<usize>count) << 4);
  for (let at = records; at < end; ) {
    const ordinal = load<u32>(at, 4);
    let next = at;
    while (next < end && load<u32>(next, 4) == ordinal) next += 16;
    if (!addPosting(writer, ordinal, <u32>((next - at) >> 4))) return false;
    for (; at < next; at += 16) addPosition(writer, load<u32>(at));
  }
  return true;
}

/**
 * Adds a chunk that is not in the index. Its `tokens` tokens are in the input area and take `bytes` bytes. FULL, with
 * no visible change, when memory is full.
 */
export function addTerms(scratch: usize, root: usize, ordinal: u32, tokens: u32, bytes: u32): i32 {
  const textIndex = changetype<TextIndex>(root);
  if (!ensureLengths(textIndex, ordinal)) return FULL;
  if (
    mutableIn(textIndex.list) &&
    isMutableFull(changetype<MutableRun>(mutableIn(textIndex.list)), tokens) &&
    freeze(scratch, root) == FULL
  )
    return FULL;
  if (!mutableIn(textIndex.list) && !publishMutableRun(textIndex)) return FULL;
  const mutable = mutableIn(textIndex.list);
  if (!reserveSpace(mutable, tokens, bytes)) return FULL;
  // The slot of the chunk is counted last, after everything that its readers need.
  setLength(textIndex, ordinal, tokens);
  if (ordinal >= textIndex.end) atomic.store<u32>(root + offsetof<TextIndex>('end'), ordinal + 1);
  append(changetype<MutableRun>(mutable), ordinal, tokens, areaAt(scratch, SCRATCH_INPUT));
  textIndex.tokens += tokens;
  atomic.store<u32>(root + offsetof<TextIndex>('chunks'), textIndex.chunks + 1);
  return OK;
}

/** @inline */
function isMutableFull(mutable: MutableRun, tokens: u32): bool {
  return mutable.slots == SLOTS_MAX || (mutable.slots > 0 && tokenCount(mutable) + tokens > TOKENS_MAX);
}

function reserveSpace(address: usize, tokens: u32, bytes: u32): bool {
  const mutable = changetype<MutableRun>(address);
  return (
    reserve(mutableArea(address, ENTRIES), <usize>tokens * offsetof<Entry>()) &&
    reserve(mutableArea(address, SLOTS), offsetof<Slot>()) &&
    reserve(mutableArea(address, MUTABLE_TERMS), <usize>tokens * offsetof<MutableTerm>()) &&
    reserve(mutableArea(address, MUTABLE_BYTES), bytes) &&
    growTable(mutable, mutableTermCount(mutable) + tokens)
  );
}

/** Appends the slot and its tokens. The slot is counted last, so no other thread looks at its tokens before. */
function append(mutable: MutableRun, ordinal: u32, tokens: u32, from: usize): void {
  const number = mutable.slots;
  const first = tokenCount(mutable);
  const slot = slotAt(mutable, number);
  slot.ordinal = ordinal;
  slot.first = first;
  slot.length = tokens;
  mutable.chunksUsed += <u32>offsetof<Slot>();
  mutable.shortest = number ? min(mutable.shortest, tokens) : tokens;
  let at = from;
  for (let token = first; token < first + tokens; token++) {
    const length = lengthTo0(at);
    appendToken(mutable, number, first, token, termOf(mutable, at, length));
    at += length + 1;
  }
  mutable.live++;
  atomic.store<u32>(changetype<usize>(mutable) + offsetof<MutableRun>('slots'), number + 1);
}

function appendToken(mutable: MutableRun, slot: u32, first: u32, token: u32, number: u32): void {
  const term = mutableTermAt(mutable, number);
  const entry = entryAt(mutable, token);
  entry.term = number;
  entry.slot = slot;
  entry.before = term.last;
  if (term.last <= first) {
    term.chunks++;
    term.run = 0;
  }
  term.most = max(term.most, ++term.run);
  term.tokens++;
  atomic.store<u32>(changetype<usize>(term) + offsetof<MutableTerm>('last'), token + 1);
  mutable.entriesUsed += <u32>offsetof<Entry>();
}

/** The number of the term with these bytes, which is added if it is new. */
function termOf(mutable: MutableRun, at: usize, length: u32): u32 {
  const hash = hashOf(at, length);
  const place = placeOf(mutable, mutable.table, hash, at, length);
  const known = numberAt(place);
  if (known) return known - 1;
  const number = mutableTermCount(mutable);
  const term = mutableTermAt(mutable, number);
  memory.fill(changetype<usize>(term), 0, offsetof<MutableTerm>());
  term.at = mutable.bytesUsed;
  term.length = length;
  memory.copy(<usize>mutable.bytes + term.at, at, length);
  mutable.bytesUsed += length;
  atomic.store<u32>(
    changetype<usize>(mutable) + offsetof<MutableRun>('termsUsed'),
    mutable.termsUsed + <u32>offsetof<MutableTerm>(),
  );
  store<u32>(place, hash);
  atomic.store<u32>(place, number + 1, 4);
  return number;
}

/** Removes a chunk from the mutable run: its slot becomes dead, and each of its terms counts one chunk less. */
function removeFromMutable(mutable: MutableRun, number: u32): void {
  const slot = slotAt(mutable, number);
  slot.ordinal = NONE;
  mutable.live--;
  for (let token = slot.first; token < slot.first + slot.length; token++) {
    const entry = entryAt(mutable, token);
    // Only the term's first token in the chunk counts.
    if (entry.before <= slot.first) mutableTermAt(mutable, entry.term).chunks--;
  }
}

/**
 * Removes a chunk, given its distinct terms. Its live bit is cleared and its terms' counts of dead postings are
 * increased, so term frequencies stay exact; the next merge removes the postings. Returns the number of the terms that
 * were found, or `NOT_THERE` when the index does not have the chunk, or FULL, with nothing changed, when there is no
 * memory for the query.
 */
export function removeTerms(scratch: usize, root: usize, ordinal: u32, terms: u32): i32 {
  const textIndex = changetype<TextIndex>(root);
  const query = openQuery(scratch, root, terms, 0);
  if (!query) return FULL;
  const run = runWith(textIndex.list, ordinal);
  let found = terms;
  if (run) {
    found = countDead(query, textIndex, run, ordinal);
    clearLive(run, ordinal);
  } else {
    const mutable = changetype<MutableRun>(query.mutable);
    const slot = query.mutable ? findSlot(mutable, query.slots, ordinal) : NONE;
    if (slot == NONE) return NOT_THERE;
    removeFromMutable(mutable, slot);
  }
  textIndex.tokens -= lengthOf(textIndex, ordinal);
  setLength(textIndex, ordinal, 0);
  atomic.store<u32>(root + offsetof<TextIndex>('chunks'), textIndex.chunks - 1);
  return found;
}

/** The frozen run in which the chunk is live, or 0. There is at most one. */
export function runWith(list: usize, ordinal: u32): usize {
  for (let i: u32 = 0; i < runCount(list); i++) if (isLive(runAt(list, i), ordinal)) return runAt(list, i);
  return 0;
}

function countDead(query: Query, textIndex: TextIndex, run: usize, ordinal: u32): u32 {
  const merge = textIndex.merge && isInput(textIndex.merge, run) ? textIndex.merge : 0;
  let found: u32 = 0;
  for (let i: u32 = 0; i < query.terms; i++) {
    const ref = refAt(query, i);
    const term = findTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
    if (term < 0) continue;
    termAt(run, term).dead++;
    if (merge) countDeadInMerge(merge, ref, ordinal);
    found++;
  }
  return found;
}

function isInput(merge: usize, run: usize): bool {
  for (let i: u32 = 0; i < changetype<Merge>(merge).inputs; i++) if (<usize>inputAt(merge, i).run == run) return true;
  return false;
}

/**
 * Counts a dead posting in the run that a merge is writing, unless the merge has not reached the posting yet; it will
 * then leave the posting out.
 */
function countDeadInMerge(merge: usize, ref: TermRef, ordinal: u32): void {
  const state = changetype<Merge>(merge);
  const run = <usize>writerOf(merge).run;
  const term = findTerm(run, ref.key, tailOf(ref), tailLengthOf(ref));
  if (term < 0) return;
  const isCurrent = state.active > 0 && <u32>term == termCount(run) - 1;
  if (!isCurrent || ordinal < state.frontier) termAt(run, term).dead++;
}
