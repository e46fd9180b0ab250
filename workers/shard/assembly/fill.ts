// Fills the lists of level 0. The rule of choice (select.ts) leaves two fifths of their slots free; with links to the
// nearest nodes in them a walk finds as much in fewer hops. Done where no row waits for links, a slice at a time, again
// when a third of the nodes is new: a node that is linked makes the full lists it comes to be chosen anew (connect.ts),
// which empties them again. Owner's thread only.
import { FILL_EF, FILL_PATIENCE, FILLED_LINKS, ROOT_FILLING, ROOT_UNFILLED } from '../fill-layout';
import { LINKS_0, ROOT_ROWS_END, SCRATCH_BEST } from '../layout';
import { clearBest, sortBest } from './best';
import { isCopy } from './copies';
import { setOperand } from './distance';
import { isLinked } from './graph';
import { beginGuide } from './guide';
import { ordinalOf } from './keys';
import { countLinks, join } from './links';
import { ensureNear } from './near';
import { ensureQuery, queryIn } from './query';
import { offerNear } from './rescore';
import { isLive, listAt } from './rows';
import { areaAt } from './scratch';
import { clearVisited, ensureVisited } from './visited';
import { walk } from './walk';

/**
 * Fills the lists of up to `most` rows. Called where it is due (index-state.ts); what memory has no room for is left
 * out.
 */
export function fillSome(scratch: usize, root: usize, most: u32): void {
  const filling = load<u32>(root, ROOT_FILLING);
  if (filling == 0) store<u32>(root, 0, ROOT_UNFILLED);
  const rowsEnd = load<u32>(root, ROOT_ROWS_END);
  let next = max<u32>(filling, 1) - 1;
  const hasRoom = ensureQuery(scratch, root) && ensureVisited(scratch, rowsEnd) && ensureNear(scratch, FILL_EF);
  for (let left = most; hasRoom && left > 0 && next < rowsEnd; left--, next++) fill(scratch, root, next, rowsEnd);
  store<u32>(root, hasRoom && next < rowsEnd ? next + 1 : 0, ROOT_FILLING);
}

function fill(scratch: usize, root: usize, ordinal: u32, rowsEnd: u32): void {
  if (!isLinked(root, ordinal) || isCopy(root, ordinal) || !isLive(root, ordinal)) return;
  const list = listAt(root, ordinal, 0);
  if (countLinks(list, LINKS_0) >= <u32>FILLED_LINKS) return;
  setOperand(root, ordinal, queryIn(scratch));
  beginGuide(scratch, root, false);
  clearVisited(scratch, rowsEnd);
  const found = walk(scratch, root, ordinal, 0, FILL_EF, rowsEnd, false, LINKS_0, FILL_PATIENCE);
  clearBest(scratch, FILL_EF);
  offerNear(scratch, root, found, FILL_EF, true);
  const near = sortBest(scratch);
  for (let i: u32 = 0; i < near && countLinks(list, LINKS_0) < <u32>LINKS_0; i++) {
    const other = ordinalOf(load<u64>(areaAt(scratch, SCRATCH_BEST) + ((<usize>i) << 3)));
    if (other != ordinal) join(root, 0, ordinal, other);
  }
}
