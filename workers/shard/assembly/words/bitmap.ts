// A bitmap of ordinals as an answer, one bit an ordinal: made in the output of a scratch by whoever looks for chunks
// without ranking them. Any thread.
import { SCRATCH_OUTPUT } from '../../layout';
import { areaAt, ensureArea } from '../scratch';
import { atEnd, baseOf, blockOf, countOf, Cursor, nextBlock, openCursor, ordinalAt } from './cursor';
import { isLive } from './live';
import { Query } from './query';
import { termAt } from './segment';
import { bitmapAt, bitmapBytes, unpackOrdinals } from './unpack';

/** Words of a bitmap for all ordinals that a question meets. */
export function bitmapWords(query: Query): u32 {
  return (query.end + 31) >> 5;
}

/** An empty bitmap as the output; its address, or 0 when memory is full. */
export function openBitmap(scratch: usize, query: Query): usize {
  const bytes = (<usize>(bitmapWords(query) + 2)) << 2;
  if (!ensureArea(scratch, SCRATCH_OUTPUT, bytes)) return 0;
  const at = areaAt(scratch, SCRATCH_OUTPUT);
  memory.fill(at, 0, bytes);
  return at;
}

/** @inline */
export function setBit(bitmap: usize, ordinal: u32): void {
  const word = bitmap + ((<usize>(ordinal >> 5)) << 2);
  store<u32>(word, load<u32>(word) | (1 << (ordinal & 31)));
}

/** Sets the bits of all live chunks that have the term. */
export function setTerm(bitmap: usize, cursor: Cursor, segment: usize, term: u32): void {
  const isWhole = termAt(segment, term).dead == 0;
  for (openCursor(cursor, segment, term); !atEnd(cursor); nextBlock(cursor)) {
    if (isWhole && blockOf(cursor, cursor.block).isBitmap) {
      joinBits(bitmap, cursor);
      continue;
    }
    unpackOrdinals(cursor);
    for (let i: u32 = 0; i < countOf(cursor); i++) {
      const ordinal = ordinalAt(cursor, i);
      if (isWhole || isLive(segment, ordinal)) setBit(bitmap, ordinal);
    }
  }
}

/** Takes over a block that is a bitmap itself, from its own first ordinal on. */
function joinBits(bitmap: usize, cursor: Cursor): void {
  const base = baseOf(cursor, cursor.block);
  const from = bitmapAt(cursor);
  const bytes = bitmapBytes(blockOf(cursor, cursor.block).last - base);
  const shift = <u64>((base + 1) & 63);
  let to = bitmap + (((base + 1) & ~63) >> 3);
  for (let at = from; at < from + bytes; at += 8, to += 8) {
    const bits = load<u64>(at);
    store<u64>(to, load<u64>(to) | (bits << shift));
    const above = shift ? bits >> (64 - shift) : 0;
    // Behind the last chunk there may be no room, nor anything to write.
    if (above) store<u64>(to, load<u64>(to, 8) | above, 8);
  }
}
