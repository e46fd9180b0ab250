// The life of the codes of an index: those being made stand beside those in use and take their place by one word of its
// root, so a search that began by the old ones ends by them. Owner's thread only.
import { TABLE_BYTES } from '../../block-layout';
import { ROOT_CODES, ROOT_CODES_NEXT, ROOT_DIM, ROOT_WIDE_BYTES } from '../../layout';
import {
  CODES_AXES,
  CODES_AXES_2,
  CODES_AXES_4,
  CODES_BYTES,
  CODES_DIM,
  CODES_FIRST_2,
  CODES_FIRST_4,
  CODES_LEARNED,
  CODES_LINES,
  CODES_PARENTS,
  CODES_ROW_BLOCKS,
  CODES_ROW_BYTES,
  CODES_STEPS,
  CODES_WIDE_BYTES,
  CODES_WORK,
} from '../../codes/layout';
import { allocate, linesOf } from '../arena';
import { retire } from '../epochs';
import { addCodesBlock, parentAt, stepAt, unitAt } from './codes';
import { beginAxes } from './covariance';

/**
 * Makes codes of `rowBytes`, a multiple of 32, without rows beside those of an index, to be given slots when `learned`
 * axes are known. False when memory is full.
 */
export function createCodes(root: usize, learned: u32, rowBytes: u32): bool {
  const codes = allocate(CODES_BYTES);
  if (!codes) return false;
  memory.fill(codes, 0, CODES_BYTES);
  store<u32>(codes, load<u32>(root, ROOT_DIM), CODES_DIM);
  store<u32>(codes, learned, CODES_LEARNED);
  store<u32>(codes, rowBytes, CODES_ROW_BYTES);
  store<u32>(codes, load<u32>(root, ROOT_WIDE_BYTES), CODES_WIDE_BYTES);
  store<u32>(codes, linesOf(codes), CODES_LINES);
  store<u32>(root, <u32>codes, ROOT_CODES_NEXT);
  if (beginAxes(root)) return true;
  dropNext(root);
  return false;
}

/**
 * Gives the codes their slots, of 4 bits and of 2 bits, the first of each kind being the first of their axis. Three
 * words each stand at `plan`: the number of the axis among those learned, the slot that it refines or NONE, and as a
 * float its step in standard deviations; the first and the last stand in the place of unit and step until writeAxes.
 * False when memory is full.
 */
export function planCodes(root: usize, plan: usize, slots4: u32, slots2: u32, first4: u32, first2: u32): bool {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  const slots = slots4 + slots2;
  store<u32>(codes, slots4, CODES_AXES_4);
  store<u32>(codes, slots2, CODES_AXES_2);
  store<u32>(codes, first4, CODES_FIRST_4);
  store<u32>(codes, first2, CODES_FIRST_2);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>load<u32>(codes, CODES_WIDE_BYTES) * slots), CODES_AXES);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>16 * slots), CODES_STEPS);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>4 * slots), CODES_PARENTS);
  if (!load<u32>(codes, CODES_AXES) || !load<u32>(codes, CODES_STEPS) || !load<u32>(codes, CODES_PARENTS)) return false;
  for (let slot: u32 = 0; slot < slots; slot++, plan += 12) {
    store<u32>(unitAt(codes, slot), load<u32>(plan));
    store<u32>(parentAt(codes, slot), load<u32>(plan, 4));
    store<f32>(stepAt(codes, slot), load<f32>(plan, 8));
  }
  return true;
}

/** Puts the codes that have been made in the place of those before them, which go when no reader sees them any more. */
export function exchangeCodes(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES);
  atomic.store<u32>(root, load<u32>(root, ROOT_CODES_NEXT), ROOT_CODES);
  store<u32>(root, 0, ROOT_CODES_NEXT);
  dropBlocks(codes);
}

/** Gives up the codes that are being made. */
export function dropNext(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES_NEXT);
  store<u32>(root, 0, ROOT_CODES_NEXT);
  dropBlocks(codes);
}

/** Gives up the codes of an index: walks go by rows. */
export function dropCodes(root: usize): void {
  const codes: usize = load<u32>(root, ROOT_CODES);
  atomic.store<u32>(root, 0, ROOT_CODES);
  dropBlocks(codes);
}

function dropBlocks(codes: usize): void {
  if (!codes) return;
  for (let slot: usize = 0; slot < <usize>TABLE_BYTES; slot += 4) retire(load<u32>(codes + slot, CODES_ROW_BLOCKS));
  retire(load<u32>(codes, CODES_AXES));
  retire(load<u32>(codes, CODES_STEPS));
  retire(load<u32>(codes, CODES_PARENTS));
  retire(load<u32>(codes, CODES_WORK));
  retire(codes);
}
