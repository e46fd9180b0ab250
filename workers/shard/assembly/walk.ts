// The walk through the graph: best-first search of one level, and the greedy descent to it (HNSW, Malkov & Yashunin 2016,
// algorithms 2 and 5). Used by searches on any thread and by insertions of the owner.
import { NONE, ROOT_ENTRY, ROOT_ROW_BYTES, SCRATCH_POOL } from '../layout';
import { batched, putInBatch, touch } from './batch';
import { cosine } from './distance';
import { EXPANDED, keyOf, LIVE, ordinalOf } from './keys';
import { linkIn, widthOf } from './links';
import { clearPool, insert, poolBound, poolKey, poolSize } from './pool';
import { COPY, listAt, rowWordsAt, vectorAt } from './rows';
import { areaAt } from './scratch';
import { collectAllowed, isAnswer, seedPool } from './two-hop';
import { visit } from './visited';

/** The entry point word: level << 28 | ordinal, or NONE. One word, so that both always agree. */
@inline export function entryOf(root: usize): u32 {
  return atomic.load<u32>(root, ROOT_ENTRY);
}

/** Goes down from the entry point to `level`, on each level above to the node that is nearest. Answers a node of `level`. */
export function descend(root: usize, query: usize, entry: u32, level: u32): u32 {
  const rowBytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  let best = entry & 0x0fffffff;
  let bestScore = cosine(query, vectorAt(root, best), rowBytes);
  for (let at = entry >> 28; at > level; at--) {
    for (let moved = true; moved; ) {
      moved = false;
      const list = listAt(root, best, at);
      for (let slot: u32 = 0; slot < widthOf(at); slot++) {
        const next = linkIn(list, slot);
        if (next == NONE) break;
        const score = cosine(query, vectorAt(root, next), rowBytes);
        if (score <= bestScore) continue;
        bestScore = score;
        best = next;
        moved = true;
      }
    }
  }
  return best;
}

/**
 * Fills the pool with the `ef` live rows of `level` nearest to `query`, as far as the graph leads from `start`, and the
 * removed rows between them. Requires a visited set cleared for `rowsEnd` rows; rows beyond are left out. False when memory is full.
 * `filtered`: on level 0, only rows that the filter of the scratch admits count, and the walk passes over others (two-hop.ts).
 */
export function walk(scratch: usize, root: usize, query: usize, start: u32, level: u32, ef: u32, rowsEnd: u32, filtered: bool = false): bool {
  if (!clearPool(scratch, ef)) return false;
  const rowBytes: usize = load<u32>(root, ROOT_ROW_BYTES);
  // A start that has been met is one that the search has scanned: it must not be found again, only passed.
  const fresh = start < rowsEnd && visit(scratch, start) != 0;
  insert(scratch, keyOf(cosine(query, vectorAt(root, start), rowBytes), start) | (fresh && isFound(scratch, root, start, filtered) ? LIVE : 0));
  if (filtered) seedPool(scratch, root, query, rowsEnd);
  for (let place: u32 = 0; place < poolSize(scratch); ) {
    const key = poolKey(scratch, place);
    if (key & EXPANDED) {
      place++;
      continue;
    }
    store<u64>(areaAt(scratch, SCRATCH_POOL) + (<usize>place << 3), key | EXPANDED);
    const count = filtered ? collectAllowed(scratch, root, ordinalOf(key), rowsEnd) : collect(scratch, listAt(root, ordinalOf(key), level), widthOf(level), rowsEnd);
    touch(scratch, root, count, rowBytes);
    for (let i: u32 = 0; i < count; i++) {
      const ordinal = batched(scratch, i);
      const found = keyOf(cosine(query, vectorAt(root, ordinal), rowBytes), ordinal);
      if (found < poolBound(scratch)) continue;
      place = min(place, insert(scratch, found | (isFound(scratch, root, ordinal, filtered) ? LIVE : 0)));
    }
  }
  return true;
}

/** True for a node that is live or has copies, which are. */
@inline function isFound(scratch: usize, root: usize, ordinal: u32, filtered: bool): bool {
  if (filtered) return isAnswer(scratch, root, ordinal);
  const words = rowWordsAt(root, ordinal);
  return (atomic.load<u32>(words) & 1) != 0 || atomic.load<u32>(words, COPY) != 0;
}

/** Gathers the neighbours not met before into BATCH and answers their number. */
@inline function collect(scratch: usize, list: usize, width: u32, rowsEnd: u32): u32 {
  let count: u32 = 0;
  for (let slot: u32 = 0; slot < width; slot++) {
    const next = linkIn(list, slot);
    if (next == NONE) break;
    if (next >= rowsEnd) continue;
    putInBatch(scratch, count, next);
    count += visit(scratch, next);
  }
  return count;
}
