// The state of an index's graph: which nodes are in it, its entry point, its generation. Owner's thread only.
// Forgetting the graph is a few stores: nodes carry the number of the graph they belong to (README.md, rule 16).
import { FIRST_ROWS } from '../block-layout';
import { ROOT_FILLING, ROOT_UNFILLED } from '../fill-layout';
import {
  LEVEL_BITS,
  LEVEL_MAX,
  NONE,
  ROOT_ENTRY,
  ROOT_GRAPH,
  ROOT_GRAPH_MIN,
  ROOT_LINKED,
  ROOT_LIVE,
  ROOT_QUEUE_HEAD,
  ROOT_QUEUE_TAIL,
  ROOT_ROWS_END,
  ROOT_TOMBSTONES,
  ROOT_WATERMARK,
} from '../layout';
import { isCopy } from './copies';
import { hasNode, MARK, nodeWordsAt } from './rows';

/**
 * The level of a node is a function of its ordinal, so the same operations give the same graph: of 16 neighbours in
 * memory a hash of what they have in common names one.
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
export function isLinked(root: usize, ordinal: u32): bool {
  return hasNode(root, ordinal) && load<u32>(nodeWordsAt(root, ordinal), MARK) == load<u32>(root, ROOT_GRAPH);
}

/** Live rows that wait to be linked; none while the index is too small for a graph. */
export function pendingCount(root: usize): u32 {
  const live = load<u32>(root, ROOT_LIVE);
  if (live < load<u32>(root, ROOT_GRAPH_MIN) && load<u32>(root, ROOT_WATERMARK) == 0) return 0;
  return live - load<u32>(root, ROOT_LINKED);
}

/**
 * Forgets the graph in a few stores: nodes of an older generation are not in it. All rows are scanned until they are
 * linked again.
 */
export function resetGraph(root: usize): void {
  atomic.store<u32>(root, load<u32>(root, ROOT_GRAPH) + 1, ROOT_GRAPH);
  atomic.store<u32>(root, 0, ROOT_WATERMARK);
  atomic.store<u32>(root, NONE, ROOT_ENTRY);
  store<u32>(root, load<u32>(root, ROOT_QUEUE_TAIL), ROOT_QUEUE_HEAD);
  store<u32>(root, 0, ROOT_LINKED);
  store<u32>(root, 0, ROOT_UNFILLED);
  store<u32>(root, 0, ROOT_FILLING);
  store<u32>(root, 0, ROOT_TOMBSTONES);
}

/** @inline */
export function setEntry(root: usize, ordinal: u32, level: u32): void {
  atomic.store<u32>(root, (level << 28) | ordinal, ROOT_ENTRY);
}

/**
 * Moves the entry point from a node that is about to leave to one of the highest level there is beside it, once in as
 * many rows as there are.
 */
export function moveEntry(root: usize, leaving: u32): void {
  let best = NONE;
  const end = load<u32>(root, ROOT_ROWS_END);
  for (let ordinal: u32 = 0; ordinal < end; ordinal++) {
    if (ordinal == leaving || !isLinked(root, ordinal) || isCopy(root, ordinal)) continue;
    if (best == NONE || levelOf(ordinal) > levelOf(best)) best = ordinal;
  }
  if (best == NONE) atomic.store<u32>(root, NONE, ROOT_ENTRY);
  else setEntry(root, best, levelOf(best));
}
