// Adds a chunk to the head, and takes one out. Everything that can want memory comes before the first change.
// The owner's thread only.
import { FULL, NONE, OK, SCRATCH_INPUT } from '../../layout';
import { areaAt } from '../scratch';
import { reserve } from './area';
import { freeze } from './freeze';
import {
  Entry,
  entryAt,
  Head,
  headArea,
  HeadTerm,
  headTermAt,
  headTermCount,
  Slot,
  slotAt,
  SLOTS_MAX,
  tokenCount,
  TOKENS_MAX,
} from './head';
import { growTable, numberAt, placeOf } from './head-table';
import { publishHead } from './lists';
import { hashOf, lengthTo0 } from './terms';
import { ensureLengths, headIn, setLength, Words } from './words';

/**
 * Adds a chunk that is not there, with the tokens of the input, `bytes` of them. FULL, and nothing to be seen changed,
 * when memory is full.
 */
export function addWords(scratch: usize, root: usize, ordinal: u32, tokens: u32, bytes: u32): i32 {
  const words = changetype<Words>(root);
  if (!ensureLengths(words, ordinal)) return FULL;
  if (headIn(words.list) && isHeadFull(changetype<Head>(headIn(words.list)), tokens) && freeze(scratch, root) == FULL)
    return FULL;
  if (!headIn(words.list) && !publishHead(words)) return FULL;
  const head = headIn(words.list);
  if (!makeRoom(head, tokens, bytes)) return FULL;
  // The slot that the chunk gets is counted after all that a reader of it needs.
  setLength(words, ordinal, tokens);
  if (ordinal >= words.end) atomic.store<u32>(root + offsetof<Words>('end'), ordinal + 1);
  append(changetype<Head>(head), ordinal, tokens, areaAt(scratch, SCRATCH_INPUT));
  words.tokens += tokens;
  atomic.store<u32>(root + offsetof<Words>('chunks'), words.chunks + 1);
  return OK;
}

/** @inline */
function isHeadFull(head: Head, tokens: u32): bool {
  return head.slots == SLOTS_MAX || (head.slots > 0 && tokenCount(head) + tokens > TOKENS_MAX);
}

function makeRoom(address: usize, tokens: u32, bytes: u32): bool {
  const head = changetype<Head>(address);
  return (
    reserve(headArea(address, 0), <usize>tokens * offsetof<Entry>()) &&
    reserve(headArea(address, 1), offsetof<Slot>()) &&
    reserve(headArea(address, 2), <usize>tokens * offsetof<HeadTerm>()) &&
    reserve(headArea(address, 3), bytes) &&
    growTable(head, headTermCount(head) + tokens)
  );
}

/** The slot is counted last: before that no other thread looks at its tokens. */
function append(head: Head, ordinal: u32, tokens: u32, from: usize): void {
  const number = head.slots;
  const first = tokenCount(head);
  const slot = slotAt(head, number);
  slot.ordinal = ordinal;
  slot.first = first;
  slot.length = tokens;
  head.chunksUsed += <u32>offsetof<Slot>();
  head.shortest = number ? min(head.shortest, tokens) : tokens;
  let at = from;
  for (let token = first; token < first + tokens; token++) {
    const length = lengthTo0(at);
    appendToken(head, number, first, token, termOf(head, at, length));
    at += length + 1;
  }
  head.live++;
  atomic.store<u32>(changetype<usize>(head) + offsetof<Head>('slots'), number + 1);
}

function appendToken(head: Head, slot: u32, first: u32, token: u32, number: u32): void {
  const term = headTermAt(head, number);
  const entry = entryAt(head, token);
  entry.term = number;
  entry.slot = slot;
  entry.before = term.last;
  if (term.last <= first) {
    term.chunks++;
    term.run = 0;
  }
  term.most = max(term.most, ++term.run);
  term.tokens++;
  atomic.store<u32>(changetype<usize>(term) + offsetof<HeadTerm>('last'), token + 1);
  head.entriesUsed += <u32>offsetof<Entry>();
}

/** Number of the term with these bytes, made where it is new. */
function termOf(head: Head, at: usize, length: u32): u32 {
  const hash = hashOf(at, length);
  const place = placeOf(head, head.table, hash, at, length);
  const known = numberAt(place);
  if (known) return known - 1;
  const number = headTermCount(head);
  const term = headTermAt(head, number);
  memory.fill(changetype<usize>(term), 0, offsetof<HeadTerm>());
  term.at = head.bytesUsed;
  term.length = length;
  memory.copy(<usize>head.bytes + term.at, at, length);
  head.bytesUsed += length;
  atomic.store<u32>(changetype<usize>(head) + offsetof<Head>('termsUsed'), head.termsUsed + <u32>offsetof<HeadTerm>());
  store<u32>(place, hash);
  atomic.store<u32>(place, number + 1, 4);
  return number;
}

/** Takes a chunk out of the head: its slot is dead, and its terms are in one chunk less. */
export function removeFromHead(head: Head, number: u32): void {
  const slot = slotAt(head, number);
  slot.ordinal = NONE;
  head.live--;
  for (let token = slot.first; token < slot.first + slot.length; token++) {
    const entry = entryAt(head, token);
    // The first of its term in the chunk stands for all.
    if (entry.before <= slot.first) headTermAt(head, entry.term).chunks--;
  }
}
