// A merge under way, in memory so that it can stop after any posting and go on later: its inputs with a cursor each,
// and the segment being written. The owner's thread only.
import { release } from '../arena';
import { releaseArea } from './area';
import { Cursor, CURSOR_BYTES } from './cursor';
import { retireSegment } from './segment';
import { positionsArea, Writer, WRITER_BYTES } from './writer-state';

@unmanaged
export class Merge {
  inputs: u32;
  /** Inputs that have the term being written; 0 between terms. */
  active: u32;
  /** Postings of the term below this ordinal have been written or left out. */
  frontier: u32;
}

@unmanaged
export class Input {
  segment: u32;
  /** Its next term. */
  term: u32;
  /** 1 while its postings of the term being written are not used up. */
  isActive: u32;
  spare: u32;
}

export const INPUTS_MAX: u32 = 8;
const WRITER: usize = 64;
const INPUTS: usize = WRITER + WRITER_BYTES;
const INPUT_BYTES: usize = offsetof<Input>() + CURSOR_BYTES;
export const MERGE_BYTES: usize = INPUTS + <usize>INPUTS_MAX * INPUT_BYTES;

/** @inline */
export function writerOf(merge: usize): Writer {
  return changetype<Writer>(merge + WRITER);
}

/** @inline */
export function inputAt(merge: usize, i: u32): Input {
  return changetype<Input>(merge + INPUTS + <usize>i * INPUT_BYTES);
}

/** @inline */
export function cursorOf(input: Input): Cursor {
  return changetype<Cursor>(changetype<usize>(input) + offsetof<Input>());
}

/** Also gives back the segment being written, where it still belongs to the merge. */
export function releaseMerge(merge: usize): void {
  const writer = writerOf(merge);
  releaseArea(positionsArea(writer));
  if (writer.segment) retireSegment(writer.segment);
  release(merge);
}
