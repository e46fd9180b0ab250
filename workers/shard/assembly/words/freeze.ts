// Turns the head into a segment: its terms sorted, the tokens of each brought into the order of ordinals and positions,
// and packed. The owner's thread only. Dead chunks are left out.
import { FULL, NONE, OK, SCRATCH_WORDS } from '../../layout';
import { areaAt, ensureArea } from '../scratch';
import { releaseArea } from './area';
import { bytesOf, entryAt, Head, HeadTerm, headTermAt, headTermCount, slotAt } from './head';
import { createSegment, exchangeList, trimSegment } from './lists';
import { setLive } from './live';
import { retireSegment } from './segment';
import { sortRecords } from './sort';
import { keyOf } from './terms';
import { headIn, Words } from './words';
import { addPosition, addPosting, beginTerm, endTerm, openWriter } from './writer';
import { positionsArea, Writer, WRITER_BYTES } from './writer-state';

/** Makes a segment of the head, which begins anew. FULL, and nothing changed, when memory is full. */
export function freeze(scratch: usize, root: usize): i32 {
  const words = changetype<Words>(root);
  if (!headIn(words.list)) return OK;
  const head = changetype<Head>(headIn(words.list));
  const segment = head.live ? segmentOf(scratch, words, head) : 0;
  if (head.live && !segment) return FULL;
  if (exchangeList(words, 0, segment)) return OK;
  if (segment) retireSegment(segment);
  return FULL;
}

/** The head's live chunks as a segment; 0 when memory is full. */
function segmentOf(scratch: usize, words: Words, head: Head): usize {
  const terms = headTermCount(head);
  if (!ensureArea(scratch, SCRATCH_WORDS, WRITER_BYTES + ((<usize>(terms + mostTokens(head))) << 4))) return 0;
  const segment = emptySegment(head);
  if (!segment) return 0;
  const at = areaAt(scratch, SCRATCH_WORDS);
  const writer = changetype<Writer>(at);
  openWriter(writer, segment, words.lengths);
  const sorted = at + WRITER_BYTES;
  sortTerms(head, sorted, terms);
  const isWritten = writeTerms(writer, head, sorted, terms);
  releaseArea(positionsArea(writer));
  if (!isWritten) {
    retireSegment(segment);
    return 0;
  }
  trimSegment(segment);
  return segment;
}

function mostTokens(head: Head): u32 {
  let most: u32 = 0;
  for (let term: u32 = 0; term < headTermCount(head); term++) most = max(most, headTermAt(head, term).tokens);
  return most;
}

function emptySegment(head: Head): usize {
  let first: u32 = NONE;
  let end: u32 = 0;
  for (let slot: u32 = 0; slot < head.slots; slot++) {
    const ordinal = slotAt(head, slot).ordinal;
    if (ordinal == NONE) continue;
    first = min(first, ordinal);
    end = max(end, ordinal + 1);
  }
  const segment = createSegment(first, end);
  if (!segment) return 0;
  for (let slot: u32 = 0; slot < head.slots; slot++) {
    const ordinal = slotAt(head, slot).ordinal;
    if (ordinal != NONE) setLive(segment, ordinal);
  }
  return segment;
}

function sortTerms(head: Head, at: usize, terms: u32): void {
  for (let i: u32 = 0; i < terms; i++) {
    const term = headTermAt(head, i);
    store<u64>(at + ((<usize>i) << 4), keyOf(bytesOf(head, term), term.length));
    store<u64>(at + ((<usize>i) << 4), i, 8);
  }
  sortRecords(at, terms, head);
}

function writeTerms(writer: Writer, head: Head, sorted: usize, terms: u32): bool {
  const records = sorted + ((<usize>terms) << 4);
  for (let i: u32 = 0; i < terms; i++) {
    const record = sorted + ((<usize>i) << 4);
    const term = headTermAt(head, <u32>load<u64>(record, 8));
    if (!term.chunks) continue;
    const count = collect(head, term, records);
    if (!beginTerm(writer, load<u64>(record), bytesOf(head, term), term.length)) return false;
    if (!writePostings(writer, records, count) || !endTerm(writer)) return false;
  }
  return true;
}

/** The live tokens of a term by ordinal and position; answers how many. The chain leads from the newest back. */
function collect(head: Head, term: HeadTerm, records: usize): u32 {
  const end = records + ((<usize>term.tokens) << 4);
  let at = end;
  let isSorted = true;
  for (let token = term.last; token; token = entryAt(head, token - 1).before) {
    const slot = slotAt(head, entryAt(head, token - 1).slot);
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
