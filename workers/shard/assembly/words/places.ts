// Places where a phrase may begin: a chunk's ordinal and a position in it, as one number, in rising order. Gathered
// from the postings of one token and sifted by those of others. Used by phrase.ts.
import { readRun, unpackOne } from './bits';
import { atEnd, blockOf, countOf, Cursor, nextBlock, ordinalAt, weightsOf } from './cursor';
import { isLive } from './live';
import { Segment } from './segment';
import { countsAt, seek, unpackOrdinals } from './unpack';

/** Room for the positions of any one chunk, and of many. */
export const PLACES_MAX: u32 = 131072;

/** Takes places from the cursor on, for a token that stands `offset` behind the beginning; answers how many. */
export function gather(cursor: Cursor, offset: u32, places: usize): u32 {
  let found: u32 = 0;
  while (!atEnd(cursor)) {
    unpackOrdinals(cursor);
    unpackStarts(cursor);
    const ordinal = ordinalAt(cursor, cursor.i);
    const start = startOf(cursor, cursor.i);
    const end = startOf(cursor, cursor.i + 1);
    if (found + end - start > PLACES_MAX) return found;
    if (isLive(cursor.segment, ordinal)) found = addPlaces(cursor, ordinal, start, end, offset, places, found);
    if (++cursor.i == countOf(cursor)) nextBlock(cursor);
  }
  return found;
}

function addPlaces(cursor: Cursor, ordinal: u32, start: u32, end: u32, offset: u32, places: usize, found: u32): u32 {
  for (let i = start; i < end; i++) {
    const position = positionAt(cursor, i);
    if (position < offset) continue;
    store<u64>(places + ((<usize>found) << 3), ((<u64>ordinal) << 32) | (position - offset));
    found++;
  }
  return found;
}

/** Keeps the places that have the cursor's token `offset` behind them; answers how many. */
export function sift(cursor: Cursor, offset: u32, places: usize, count: u32): u32 {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < count && !atEnd(cursor); i++) {
    const place = load<u64>(places + ((<usize>i) << 3));
    if (!stands(cursor, <u32>(place >> 32), <u32>place + offset)) continue;
    store<u64>(places + ((<usize>kept) << 3), place);
    kept++;
  }
  return kept;
}

/** Whether the cursor's token stands at a position of a chunk. Asked in rising order of chunks. */
export function stands(cursor: Cursor, ordinal: u32, position: u32): bool {
  seek(cursor, ordinal);
  if (atEnd(cursor) || ordinalAt(cursor, cursor.i) != ordinal) return false;
  unpackStarts(cursor);
  let low = startOf(cursor, cursor.i);
  let high = startOf(cursor, cursor.i + 1);
  while (low < high) {
    const middle = (low + high) >> 1;
    const found = positionAt(cursor, middle);
    if (found == position) return true;
    if (found < position) low = middle + 1;
    else high = middle;
  }
  return false;
}

/** Where the positions of each posting of the block begin, in the place of weights. */
function unpackStarts(cursor: Cursor): void {
  if (cursor.weighed == cursor.block + 1) return;
  const block = blockOf(cursor, cursor.block);
  const counts = countsAt(cursor, block);
  let sum: u32 = 0;
  for (let i: u32 = 0; i < countOf(cursor); i++) {
    store<u32>(weightsOf(cursor) + ((<usize>i) << 2), sum);
    sum += unpackOne(counts, i, block.countBits) + 1;
  }
  store<u32>(weightsOf(cursor) + ((<usize>countOf(cursor)) << 2), sum);
  cursor.weighed = cursor.block + 1;
}

/** @inline */
function startOf(cursor: Cursor, i: u32): u32 {
  return load<u32>(weightsOf(cursor) + ((<usize>i) << 2));
}

/** @inline */
function positionAt(cursor: Cursor, i: u32): u32 {
  const block = blockOf(cursor, cursor.block);
  return readRun(<usize>changetype<Segment>(cursor.segment).positions + block.positions, i, block.positionBits);
}
