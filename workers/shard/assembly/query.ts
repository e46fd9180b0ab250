// What a search or an insertion looks for, in the scratch of its thread: a vector of 16-bit numbers, beside it room for
// another that is compared with rows on the way, and room for what codes are scored by. Any thread.
import { LINE_BYTES, ROOT_WIDE_BYTES, SCRATCH_INPUT, SCRATCH_QUERY } from '../layout';
import { FOLDED_BYTES_MAX } from '../codes/layout';
import { setQuery } from './distance';
import { areaAt, ensureArea } from './scratch';

/** Makes room for all three. False when memory is full. */
export function ensureQuery(scratch: usize, root: usize): bool {
  return ensureArea(
    scratch,
    SCRATCH_QUERY,
    (<usize>load<u32>(root, ROOT_WIDE_BYTES) + LINE_BYTES) * 2 + FOLDED_BYTES_MAX,
  );
}

/** A line in front has room for its scale, as that of the operand. @inline */
export function queryIn(scratch: usize): usize {
  return areaAt(scratch, SCRATCH_QUERY) + LINE_BYTES;
}

/** @inline */
export function operandIn(scratch: usize, root: usize): usize {
  return queryIn(scratch) + <usize>load<u32>(root, ROOT_WIDE_BYTES) + LINE_BYTES;
}

/** @inline */
export function foldedIn(scratch: usize, root: usize): usize {
  return operandIn(scratch, root) + <usize>load<u32>(root, ROOT_WIDE_BYTES);
}

/** Scales the input area to unit length; answers the address of the query, or 0 when memory is full. */
export function prepareQuery(scratch: usize, root: usize): usize {
  if (!ensureQuery(scratch, root)) return 0;
  setQuery(areaAt(scratch, SCRATCH_INPUT), root, queryIn(scratch));
  return queryIn(scratch);
}
