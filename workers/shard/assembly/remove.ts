// Takes a node out of the graph before its row is written anew (a removed row alone stays as a way-point). Its
// neighbours are connected with each other to mend the hole (after Vespa's mutual_reconnect). Owner's thread only.
import { BATCH, LINKS_0, NONE, ROOT_TOMBSTONES, SCRATCH_BEST } from '../layout';
import { clearBest, offer, sortBest } from './best';
import { copyAfter, NO_COPY, setBefore } from './copies';
import { cosine, setOperand } from './distance';
import { levelOf, moveEntry, setEntry } from './graph';
import { keyOf, ordinalOf } from './keys';
import { clearList, countLinks, join, linkIn, replaceLink, setLink, unlinkOne, widthOf } from './links';
import { operandIn } from './query';
import { listAt, MARK, nodeWordsAt } from './rows';
import { areaAt } from './scratch';
import { entryOf } from './walk';

const PAIRS_MAX: u32 = (LINKS_0 * (LINKS_0 - 1)) >> 1;

/**
 * Takes a removed node out, before its row is written anew. Its first copy takes its place. Requires that the row is in
 * the graph and no copy.
 */
export function unlink(scratch: usize, root: usize, ordinal: u32): void {
  const isEntry = (entryOf(root) & 0x0fffffff) == ordinal;
  // Before its lists are emptied, which lead a search that begins at it nowhere: to find another takes longer than many
  // a search.
  if (isEntry) moveEntry(root, ordinal);
  const heir = copyAfter(root, ordinal);
  const heirLevels: u32 = heir == NO_COPY ? 0 : levelOf(heir) + 1;
  if (heir != NO_COPY) setBefore(root, heir, NO_COPY);
  const level = levelOf(ordinal);
  for (let at: u32 = 0; at <= level; at++) {
    if (at < heirLevels) succeed(root, ordinal, heir, at);
    else takeOut(scratch, root, ordinal, at);
    clearList(listAt(root, ordinal, at), widthOf(at));
  }
  store<u32>(nodeWordsAt(root, ordinal), 0, MARK);
  store<u32>(root, load<u32>(root, ROOT_TOMBSTONES) - 1, ROOT_TOMBSTONES);
  if (isEntry && heir != NO_COPY) offerEntry(root, heir, min(heirLevels - 1, level));
}

/** Makes a node the entry point where there is none of its level. */
function offerEntry(root: usize, ordinal: u32, level: u32): void {
  const entry = entryOf(root);
  if (entry == NONE || level > entry >> 28) setEntry(root, ordinal, level);
}

/**
 * Puts a copy in the place of the node on a level: the same vector, the same neighbours. A search meets one or the
 * other.
 */
function succeed(root: usize, ordinal: u32, heir: u32, level: u32): void {
  const list = listAt(root, ordinal, level);
  const heirList = listAt(root, heir, level);
  const count = countLinks(list, widthOf(level));
  for (let slot: u32 = 0; slot < count; slot++) setLink(heirList, slot, linkIn(list, slot));
  for (let slot: u32 = 0; slot < count; slot++)
    replaceLink(listAt(root, linkIn(list, slot), level), widthOf(level), ordinal, heir);
}

/** Takes the node out of its neighbours' lists of a level and mends the hole. */
function takeOut(scratch: usize, root: usize, ordinal: u32, level: u32): void {
  const list = listAt(root, ordinal, level);
  const count = countLinks(list, widthOf(level));
  for (let slot: u32 = 0; slot < count; slot++) unlinkOne(root, linkIn(list, slot), level, ordinal);
  mend(scratch, root, list, level, count);
}

/**
 * Links the `count` nodes of `list` by a tree of nearest pairs (Kruskal 1956), so that whoever reached one node through
 * the one that goes still reaches it. Each has just lost a link; where one needs more room than it has, a pair further
 * on serves.
 */
function mend(scratch: usize, root: usize, list: usize, level: u32, count: u32): void {
  const pairs = rankPairs(scratch, root, list, count);
  for (let slot: u32 = 0; slot < count; slot++) store<u32>(scratch + ((<usize>slot) << 2), 1 << slot, BATCH);
  for (let i: u32 = 0; i < pairs; i++) {
    const pair = ordinalOf(load<u64>(areaAt(scratch, SCRATCH_BEST) + ((<usize>i) << 3)));
    const treeA = load<u32>(scratch + ((<usize>(pair >> 8)) << 2), BATCH);
    const treeB = load<u32>(scratch + ((<usize>(pair & 255)) << 2), BATCH);
    if (treeA == treeB || !join(root, level, linkIn(list, pair >> 8), linkIn(list, pair & 255))) continue;
    for (let slot: u32 = 0; slot < count; slot++) {
      if ((treeA | treeB) & (1 << slot)) store<u32>(scratch + ((<usize>slot) << 2), treeA | treeB, BATCH);
    }
  }
}

/**
 * Puts all pairs of slots of `list` (slot << 8 | slot, in place of ordinals) into BEST, nearest first, and answers
 * their number.
 */
function rankPairs(scratch: usize, root: usize, list: usize, count: u32): u32 {
  clearBest(scratch, PAIRS_MAX);
  for (let a: u32 = 1; a < count; a++) {
    const vector = setOperand(root, linkIn(list, a), operandIn(scratch, root));
    for (let b: u32 = 0; b < a; b++) {
      offer(scratch, keyOf(cosine(root, vector, linkIn(list, b)), (a << 8) | b));
    }
  }
  return sortBest(scratch);
}
