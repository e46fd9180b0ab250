// The walk over codes: best-first search of level 0 of the graph (../walk.ts is the one over float32 rows), by the scores of codes
// alone. Most of its time goes to memory, so a hop gathers the neighbours not met yet, touches their codes together, and then
// scores them. Any thread, with a scratch of its own.
import { BATCH, CANDIDATES, LINE_BYTES, NONE, SCRATCH_POOL, SCRATCH_VISITED, TOUCHED } from '../../layout';
import { CODES_AXES_2, CODES_AXES_4, CODES_ROW_BYTES } from '../../codes/layout';
import { batched, putInBatch } from '../batch';
import { linkIn, widthOf } from '../links';
import { LIST_0_BYTES, listAt } from '../rows';
import { areaAt } from '../scratch';
import { visit } from '../visited';
import { codeAt } from './codes';
import { insertNear, nearKey, nearOrdinal, nearScore } from './near';
import { fourScores } from './score';

const EXPANDED: i64 = 1;

@inline function scoreOf(codes: usize, folded: usize, ordinal: u32): i32 {
  const code = codeAt(codes, ordinal);
  return i32x4.extract_lane(fourScores(code, code, code, code, folded, load<u32>(codes, CODES_AXES_4) >> 1, load<u32>(codes, CODES_AXES_2) >> 2), 0);
}

/** Scores the first `count` of BATCH into CANDIDATES, which only the owner's insertions use otherwise. */
@inline function scoreBatch(scratch: usize, codes: usize, folded: usize, count: u32): void {
  const bytes4: usize = load<u32>(codes, CODES_AXES_4) >> 1;
  const bytes2: usize = load<u32>(codes, CODES_AXES_2) >> 2;
  const last = count - 1;
  for (let i: u32 = 0; i < count; i += 4) {
    const a = codeAt(codes, batched(scratch, i));
    const b = codeAt(codes, batched(scratch, min(i + 1, last)));
    const c = codeAt(codes, batched(scratch, min(i + 2, last)));
    const d = codeAt(codes, batched(scratch, min(i + 3, last)));
    v128.store(scratch + (<usize>i << 2), fourScores(a, b, c, d, folded, bytes4, bytes2), CANDIDATES);
  }
}

@inline function batchedScore(scratch: usize, place: u32): i32 {
  return load<i32>(scratch + (<usize>place << 2), CANDIDATES);
}

/** As `descend` of ../walk.ts, by codes: goes to the nearest node on each upper level and answers one of level 0. */
export function descendCodes(scratch: usize, codes: usize, root: usize, folded: usize, entry: u32): u32 {
  let best = entry & 0x0fffffff;
  let bestScore = scoreOf(codes, folded, best);
  for (let level = entry >> 28; level > 0; level--) {
    for (let from = NONE; from != best; ) {
      from = best;
      const count = gather(scratch, codes, listAt(root, best, level), widthOf(level));
      scoreBatch(scratch, codes, folded, count);
      for (let i: u32 = 0; i < count; i++) {
        const score = batchedScore(scratch, i);
        best = score > bestScore ? batched(scratch, i) : best;
        bestScore = max(score, bestScore);
      }
    }
  }
  return best;
}

/** Fills the pool with the `ef` nodes nearest by code, as far as the graph leads from `start`; answers how many. Requires a cleared visited set and room in the pool. */
export function walkCodes(scratch: usize, codes: usize, root: usize, folded: usize, start: u32, ef: u32, rowsEnd: u32): u32 {
  const pool = beginPool(scratch, codes, folded, start);
  let size: u32 = 1;
  for (let place: u32 = 0; place < size; ) {
    const at = pool + (<usize>place << 3);
    const key = load<i64>(at);
    if (key & EXPANDED) {
      place++;
      continue;
    }
    store<i64>(at, key | EXPANDED);
    const count = collect(scratch, codes, listAt(root, nearOrdinal(key), 0), rowsEnd);
    touchList(scratch, root, pool, place + 1, size);
    scoreBatch(scratch, codes, folded, count);
    for (let i: u32 = 0; i < count; i++) {
      const score = batchedScore(scratch, i);
      const isFull = size == ef;
      if (isFull && score <= nearScore(load<i64>(pool + (<usize>(size - 1) << 3)))) continue;
      place = min(place, insertNear(pool, size, isFull, nearKey(score, batched(scratch, i))));
      size += isFull ? 0 : 1;
    }
  }
  return size;
}

/** Gathers all neighbours of a list into BATCH, touches their codes and answers their number. */
function gather(scratch: usize, codes: usize, list: usize, width: u32): u32 {
  let count: u32 = 0;
  for (; count < width; count++) {
    const next = linkIn(list, count);
    if (next == NONE) break;
    putInBatch(scratch, count, next);
  }
  touchCodes(scratch, codes, count);
  return count;
}

/** The pool with the start in it, which counts as met. */
@inline function beginPool(scratch: usize, codes: usize, folded: usize, start: u32): usize {
  const pool = areaAt(scratch, SCRATCH_POOL);
  visit(scratch, start);
  store<i64>(pool, nearKey(scoreOf(codes, folded, start), start));
  return pool;
}

/**
 * Gathers the neighbours not met before into BATCH, touches their codes and answers their number. As `collect` of ../walk.ts, with
 * every address that is not the link's own in a local: this loop and the scores are where a walk spends its time.
 */
@inline function collect(scratch: usize, codes: usize, list: usize, rowsEnd: u32): u32 {
  const visited = areaAt(scratch, SCRATCH_VISITED);
  const batch = scratch + BATCH;
  let end = batch;
  for (const listEnd = list + LIST_0_BYTES; list < listEnd; list += 4) {
    const next = load<u32>(list);
    if (next >= rowsEnd) {
      if (next == NONE) break;
      continue;
    }
    const byte = visited + (next >> 3);
    const before: u32 = load<u8>(byte);
    store<u8>(byte, before | (1 << (next & 7)));
    store<u32>(end, next);
    end += <usize>(((before >> (next & 7)) & 1) ^ 1) << 2;
  }
  const count = <u32>((end - batch) >> 2);
  touchCodes(scratch, codes, count);
  return count;
}

/** Brings the codes of the first `count` of BATCH near. */
@inline function touchCodes(scratch: usize, codes: usize, count: u32): void {
  let touched: u32 = 0;
  const rowBytes: usize = load<u32>(codes, CODES_ROW_BYTES);
  for (let i: u32 = 0; i < count; i++) {
    const code = codeAt(codes, batched(scratch, i));
    touched ^= load<u8>(code);
    if (rowBytes > <usize>LINE_BYTES) touched ^= load<u8>(code + LINE_BYTES);
  }
  store<u32>(scratch, touched, TOUCHED);
}

/** Brings near the list that is likely to be walked next. */
@inline function touchList(scratch: usize, root: usize, pool: usize, place: u32, size: u32): void {
  if (place >= size) return;
  const list = listAt(root, nearOrdinal(load<i64>(pool + (<usize>place << 3))), 0);
  store<u32>(scratch, load<u32>(list) ^ load<u32>(list + LINE_BYTES), TOUCHED);
}
