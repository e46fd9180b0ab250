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
  CODES_LINES,
  CODES_ROW_BLOCKS,
  CODES_ROW_BYTES,
  CODES_STEPS,
  CODES_WIDE_BYTES,
  CODES_WORK,
} from '../../codes/layout';
import { allocate, linesOf } from '../arena';
import { retire } from '../epochs';
import { addCodesBlock } from './codes';
import { beginAxes } from './covariance';

/**
 * Makes codes without rows beside those of an index, of `axes4` axes at 4 bits (a multiple of 32) and `axes2` at 2 (of
 * 64). False when memory is full.
 */
export function createCodes(root: usize, axes4: u32, axes2: u32): bool {
  const wideBytes = load<u32>(root, ROOT_WIDE_BYTES);
  const codes = allocate(CODES_BYTES);
  if (!codes) return false;
  memory.fill(codes, 0, CODES_BYTES);
  store<u32>(codes, load<u32>(root, ROOT_DIM), CODES_DIM);
  store<u32>(codes, axes4, CODES_AXES_4);
  store<u32>(codes, axes2, CODES_AXES_2);
  store<u32>(codes, (axes4 >> 1) + (axes2 >> 2), CODES_ROW_BYTES);
  store<u32>(codes, wideBytes, CODES_WIDE_BYTES);
  store<u32>(codes, linesOf(codes), CODES_LINES);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>wideBytes * (axes4 + axes2)), CODES_AXES);
  store<u32>(codes, <u32>addCodesBlock(codes, <u64>16 * (axes4 + axes2)), CODES_STEPS);
  store<u32>(root, <u32>codes, ROOT_CODES_NEXT);
  if (load<u32>(codes, CODES_AXES) && load<u32>(codes, CODES_STEPS) && beginAxes(root)) return true;
  dropNext(root);
  return false;
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
  retire(load<u32>(codes, CODES_WORK));
  retire(codes);
}
