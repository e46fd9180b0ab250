// The HNSW graph of an index: which nodes are in it, its entry point, its generation and its neighbour lists. Each node
// carries the generation of the graph that it belongs to, so dropping the whole graph takes a few stores
// (memory-layout.md, rule 16). The owner writes; any thread reads.
import {
  EDGES_0,
  EDGES_UP,
  ENTRY_LEVEL_SHIFT,
  FIRST_ROWS,
  LEVEL_BITS,
  LEVEL_MAX,
  NODE_MARK,
  NONE,
  ROOT_DENSIFYING,
  ROOT_ENTRY,
  ROOT_GRAPH,
  ROOT_GRAPH_MIN,
  ROOT_INDEXED,
  ROOT_INDEXED_TO,
  ROOT_LIVE,
  ROOT_QUEUE_HEAD,
  ROOT_QUEUE_TAIL,
  ROOT_ROWS_END,
  ROOT_TOMBSTONES,
  ROOT_UNDENSIFIED,
} from '../../memory/layout';
import { hasNode, listAt, nodeWordsAt } from '../memory/row-blocks';
import { isDuplicate } from './duplicate-vectors';

/**
 * The level of a node, a function of its ordinal, so that the same operations give the same graph. Of 16 nodes that are
 * neighbours in memory, a hash of the bits that they share selects the one that is on the next level.
 */
export function levelOf(ordinal: u32): u32 {
  let level: u32 = 0;
  for (
    let place = ordinal + FIRST_ROWS;
    level < <u32>LEVEL_MAX && (place & 15) == nibbleOf((place >> LEVEL_BITS) + level * 0x9e3779b9);
    level++
  )
    place >>= LEVEL_BITS;
  return level;
}

function nibbleOf(group: u32): u32 {
  let hash = group + 0x9e3779b9;
  hash = (hash ^ (hash >> 16)) * 0x85ebca6b;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35;
  return (hash ^ (hash >> 16)) >> 28;
}

/** @inline */
export function isIndexed(root: usize, ordinal: u32): bool {
  return hasNode(root, ordinal) && load<u32>(nodeWordsAt(root, ordinal), NODE_MARK) == load<u32>(root, ROOT_GRAPH);
}

/** The number of live rows that are not in the graph; 0 while the index is too small for a graph. */
export function unindexedCount(root: usize): u32 {
  const live = load<u32>(root, ROOT_LIVE);
  if (live < load<u32>(root, ROOT_GRAPH_MIN) && load<u32>(root, ROOT_INDEXED_TO) == 0) return 0;
  return live - load<u32>(root, ROOT_INDEXED);
}

/**
 * Drops the graph in a few stores, since nodes of an older generation are not in the graph. Searches scan all rows
 * until they are linked again.
 */
export function resetGraph(root: usize): void {
  atomic.store<u32>(root, load<u32>(root, ROOT_GRAPH) + 1, ROOT_GRAPH);
  atomic.store<u32>(root, 0, ROOT_INDEXED_TO);
  atomic.store<u32>(root, NONE, ROOT_ENTRY);
  store<u32>(root, load<u32>(root, ROOT_QUEUE_TAIL), ROOT_QUEUE_HEAD);
  store<u32>(root, 0, ROOT_INDEXED);
  store<u32>(root, 0, ROOT_UNDENSIFIED);
  store<u32>(root, 0, ROOT_DENSIFYING);
  store<u32>(root, 0, ROOT_TOMBSTONES);
}

/** The entry point, with its level and its ordinal in one word, or NONE. @inline */
export function entryOf(root: usize): u32 {
  return atomic.load<u32>(root, ROOT_ENTRY);
}

/** @inline */
export function setEntry(root: usize, ordinal: u32, level: u32): void {
  atomic.store<u32>(root, (level << ENTRY_LEVEL_SHIFT) | ordinal, ROOT_ENTRY);
}

/**
 * Moves the entry point from `leaving` to another node of the highest level there is. This scans all rows, but only
 * removals of the entry point need it.
 */
export function moveEntry(root: usize, leaving: u32): void {
  let best = NONE;
  const end = load<u32>(root, ROOT_ROWS_END);
  for (let ordinal: u32 = 0; ordinal < end; ordinal++) {
    if (ordinal == leaving || !isIndexed(root, ordinal) || isDuplicate(root, ordinal)) continue;
    if (best == NONE || levelOf(ordinal) > levelOf(best)) best = ordinal;
  }
  if (best == NONE) atomic.store<u32>(root, NONE, ROOT_ENTRY);
  else setEntry(root, best, levelOf(best));
}

// Neighbour lists have a fixed width, with NONE after the last neighbour. Edges are symmetric: x is in the list of y on
// a level exactly when y is in that of x, so a node can be taken out of the graph completely. Every slot holds NONE or
// the ordinal of a complete node at all times; a reader of a list that is being rewritten sees a mixture of old and new
// neighbours.

/** @inline */
export function widthOf(level: u32): u32 {
  return level == 0 ? EDGES_0 : EDGES_UP;
}

/** The neighbour in a slot, or NONE. @inline */
export function edgeIn(list: usize, slot: u32): u32 {
  return atomic.load<u32>(list + ((<usize>slot) << 2));
}

/** @inline */
export function setEdge(list: usize, slot: u32, ordinal: u32): void {
  atomic.store<u32>(list + ((<usize>slot) << 2), ordinal);
}

/** The number of neighbours in a list of `width`. */
export function countEdges(list: usize, width: u32): u32 {
  let count: u32 = 0;
  while (count < width && edgeIn(list, count) != NONE) count++;
  return count;
}

function hasEdge(list: usize, width: u32, ordinal: u32): bool {
  for (let slot: u32 = 0; slot < width; slot++) if (edgeIn(list, slot) == ordinal) return true;
  return false;
}

/** Makes an edge between two nodes on a level. True if there is room in both lists or the edge exists already. */
export function join(root: usize, level: u32, a: u32, b: u32): bool {
  const width = widthOf(level);
  const listA = listAt(root, a, level);
  const listB = listAt(root, b, level);
  if (hasEdge(listA, width, b)) return true;
  const countA = countEdges(listA, width);
  const countB = countEdges(listB, width);
  if (countA == width || countB == width) return false;
  setEdge(listA, countA, b);
  setEdge(listB, countB, a);
  return true;
}

export function clearList(list: usize, width: u32): void {
  for (let slot: u32 = 0; slot < width; slot++) setEdge(list, slot, NONE);
}

/** Replaces `gone` by `heir` in a list. */
export function replaceEdge(list: usize, width: u32, gone: u32, heir: u32): void {
  for (let slot: u32 = 0; slot < width; slot++) if (edgeIn(list, slot) == gone) setEdge(list, slot, heir);
}

/** Removes `gone` from the list of `ordinal`, if it is there. The last neighbour moves into its slot. */
export function unlinkOne(root: usize, ordinal: u32, level: u32, gone: u32): void {
  const list = listAt(root, ordinal, level);
  const count = countEdges(list, widthOf(level));
  for (let slot: u32 = 0; slot < count; slot++) {
    if (edgeIn(list, slot) != gone) continue;
    setEdge(list, slot, edgeIn(list, count - 1));
    setEdge(list, count - 1, NONE);
    return;
  }
}
