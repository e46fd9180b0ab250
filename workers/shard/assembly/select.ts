// The choice of neighbours: near ones that are not near each other (Malkov & Yashunin 2016, algorithm 4, in the form of
// hnswlib's getNeighborsByHeuristic2). Owner's thread only.
import { CHOSEN } from '../layout';
import { cosine, setOperand } from './distance';
import { ordinalOf, scoreOf } from './keys';
import { operandIn } from './query';

/**
 * Chooses up to `max` of `count` keys (sorted, best first; their scores are cosines to one row) into CHOSEN and answers
 * how many. A key is passed over when a chosen row is nearer to it than that one row is.
 */
export function choose(scratch: usize, root: usize, keys: usize, count: u32, max: u32): u32 {
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

/** Sorts `count` keys in place, best first. For short lists. */
export function sortKeys(keys: usize, count: u32): void {
  for (let i: u32 = 1; i < count; i++) {
    const key = load<u64>(keys + ((<usize>i) << 3));
    let place = i;
    for (; place > 0 && load<u64>(keys + ((<usize>(place - 1)) << 3)) < key; place--) {
      store<u64>(keys + ((<usize>place) << 3), load<u64>(keys + ((<usize>(place - 1)) << 3)));
    }
    store<u64>(keys + ((<usize>place) << 3), key);
  }
}
