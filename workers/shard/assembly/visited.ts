// Which rows a walk has met: one bit a row, cleared for each walk. At 60,000 rows that is 7.5 kB, which stays in the
// first cache; clearing it costs less than a hop. (An array of epochs would need no clearing, but 8 to 16 times the
// memory.)
import { SCRATCH_VISITED } from '../layout';
import { areaAt, ensureArea } from './scratch';

/** @inline */
function bytesFor(rows: u32): usize {
  return (<usize>rows >> 3) + 8;
}

export function ensureVisited(scratch: usize, rows: u32): bool {
  return ensureArea(scratch, SCRATCH_VISITED, bytesFor(rows));
}

export function clearVisited(scratch: usize, rows: u32): void {
  memory.fill(areaAt(scratch, SCRATCH_VISITED), 0, bytesFor(rows));
}

/** Marks the row; 1 when it had not been met, else 0: a number, so that a caller can count without a branch. @inline */
export function visit(scratch: usize, ordinal: u32): u32 {
  const byte = areaAt(scratch, SCRATCH_VISITED) + (<usize>ordinal >> 3);
  const before: u32 = load<u8>(byte);
  store<u8>(byte, before | (1 << (ordinal & 7)));
  return ((before >> (ordinal & 7)) & 1) ^ 1;
}
