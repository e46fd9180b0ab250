// Builds the graph (HNSW, Malkov & Yashunin 2016): links rows into it, keeps the queue of rows to relink, and densifies
// the graph by filling neighbour lists that have free slots. Owner only. Searches continue meanwhile: the lists of a
// node are complete before any other node leads to it.
import {
  CANDIDATES,
  CHOSEN,
  EDGES_0,
  EDGES_UP,
  EF_CONSTRUCTION,
  ENTRY_LEVEL_SHIFT,
  NODE_MARK,
  NONE,
  QUEUE_ROWS,
  ROOT_DENSIFYING,
  ROOT_GRAPH,
  ROOT_INDEXED,
  ROOT_INDEXED_TO,
  ROOT_QUEUE,
  ROOT_QUEUE_HEAD,
  ROOT_QUEUE_TAIL,
  ROOT_ROWS_END,
  ROOT_UNDENSIFIED,
  SCRATCH_BEST,
} from '../../memory/layout';
import { addBlock, ensureNode, hasRow, isLive, listAt, nodeWordsAt } from '../memory/row-blocks';
import { areaAt } from '../memory/scratch';
import { clearBest, keyOf, ordinalOf, scoreOf, sortBest } from '../memory/top-k';
import { cosine, ensureQuery, operandIn, queryIn, setOperand } from '../quantization/distance';
import { prepareEstimator } from '../quantization/distance-estimator';
import { NEAR_LIVE, clearVisited, ensureNear, ensureVisited, nearAt, offerNear } from './candidates';
import { clearDuplicates, findOriginal, hang, isDuplicate } from './duplicate-vectors';
import {
  clearList,
  countEdges,
  edgeIn,
  entryOf,
  isIndexed,
  join,
  levelOf,
  resetGraph,
  setEdge,
  setEntry,
  unindexedCount,
  unlinkOne,
  widthOf,
} from './graph';
import { descend, searchLevel } from './graph-search';

/**
 * Selects neighbours that are near the row but not near each other (Malkov & Yashunin 2016, algorithm 4, in the form of
 * hnswlib's getNeighborsByHeuristic2). `keys` are sorted best first, with cosines to one row as scores. Writes up to
 * `max` of the `count` keys to CHOSEN and returns how many. A key is passed over when a selected row is nearer to it
 * than the row itself.
 */
function choose(scratch: usize, root: usize, keys: usize, count: u32, max: u32): u32 {
  let chosen: u32 = 0;
  for (let i: u32 = 0; i < count && chosen < max; i++) {
    const key = load<u64>(keys + ((<usize>i) << 3));
    if (isCovered(scratch, root, key, chosen)) continue;
    store<u64>(scratch + ((<usize>chosen) << 3), key, CHOSEN);
    chosen++;
  }
  return chosen;
}

/** @inline */
function isCovered(scratch: usize, root: usize, key: u64, chosen: u32): bool {
  const vector = setOperand(root, ordinalOf(key), operandIn(scratch, root));
  for (let i: u32 = 0; i < chosen; i++) {
    const other = ordinalOf(load<u64>(scratch + ((<usize>i) << 3), CHOSEN));
    if (cosine(root, vector, other) > scoreOf(key)) return true;
  }
  return false;
}

/** Sorts `count` keys in place, best first, by insertion. */
function sortKeys(keys: usize, count: u32): void {
  for (let i: u32 = 1; i < count; i++) {
    const key = load<u64>(keys + ((<usize>i) << 3));
    let place = i;
    for (; place > 0 && load<u64>(keys + ((<usize>(place - 1)) << 3)) < key; place--) {
      store<u64>(keys + ((<usize>place) << 3), load<u64>(keys + ((<usize>(place - 1)) << 3)));
    }
    store<u64>(keys + ((<usize>place) << 3), key);
  }
}

/**
 * Adds `added` to the list of `ordinal`, the second half of an edge: `ordinal` must be in the list of `added` already.
 * A full list is selected anew. The nodes dropped from it lose `ordinal` from their lists, so edges stay symmetric;
 * `added` may be one of them.
 */
function addEdge(scratch: usize, root: usize, ordinal: u32, level: u32, added: u32): void {
  const list = listAt(root, ordinal, level);
  const width = widthOf(level);
  const count = countEdges(list, width);
  if (count < width) setEdge(list, count, added);
  else chooseAnew(scratch, root, ordinal, level, added);
}

function chooseAnew(scratch: usize, root: usize, ordinal: u32, level: u32, added: u32): void {
  const list = listAt(root, ordinal, level);
  const width = widthOf(level);
  const vector = setOperand(root, ordinal, operandIn(scratch, root));
  const keys = scratch + CANDIDATES;
  for (let i: u32 = 0; i <= width; i++) {
    const other = i < width ? edgeIn(list, i) : added;
    store<u64>(keys + ((<usize>i) << 3), keyOf(cosine(root, vector, other), other));
  }
  sortKeys(keys, width + 1);
  const chosen = choose(scratch, root, keys, width + 1, width);
  const dropped = keepEdges(scratch, list, width, chosen);
  for (let i: u32 = 0; i < dropped; i++) {
    const candidate = ordinalOf(load<u64>(keys + ((<usize>i) << 3)));
    unlinkOne(root, candidate, level, ordinal);
    if (edgeIn(listAt(root, candidate, level), 0) == NONE) rehang(scratch, root, candidate, level, chosen);
  }
}

/**
 * Writes a list of the selected keys and of the nearest others, up to three quarters of the width. Full lists find more
 * (see `densifySome`), and a free quarter delays the next selection. Moves the dropped keys to the front of CANDIDATES
 * and returns how many. Both arrays are sorted alike, so one pass is enough.
 */
function keepEdges(scratch: usize, list: usize, width: u32, chosen: u32): u32 {
  const keys = scratch + CANDIDATES;
  const most = width - (width >> 2);
  let others = max(most, chosen) - chosen;
  let kept: u32 = 0,
    next: u32 = 0;
  for (let i: u32 = 0; i <= width; i++) {
    const key = load<u64>(keys + ((<usize>i) << 3));
    const isChosen = next < chosen && ordinalOf(key) == chosenAt(scratch, next);
    if (isChosen) next++;
    else if (others > 0) others--;
    else {
      store<u64>(keys + ((<usize>(i - kept)) << 3), key);
      continue;
    }
    setEdge(list, kept++, ordinalOf(key));
  }
  for (let slot = kept; slot < width; slot++) setEdge(list, slot, NONE);
  return width + 1 - kept;
}

/**
 * Gives a node that has lost its last edge, which happens to one in some thousands, an edge to a selected node with
 * room. Otherwise no search would find it.
 */
function rehang(scratch: usize, root: usize, ordinal: u32, level: u32, chosen: u32): void {
  for (let i: u32 = 0; i < chosen; i++) if (join(root, level, ordinal, chosenAt(scratch, i))) return;
}

/** @inline */
function chosenAt(scratch: usize, place: u32): u32 {
  return ordinalOf(load<u64>(scratch + ((<usize>place) << 3), CHOSEN));
}

/** Links a live row that is not in the graph. False, with nothing changed, when memory is full. */
function insert(scratch: usize, root: usize, ordinal: u32): bool {
  if (!prepare(scratch, root, ordinal)) return false;
  const entry = entryOf(root);
  if (entry == NONE) setEntry(root, ordinal, levelOf(ordinal));
  else insertFrom(scratch, root, ordinal, entry);
  store<u32>(nodeWordsAt(root, ordinal), load<u32>(root, ROOT_GRAPH), NODE_MARK);
  store<u32>(root, load<u32>(root, ROOT_INDEXED) + 1, ROOT_INDEXED);
  store<u32>(root, load<u32>(root, ROOT_UNDENSIFIED) + 1, ROOT_UNDENSIFIED);
  return true;
}

function insertFrom(scratch: usize, root: usize, ordinal: u32, entry: u32): void {
  const level = levelOf(ordinal);
  const top = min(level, entry >> ENTRY_LEVEL_SHIFT);
  const candidates = chooseLists(scratch, root, ordinal, top, entry);
  const original = findOriginal(root, ordinal, areaAt(scratch, SCRATCH_BEST), candidates);
  if (original != NONE) {
    clearLists(root, ordinal);
    hang(root, ordinal, original);
    return;
  }
  for (let at: u32 = 0; at <= top; at++) publishEdges(scratch, root, ordinal, at);
  if (level > entry >> ENTRY_LEVEL_SHIFT) setEntry(root, ordinal, level);
}

/** Makes room for the node and for the search, and empties the node's lists. Only this step of linking can fail. */
function prepare(scratch: usize, root: usize, ordinal: u32): bool {
  if (
    !ensureNode(root, ordinal) ||
    !ensureQuery(scratch, root) ||
    !ensureVisited(scratch, load<u32>(root, ROOT_ROWS_END)) ||
    !ensureNear(scratch, EF_CONSTRUCTION)
  )
    return false;
  clearLists(root, ordinal);
  clearDuplicates(root, ordinal);
  return true;
}

function clearLists(root: usize, ordinal: u32): void {
  const level = levelOf(ordinal);
  for (let at: u32 = 0; at <= level; at++) clearList(listAt(root, ordinal, at), widthOf(at));
}

/**
 * Selects the node's own neighbours from level `top` down to 0. Returns the number of candidates on level 0, which stay
 * sorted in BEST.
 */
function chooseLists(scratch: usize, root: usize, ordinal: u32, top: u32, entry: u32): u32 {
  setOperand(root, ordinal, queryIn(scratch));
  prepareEstimator(scratch, root, false);
  const rowsEnd = load<u32>(root, ROOT_ROWS_END);
  let start = descend(scratch, root, entry, top);
  let candidates: u32 = 0;
  for (let at = <i32>top; at >= 0; at--) {
    clearVisited(scratch, rowsEnd);
    candidates = rescore(
      scratch,
      root,
      searchLevel(scratch, root, start, at, EF_CONSTRUCTION, rowsEnd, false, EDGES_UP, NONE),
    );
    start = ordinalOf(load<u64>(areaAt(scratch, SCRATCH_BEST)));
    const chosen = choose(scratch, root, areaAt(scratch, SCRATCH_BEST), candidates, EDGES_UP);
    const list = listAt(root, ordinal, at);
    for (let i: u32 = 0; i < chosen; i++) setEdge(list, i, ordinalOf(load<u64>(scratch + ((<usize>i) << 3), CHOSEN)));
  }
  return candidates;
}

/** The number of candidates of an insertion that are scored by their rows and from which neighbours are selected. */
const RESCORED = 80;

/**
 * Sorts the best of `found` candidates by the exact scores of their rows and returns their number. If few of them are
 * live, removed nodes are used too, as way-points.
 */
function rescore(scratch: usize, root: usize, found: u32): u32 {
  let live: u32 = 0;
  for (let place: u32 = 0; place < found; place++) live += u32((nearAt(scratch, place) & NEAR_LIVE) != 0);
  clearBest(scratch, RESCORED);
  offerNear(scratch, root, found, RESCORED, live >= <u32>EDGES_UP);
  return sortBest(scratch);
}

/**
 * Adds the node to the lists of its neighbours. The loop runs from the last slot to the first, because a neighbour that
 * rejects the edge is removed, and the last neighbour moves into its slot.
 */
function publishEdges(scratch: usize, root: usize, ordinal: u32, level: u32): void {
  const list = listAt(root, ordinal, level);
  for (let i = <i32>widthOf(level) - 1; i >= 0; i--) {
    const other = edgeIn(list, i);
    if (other != NONE) addEdge(scratch, root, other, level, ordinal);
  }
}

// Unindexed rows: those at or above `ROOT_INDEXED_TO`, and those in the relink queue, which were published again below
// it. Every search scans both, so its result covers all rows.

/** The entry of the relink queue with a running number. @inline */
export function queued(root: usize, number: u32): u32 {
  return atomic.load<u32>(<usize>load<u32>(root, ROOT_QUEUE) + ((<usize>(number & (QUEUE_ROWS - 1))) << 2));
}

/**
 * Enters a row that is about to be published below `ROOT_INDEXED_TO` into the relink queue, so that searches scan it.
 * When the queue is full, its first row is indexed; if that fails because memory is full, the graph is dropped, which
 * needs no memory.
 */
export function enqueue(scratch: usize, root: usize, ordinal: u32): void {
  if (ordinal >= load<u32>(root, ROOT_INDEXED_TO)) return;
  const tail = load<u32>(root, ROOT_QUEUE_TAIL);
  const full = tail - load<u32>(root, ROOT_QUEUE_HEAD) == QUEUE_ROWS;
  if (full && !insertQueued(scratch, root)) {
    resetGraph(root);
    return;
  }
  atomic.store<u32>(<usize>load<u32>(root, ROOT_QUEUE) + ((<usize>(tail & (QUEUE_ROWS - 1))) << 2), ordinal);
  atomic.store<u32>(root, tail + 1, ROOT_QUEUE_TAIL);
}

/**
 * Links up to `max` rows, those in the relink queue first. Returns the number of live rows still to be linked; 0 also
 * when memory is full.
 */
export function indexSome(scratch: usize, root: usize, max: u32): u32 {
  if (unindexedCount(root) == 0 || !ensureQueue(root)) return 0;
  let left = max;
  for (; left > 0 && load<u32>(root, ROOT_QUEUE_HEAD) != load<u32>(root, ROOT_QUEUE_TAIL); left--) {
    if (!insertQueued(scratch, root)) return 0;
  }
  for (; left > 0 && load<u32>(root, ROOT_INDEXED_TO) < load<u32>(root, ROOT_ROWS_END); left--) {
    const ordinal = load<u32>(root, ROOT_INDEXED_TO);
    if (!insertIfLive(scratch, root, ordinal)) return 0;
    atomic.store<u32>(root, ordinal + 1, ROOT_INDEXED_TO);
  }
  return unindexedCount(root);
}

function insertQueued(scratch: usize, root: usize): bool {
  const head = load<u32>(root, ROOT_QUEUE_HEAD);
  if (!insertIfLive(scratch, root, queued(root, head))) return false;
  atomic.store<u32>(root, head + 1, ROOT_QUEUE_HEAD);
  return true;
}

/**
 * Links a row unless it has been removed or linked since: a queued row may have been, and may be in the queue twice.
 */
function insertIfLive(scratch: usize, root: usize, ordinal: u32): bool {
  return !hasRow(root, ordinal) || !isLive(root, ordinal) || isIndexed(root, ordinal) || insert(scratch, root, ordinal);
}

function ensureQueue(root: usize): bool {
  if (load<u32>(root, ROOT_QUEUE)) return true;
  const queue = addBlock(root, QUEUE_ROWS << 2);
  if (!queue) return false;
  memory.fill(queue, 0, QUEUE_ROWS << 2);
  atomic.store<u32>(root, <u32>queue, ROOT_QUEUE);
  return true;
}

/** Densifying fills the lists of nodes with fewer neighbours than this. */
const DENSIFIED_EDGES = 28;
/** `ef` and early-stop limit of the graph search from the node, by whose candidates its list is filled. */
const DENSIFY_EF = 48;
const DENSIFY_EARLY_STOP = 8;

/**
 * Densifies the graph: fills the level-0 lists of up to `most` rows. Neighbour selection leaves two fifths of the slots
 * free; with edges to the nearest nodes in them, a graph search finds as much in fewer hops. This is done a slice at a
 * time when no row waits to be linked, and begins again when a third of the nodes is new, since linking a node
 * reselects the full lists that it is added to and frees slots in them. The pass ends early when memory is full.
 */
export function densifySome(scratch: usize, root: usize, most: u32): void {
  const densifying = load<u32>(root, ROOT_DENSIFYING);
  if (densifying == 0) store<u32>(root, 0, ROOT_UNDENSIFIED);
  const rowsEnd = load<u32>(root, ROOT_ROWS_END);
  let next = max<u32>(densifying, 1) - 1;
  const hasSpace = ensureQuery(scratch, root) && ensureVisited(scratch, rowsEnd) && ensureNear(scratch, DENSIFY_EF);
  for (let left = most; hasSpace && left > 0 && next < rowsEnd; left--, next++) densify(scratch, root, next, rowsEnd);
  store<u32>(root, hasSpace && next < rowsEnd ? next + 1 : 0, ROOT_DENSIFYING);
}

function densify(scratch: usize, root: usize, ordinal: u32, rowsEnd: u32): void {
  if (!isIndexed(root, ordinal) || isDuplicate(root, ordinal) || !isLive(root, ordinal)) return;
  const list = listAt(root, ordinal, 0);
  if (countEdges(list, EDGES_0) >= <u32>DENSIFIED_EDGES) return;
  setOperand(root, ordinal, queryIn(scratch));
  prepareEstimator(scratch, root, false);
  clearVisited(scratch, rowsEnd);
  const found = searchLevel(scratch, root, ordinal, 0, DENSIFY_EF, rowsEnd, false, EDGES_0, DENSIFY_EARLY_STOP);
  clearBest(scratch, DENSIFY_EF);
  offerNear(scratch, root, found, DENSIFY_EF, true);
  const near = sortBest(scratch);
  for (let i: u32 = 0; i < near && countEdges(list, EDGES_0) < <u32>EDGES_0; i++) {
    const other = ordinalOf(load<u64>(areaAt(scratch, SCRATCH_BEST) + ((<usize>i) << 3)));
    if (other != ordinal) join(root, 0, ordinal, other);
  }
}
