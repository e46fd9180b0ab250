// Links a row into the graph (HNSW, Malkov & Yashunin 2016, algorithm 1). Owner's thread only; searches go on
// meanwhile: the node's own lists are complete before any other node leads to it.
import { ROOT_UNFILLED } from '../fill-layout';
import {
  CHOSEN,
  EF_CONSTRUCTION,
  LINKS_UP,
  NONE,
  RESCORED,
  ROOT_GRAPH,
  ROOT_LINKED,
  ROOT_ROWS_END,
  SCRATCH_BEST,
} from '../layout';
import { clearBest, sortBest } from './best';
import { addLink } from './connect';
import { clearCopies, findOriginal, hang, NO_COPY } from './copies';
import { setOperand } from './distance';
import { levelOf, setEntry } from './graph';
import { beginGuide } from './guide';
import { ordinalOf } from './keys';
import { clearList, linkIn, setLink, widthOf } from './links';
import { ensureNear, nearAt, NEAR_LIVE } from './near';
import { ensureQuery, queryIn } from './query';
import { ensureNode, listAt, MARK, nodeWordsAt } from './rows';
import { offerNear } from './rescore';
import { areaAt } from './scratch';
import { choose } from './select';
import { clearVisited, ensureVisited } from './visited';
import { descend, entryOf, walk } from './walk';

/** Links a live row that is not in the graph. False, and nothing changed, when memory is full. */
export function link(scratch: usize, root: usize, ordinal: u32): bool {
  if (!prepare(scratch, root, ordinal)) return false;
  const entry = entryOf(root);
  if (entry == NONE) setEntry(root, ordinal, levelOf(ordinal));
  else linkFrom(scratch, root, ordinal, entry);
  store<u32>(nodeWordsAt(root, ordinal), load<u32>(root, ROOT_GRAPH), MARK);
  store<u32>(root, load<u32>(root, ROOT_LINKED) + 1, ROOT_LINKED);
  store<u32>(root, load<u32>(root, ROOT_UNFILLED) + 1, ROOT_UNFILLED);
  return true;
}

function linkFrom(scratch: usize, root: usize, ordinal: u32, entry: u32): void {
  const level = levelOf(ordinal);
  const top = min(level, entry >> 28);
  const candidates = chooseLists(scratch, root, ordinal, top, entry);
  const original = findOriginal(root, ordinal, areaAt(scratch, SCRATCH_BEST), candidates);
  if (original != NO_COPY) {
    clearLists(root, ordinal);
    hang(root, ordinal, original);
    return;
  }
  for (let at: u32 = 0; at <= top; at++) publishLinks(scratch, root, ordinal, at);
  if (level > entry >> 28) setEntry(root, ordinal, level);
}

/** Makes the room a node needs and empties its lists. All that can fail happens here. */
function prepare(scratch: usize, root: usize, ordinal: u32): bool {
  if (
    !ensureNode(root, ordinal) ||
    !ensureQuery(scratch, root) ||
    !ensureVisited(scratch, load<u32>(root, ROOT_ROWS_END)) ||
    !ensureNear(scratch, EF_CONSTRUCTION)
  )
    return false;
  clearLists(root, ordinal);
  clearCopies(root, ordinal);
  return true;
}

function clearLists(root: usize, ordinal: u32): void {
  const level = levelOf(ordinal);
  for (let at: u32 = 0; at <= level; at++) clearList(listAt(root, ordinal, at), widthOf(at));
}

/**
 * Writes the node's own lists from level `top` down to 0 and answers the number of candidates for the last, which stay
 * among the best.
 */
function chooseLists(scratch: usize, root: usize, ordinal: u32, top: u32, entry: u32): u32 {
  setOperand(root, ordinal, queryIn(scratch));
  beginGuide(scratch, root, false);
  const rowsEnd = load<u32>(root, ROOT_ROWS_END);
  let start = descend(scratch, root, entry, top);
  let candidates: u32 = 0;
  for (let at = <i32>top; at >= 0; at--) {
    clearVisited(scratch, rowsEnd);
    candidates = rescore(
      scratch,
      root,
      walk(scratch, root, start, at, EF_CONSTRUCTION, rowsEnd, false, LINKS_UP, NONE),
    );
    start = ordinalOf(load<u64>(areaAt(scratch, SCRATCH_BEST)));
    const chosen = choose(scratch, root, areaAt(scratch, SCRATCH_BEST), candidates, LINKS_UP);
    const list = listAt(root, ordinal, at);
    for (let i: u32 = 0; i < chosen; i++) setLink(list, i, ordinalOf(load<u64>(scratch + ((<usize>i) << 3), CHOSEN)));
  }
  return candidates;
}

/**
 * Sorts the best of `found` candidates by the scores of their rows, and answers their number. Where few are live,
 * removed nodes serve as well: as way-points.
 */
function rescore(scratch: usize, root: usize, found: u32): u32 {
  let live: u32 = 0;
  for (let place: u32 = 0; place < found; place++) live += u32((nearAt(scratch, place) & NEAR_LIVE) != 0);
  clearBest(scratch, RESCORED);
  offerNear(scratch, root, found, RESCORED, live >= <u32>LINKS_UP);
  return sortBest(scratch);
}

/**
 * Makes the links of a list mutual. From the last to the first: a neighbour that refuses takes itself out, and the last
 * moves into its slot.
 */
function publishLinks(scratch: usize, root: usize, ordinal: u32, level: u32): void {
  const list = listAt(root, ordinal, level);
  for (let i = <i32>widthOf(level) - 1; i >= 0; i--) {
    const other = linkIn(list, i);
    if (other != NONE) addLink(scratch, root, other, level, ordinal);
  }
}
