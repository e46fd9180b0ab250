// The state of an index's graph: which nodes are in it, its entry point, its generation. Owner's thread only.
// Forgetting the graph is a few stores: nodes carry the number of the graph they belong to (README.md, rule 16).
import {
  LEVEL_MAX, NONE, ROOT_ENTRY, ROOT_GRAPH, ROOT_GRAPH_MIN, ROOT_LINKED, ROOT_LIVE, ROOT_QUEUE_HEAD, ROOT_QUEUE_TAIL, ROOT_ROWS_END,
  ROOT_TOMBSTONES, ROOT_WATERMARK,
} from '../layout';
import { isCopy } from './copies';
import { hasNode, MARK, nodeWordsAt } from './rows';

/** The level of a node is a function of its ordinal, so the same operations give the same graph: a level more for each zero nibble of a hash. */
export function levelOf(ordinal: u32): u32 {
  let hash = ordinal + 0x9e3779b9;
  hash = (hash ^ (hash >> 16)) * 0x85ebca6b;
  hash = (hash ^ (hash >> 13)) * 0xc2b2ae35;
  return min<u32>(clz(hash ^ (hash >> 16)) >> 2, LEVEL_MAX);
}

@inline export function isLinked(root: usize, ordinal: u32): bool {
  return hasNode(root, ordinal) && load<u32>(nodeWordsAt(root, ordinal), MARK) == load<u32>(root, ROOT_GRAPH);
}

/** Live rows that wait to be linked; none while the index is too small for a graph. */
export function pendingCount(root: usize): u32 {
  const live = load<u32>(root, ROOT_LIVE);
  if (live < load<u32>(root, ROOT_GRAPH_MIN) && load<u32>(root, ROOT_WATERMARK) == 0) return 0;
  return live - load<u32>(root, ROOT_LINKED);
}

/** Forgets the graph in a few stores: nodes of an older generation are not in it. All rows are scanned until they are linked again. */
export function resetGraph(root: usize): void {
  atomic.store<u32>(root, load<u32>(root, ROOT_GRAPH) + 1, ROOT_GRAPH);
  atomic.store<u32>(root, 0, ROOT_WATERMARK);
  atomic.store<u32>(root, NONE, ROOT_ENTRY);
  store<u32>(root, load<u32>(root, ROOT_QUEUE_TAIL), ROOT_QUEUE_HEAD);
  store<u32>(root, 0, ROOT_LINKED);
  store<u32>(root, 0, ROOT_TOMBSTONES);
}

@inline export function setEntry(root: usize, ordinal: u32, level: u32): void {
  atomic.store<u32>(root, (level << 28) | ordinal, ROOT_ENTRY);
}

/** Moves the entry point to a node of the highest level there is; called when the entry leaves, once in as many rows as there are. */
export function moveEntry(root: usize): void {
  let best = NONE;
  const end = load<u32>(root, ROOT_ROWS_END);
  for (let ordinal: u32 = 0; ordinal < end; ordinal++) {
    if (!isLinked(root, ordinal) || isCopy(root, ordinal)) continue;
    if (best == NONE || levelOf(ordinal) > levelOf(best)) best = ordinal;
  }
  if (best == NONE) atomic.store<u32>(root, NONE, ROOT_ENTRY);
  else setEntry(root, best, levelOf(best));
}
