// Writes the terms of a new frozen run in their order, each with its postings by rising ordinals. Postings are
// collected into blocks, which are packed when they are full. Owner only; no other thread sees the run before it is
// complete.
import { Area, reserve } from '../memory/arena';
import { bitmapBytes, bitsOf, pack, packRun, packedBytes, runBytes } from './posting-list';
import {
  BLOCK,
  BLOCKS,
  Block,
  Impact,
  KEYS,
  NO_IMPACT,
  POSITIONS,
  POSTINGS,
  Run,
  TAILS,
  TERMS,
  Term,
  areaOf,
  impactOf,
  joinImpacts,
  termAt,
  termCount,
} from './run';

/**
 * The state of writing a run, with the postings of the block that is being collected. It is part of a merge, or in the
 * scratch during a freeze.
 */
@unmanaged
export class Writer {
  run: u32;
  /** Address of the chunk lengths by ordinal. */
  lengths: u32;
  /** The number of collected postings, and the ordinal after which all of them come. */
  gathered: u32;
  base: u32;
  /** The largest count and the greatest position among them. */
  most: u32;
  furthest: u32;
  impact: Impact;
  /** The area of the positions of the collected postings, u32 each. */
  positions: u32;
  positionsBytes: u32;
  positionsUsed: u32;
}

/** Offsets of the buffers for the collected ordinals and for their counts less one. */
const ORDINALS: usize = 64;
const COUNTS: usize = ORDINALS + 4 * 132;
export const WRITER_BYTES: usize = COUNTS + 4 * 132;

/** @inline */
export function positionsArea(writer: Writer): Area {
  return changetype<Area>(changetype<usize>(writer) + offsetof<Writer>('positions'));
}

/** @inline */
function currentTerm(writer: Writer): Term {
  return termAt(writer.run, termCount(writer.run) - 1);
}

/**
 * Packs the collected postings into a block: ordinals as gaps or as a bitmap, counts and positions in as few bits as
 * they need. False when memory is full.
 */
function writeBlock(writer: Writer): bool {
  const run = <usize>writer.run;
  const blocks = areaOf(run, BLOCKS);
  const postings = areaOf(run, POSTINGS);
  const positions = areaOf(run, POSITIONS);
  const positionBits = bitsOf(writer.furthest);
  const positionCount = writer.positionsUsed >> 2;
  if (
    !reserve(blocks, offsetof<Block>()) ||
    !reserve(postings, BLOCK_BYTES_MAX) ||
    !reserve(positions, runBytes(positionCount, positionBits))
  )
    return false;
  const block = changetype<Block>(<usize>blocks.at + blocks.used);
  blocks.used += <u32>offsetof<Block>();
  block.positions = positions.used;
  writePostings(writer, block, postings);
  block.positionBits = <u8>positionBits;
  packRun(<usize>positions.at + positions.used, writer.positions, positionCount, positionBits);
  positions.used += (positionCount * positionBits + 7) >> 3;
  closeBlock(writer, block);
  return true;
}

/** Writes the ordinals of the block, followed by their counts. */
function writePostings(writer: Writer, block: Block, postings: Area): void {
  const count = writer.gathered;
  block.postings = postings.used;
  block.impact = writer.impact;
  block.last = load<u32>(changetype<usize>(writer) + ((<usize>(count - 1)) << 2), ORDINALS);
  writeOrdinals(writer, block, postings);
  block.countBits = <u8>bitsOf(writer.most - 1);
  clearBehind(writer, COUNTS);
  pack(<usize>postings.at + postings.used, changetype<usize>(writer) + COUNTS, count, block.countBits);
  postings.used += packedBytes(count, block.countBits);
}

const BLOCK_BYTES_MAX: usize = 2 * 4 * <usize>BLOCK + 64;

/**
 * Writes the ordinals. A full block has a bitmap unless that is more than half as large again as the packed gaps, since
 * a single ordinal can be looked up in a bitmap without unpacking the block.
 */
function writeOrdinals(writer: Writer, block: Block, postings: Area): void {
  const count = writer.gathered;
  const to = <usize>postings.at + postings.used;
  const from = changetype<usize>(writer) + ORDINALS;
  const span = block.last - writer.base;
  const bits = widestGap(from, count, writer.base);
  const packed = count > 1 ? packedBytes(count, bits) : 0;
  block.ordinalBits = <u8>bits;
  block.isBitmap = u8(count == BLOCK && bitmapBytes(span) <= packed + (packed >> 1));
  if (block.isBitmap) writeBitmap(to, from, writer.base, span);
  else if (count > 1) writeGaps(writer, to, count, bits);
  postings.used += block.isBitmap ? bitmapBytes(span) : packed;
}

function widestGap(from: usize, count: u32, base: u32): u32 {
  let widest: u32 = 0;
  for (let i: u32 = 0, last = base; i < count; i++) {
    const ordinal = load<u32>(from + ((<usize>i) << 2));
    widest = max(widest, ordinal - last - 1);
    last = ordinal;
  }
  return bitsOf(widest);
}

function writeGaps(writer: Writer, to: usize, count: u32, bits: u32): void {
  const from = changetype<usize>(writer) + ORDINALS;
  for (let i: u32 = 0, last = writer.base; i < count; i++) {
    const ordinal = load<u32>(from + ((<usize>i) << 2));
    store<u32>(from + ((<usize>i) << 2), ordinal - last - 1);
    last = ordinal;
  }
  clearBehind(writer, ORDINALS);
  pack(to, from, count, bits);
}

function writeBitmap(to: usize, from: usize, base: u32, span: u32): void {
  memory.fill(to, 0, bitmapBytes(span));
  for (let i: usize = 0; i < <usize>BLOCK; i++) {
    const bit = load<u32>(from + (i << 2)) - base - 1;
    store<u8>(to + (bit >> 3), load<u8>(to + (bit >> 3)) | <u8>((<u32>1) << (bit & 7)));
  }
}

/** Clears the four numbers after the last one, because packing reads groups of four. @inline */
function clearBehind(writer: Writer, buffer: usize): void {
  v128.store(changetype<usize>(writer) + buffer + ((<usize>writer.gathered) << 2), i32x4.splat(0));
}

function closeBlock(writer: Writer, block: Block): void {
  const term = currentTerm(writer);
  term.count += writer.gathered;
  term.impact = joinImpacts(term.impact, writer.impact);
  writer.base = block.last;
  writer.gathered = 0;
  writer.most = 0;
  writer.furthest = 0;
  writer.positionsUsed = 0;
  writer.impact = NO_IMPACT;
}

/** Begins to write an empty run. `lengths` is the address of the chunk lengths by ordinal. */
export function openWriter(writer: Writer, run: usize, lengths: u32): void {
  memory.fill(changetype<usize>(writer), 0, WRITER_BYTES);
  writer.run = <u32>run;
  writer.lengths = lengths;
}

/**
 * Begins a term, which must be greater than all terms before it. False when memory is full, as with all functions
 * below; the run must then be discarded.
 */
export function beginTerm(writer: Writer, key: u64, at: usize, length: u32): bool {
  const run = <usize>writer.run;
  const keys = areaOf(run, KEYS);
  const terms = areaOf(run, TERMS);
  const tails = areaOf(run, TAILS);
  if (!reserve(keys, 8) || !reserve(terms, offsetof<Term>()) || !reserve(tails, 8 + <usize>length)) return false;
  if (!tails.used) tails.used = 4; // 0 means none.
  store<u64>(<usize>keys.at + keys.used, key);
  keys.used += 8;
  const term = changetype<Term>(<usize>terms.at + terms.used);
  term.tail = length > 8 ? tails.used : 0;
  term.count = 0;
  term.dead = 0;
  term.block = areaOf(run, BLOCKS).used / <u32>offsetof<Block>();
  term.impact = NO_IMPACT;
  terms.used += <u32>offsetof<Term>();
  if (term.tail) {
    store<u32>(<usize>tails.at + tails.used, length);
    memory.copy(<usize>tails.at + tails.used + 4, at, length);
    tails.used += 4 + length;
  }
  writer.base = changetype<Run>(run).first - 1;
  writer.impact = NO_IMPACT;
  return true;
}

/** Adds a posting to the term. `count` calls of `addPosition` must follow. */
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

/** Ends the term. A term without postings is removed. */
export function endTerm(writer: Writer): bool {
  if (writer.gathered && !writeBlock(writer)) return false;
  const term = currentTerm(writer);
  if (term.count) return true;
  const run = changetype<Run>(<usize>writer.run);
  run.keysUsed -= 8;
  run.termsUsed -= <u32>offsetof<Term>();
  if (term.tail) run.tailsUsed = term.tail;
  return true;
}
