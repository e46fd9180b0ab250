// Packs a block of postings into a segment: ordinals as gaps or as a bitmap, counts in as few bits as they need,
// positions one after the other. Used by the writer, in the owner's thread.
import { Area, reserve } from './area';
import { bitsOf, pack, packedBytes, packRun, runBytes } from './bits';
import { joinImpacts, NO_IMPACT } from './impact';
import { areaOf, Block, BLOCK } from './segment';
import { bitmapBytes } from './unpack';
import { BLOCKS, COUNTS, currentTerm, ORDINALS, POSITIONS, POSTINGS, Writer } from './writer-state';

/** Packs the gathered postings. */
export function writeBlock(writer: Writer): bool {
  const segment = <usize>writer.segment;
  const blocks = areaOf(segment, BLOCKS);
  const postings = areaOf(segment, POSTINGS);
  const positions = areaOf(segment, POSITIONS);
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

/** Ordinals, and behind them how often the term occurs in each. */
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
 * As a bitmap where that is not much larger than the packed gaps: one ordinal is looked up in it without unpacking all.
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

/** Packing takes four numbers at a time. @inline */
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
