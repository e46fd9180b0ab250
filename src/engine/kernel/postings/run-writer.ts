// Writes the terms of a new segment in their order, each with its postings by rising ordinals: they are gathered to
// blocks, and a full block is packed. Used by freeze and merge, in the owner's thread; nobody else sees the segment
// before it is done.
import { reserve } from './area';
import { impactOf, joinImpacts, NO_IMPACT } from './impact';
import { areaOf, Block, BLOCK, Segment, Term } from './segment';
import { writeBlock } from './write-block';
import {
  BLOCKS,
  COUNTS,
  currentTerm,
  KEYS,
  ORDINALS,
  positionsArea,
  TAILS,
  TERMS,
  Writer,
  WRITER_BYTES,
} from './writer-state';

export function openWriter(writer: Writer, segment: usize, lengths: u32): void {
  memory.fill(changetype<usize>(writer), 0, WRITER_BYTES);
  writer.segment = <u32>segment;
  writer.lengths = lengths;
}

/**
 * Begins a term that comes after all before it. False when memory is full, as with all calls below: then the segment is
 * of no use.
 */
export function beginTerm(writer: Writer, key: u64, at: usize, length: u32): bool {
  const segment = <usize>writer.segment;
  const keys = areaOf(segment, KEYS);
  const terms = areaOf(segment, TERMS);
  const tails = areaOf(segment, TAILS);
  if (!reserve(keys, 8) || !reserve(terms, offsetof<Term>()) || !reserve(tails, 8 + <usize>length)) return false;
  if (!tails.used) tails.used = 4; // 0 means none.
  store<u64>(<usize>keys.at + keys.used, key);
  keys.used += 8;
  const term = changetype<Term>(<usize>terms.at + terms.used);
  term.tail = length > 8 ? tails.used : 0;
  term.count = 0;
  term.dead = 0;
  term.block = areaOf(segment, BLOCKS).used / <u32>offsetof<Block>();
  term.impact = NO_IMPACT;
  terms.used += <u32>offsetof<Term>();
  if (term.tail) {
    store<u32>(<usize>tails.at + tails.used, length);
    memory.copy(<usize>tails.at + tails.used + 4, at, length);
    tails.used += 4 + length;
  }
  writer.base = changetype<Segment>(segment).first - 1;
  writer.impact = NO_IMPACT;
  return true;
}

/** Adds a posting to the term; as many calls of `addPosition` follow as it occurs. */
export function addPosting(writer: Writer, ordinal: u32, count: u32): bool {
  if (writer.gathered == BLOCK && !writeBlock(writer)) return false;
  if (
    writer.positionsUsed + (count << 2) > writer.positionsBytes &&
    !reserve(positionsArea(writer), (<usize>count) << 2)
  )
    return false;
  const at = changetype<usize>(writer) + ((<usize>writer.gathered) << 2);
  store<u32>(at, ordinal, ORDINALS);
  store<u32>(at, count - 1, COUNTS);
  writer.gathered++;
  writer.most = max(writer.most, count);
  writer.impact = joinImpacts(
    writer.impact,
    impactOf(count, load<u16>(<usize>writer.lengths + ((<usize>ordinal) << 1))),
  );
  return true;
}

/** @inline */
export function addPosition(writer: Writer, position: u32): void {
  store<u32>(<usize>writer.positions + writer.positionsUsed, position);
  writer.positionsUsed += 4;
  writer.furthest = max(writer.furthest, position);
}

/** Ends the term; without a posting it is taken back. */
export function endTerm(writer: Writer): bool {
  if (writer.gathered && !writeBlock(writer)) return false;
  const term = currentTerm(writer);
  if (term.count) return true;
  const segment = changetype<Segment>(<usize>writer.segment);
  segment.keysUsed -= 8;
  segment.termsUsed -= <u32>offsetof<Term>();
  if (term.tail) segment.tailsUsed = term.tail;
  return true;
}
