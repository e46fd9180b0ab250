// Copies the postings of one term from the inputs of a merge, by rising ordinals, without those of dead chunks. It may
// stop after any posting. The owner's thread only.
import { FULL } from '../../layout';
import { readRun } from './bits';
import { atEnd, blockOf, countOf, Cursor, nextBlock, ordinalAt } from './cursor';
import { isLive } from './live';
import { cursorOf, Input, inputAt, Merge, writerOf } from './merge-state';
import { Segment } from './segment';
import { countAt, unpackOrdinals } from './unpack';
import { addPosition, addPosting } from './writer';
import { Writer } from './writer-state';

/** Copies postings of the input that has the lowest ordinal, until another has; answers how many, or FULL. */
export function copyRun(merge: usize, budget: i32): i32 {
  const state = changetype<Merge>(merge);
  let input: Input | null = null;
  let lowest: u32 = 0xffffffff;
  let limit: u32 = 0xffffffff;
  for (let i: u32 = 0; i < state.inputs; i++) {
    const other = inputAt(merge, i);
    if (!other.isActive) continue;
    const ordinal = nextOrdinal(cursorOf(other));
    if (!input || ordinal < lowest) {
      limit = lowest;
      lowest = ordinal;
      input = other;
    } else limit = min(limit, ordinal);
  }
  if (!input) return 0;
  return copyBelow(merge, input, limit, budget);
}

/** An ordinal that two inputs have is live in one of them at most. */
function copyBelow(merge: usize, input: Input, limit: u32, budget: i32): i32 {
  const state = changetype<Merge>(merge);
  const cursor = cursorOf(input);
  let copied: i32 = 0;
  while (copied++ < budget) {
    const ordinal = nextOrdinal(cursor);
    if (ordinal > limit) return copied;
    if (!copyPosting(writerOf(merge), cursor, ordinal)) return FULL;
    state.frontier = ordinal + 1;
    if (++cursor.i == countOf(cursor)) {
      nextBlock(cursor);
      cursor.position = 0;
    }
    if (!atEnd(cursor)) continue;
    input.isActive = 0;
    state.active--;
    return copied;
  }
  return copied;
}

/** @inline */
function nextOrdinal(cursor: Cursor): u32 {
  unpackOrdinals(cursor);
  return ordinalAt(cursor, cursor.i);
}

function copyPosting(writer: Writer, cursor: Cursor, ordinal: u32): bool {
  const count = countAt(cursor, cursor.i);
  const position = cursor.position;
  cursor.position += count;
  if (!isLive(cursor.segment, ordinal)) return true;
  if (!addPosting(writer, ordinal, count)) return false;
  const block = blockOf(cursor, cursor.block);
  const from = <usize>changetype<Segment>(cursor.segment).positions + block.positions;
  for (let i = position; i < position + count; i++) addPosition(writer, readRun(from, i, block.positionBits));
  return true;
}
