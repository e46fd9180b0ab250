// A bitmap of ordinals as an answer, one bit an ordinal: made in the output of a scratch by whoever looks for chunks without ranking
// them. Any thread.
import { SCRATCH_OUTPUT } from '../../layout';
import { areaAt, ensureArea } from '../scratch';
import { atEnd, countOf, Cursor, nextBlock, openCursor, ordinalAt } from './cursor';
import { isLive } from './live';
import { unpackOrdinals } from './unpack';
import { Words } from './words';

/** Words of a bitmap for all ordinals of the index. */
export function bitmapWords(words: Words): u32 {
  return (words.end + 31) >> 5;
}

/** An empty bitmap as the output; its address, or 0 when memory is full. */
export function openBitmap(scratch: usize, words: Words): usize {
  const bytes = <usize>(bitmapWords(words) + 2) << 2;
  if (!ensureArea(scratch, SCRATCH_OUTPUT, bytes)) return 0;
  const at = areaAt(scratch, SCRATCH_OUTPUT);
  memory.fill(at, 0, bytes);
  return at;
}

@inline export function setBit(bitmap: usize, ordinal: u32): void {
  const word = bitmap + (<usize>(ordinal >> 5) << 2);
  store<u32>(word, load<u32>(word) | (1 << (ordinal & 31)));
}

/** Sets the bits of all live chunks that have the term. */
export function setTerm(bitmap: usize, cursor: Cursor, segment: usize, term: u32): void {
  for (openCursor(cursor, segment, term); !atEnd(cursor); nextBlock(cursor)) {
    unpackOrdinals(cursor);
    for (let i: u32 = 0; i < countOf(cursor); i++) {
      const ordinal = ordinalAt(cursor, i);
      if (isLive(segment, ordinal)) setBit(bitmap, ordinal);
    }
  }
}
