// A segment being written: where the writer stands, and the postings of the block it is gathering. One block of memory,
// within a merge or in the scratch while a head is frozen. The owner's thread only.
import { Area } from './area';
import { Impact } from './impact';
import { Term, termAt, termCount } from './segment';

@unmanaged
export class Writer {
  segment: u32;
  /** Lengths of chunks by ordinal. */
  lengths: u32;
  /** Postings gathered, and the ordinal that they all come after. */
  gathered: u32;
  base: u32;
  /** Most occurrences and greatest position among them. */
  most: u32;
  furthest: u32;
  impact: Impact;
  /** Positions of the gathered postings, u32 each. */
  positions: u32;
  positionsBytes: u32;
  positionsUsed: u32;
}

/** Buffers of the gathered ordinals, and of their counts less one. */
export const ORDINALS: usize = 64;
export const COUNTS: usize = ORDINALS + 4 * 132;
export const WRITER_BYTES: usize = COUNTS + 4 * 132;

// Areas of a segment, by number.
export const KEYS: usize = 0;
export const TERMS: usize = 1;
export const BLOCKS: usize = 2;
export const TAILS: usize = 3;
export const POSTINGS: usize = 4;
export const POSITIONS: usize = 5;

/** @inline */
export function positionsArea(writer: Writer): Area {
  return changetype<Area>(changetype<usize>(writer) + offsetof<Writer>('positions'));
}

/** @inline */
export function currentTerm(writer: Writer): Term {
  return termAt(writer.segment, termCount(writer.segment) - 1);
}
