// The ranking of all chunks of an index by a question: segments in the order of their ordinals, so that equal scores
// are settled early, then the head. Any thread.
import { FULL, NONE, SCRATCH_ALLOWED, SCRATCH_BEST, SCRATCH_OUTPUT } from '../../layout';
import { clearBest, sortBest } from '../best';
import { areaAt, ensureAnswers } from '../scratch';
import { Head } from './head';
import { openQuery } from './query';
import { rankSegment } from './rank';
import { rankHead } from './rank-head';
import { segmentAt, segmentCount } from './words';

/**
 * Writes ordinals and scores of the k best chunks to the output, k words each, and answers how many. `allowed` is the
 * number of ordinals in the bitmap of those that may be answered, NONE for all. FULL when memory is full.
 */
export function rankWords(
  scratch: usize,
  root: usize,
  terms: u32,
  k: u32,
  norm: f32,
  normPerToken: f32,
  allowed: u32,
): i32 {
  const query = openQuery(scratch, root, terms, terms);
  if (!query || !ensureAnswers(scratch, k)) return FULL;
  query.norm = norm;
  query.normPerToken = normPerToken;
  if (allowed != NONE) {
    query.allowed = <u32>areaAt(scratch, SCRATCH_ALLOWED);
    query.allowedEnd = allowed;
  }
  clearBest(scratch, k);
  for (let i: u32 = 0; i < segmentCount(query.list); i++) rankSegment(scratch, query, segmentAt(query.list, i));
  if (query.head) rankHead(scratch, query, changetype<Head>(query.head));
  const count = sortBest(scratch);
  writeAnswer(scratch, k, count);
  return count;
}

function writeAnswer(scratch: usize, k: u32, count: u32): void {
  const best = areaAt(scratch, SCRATCH_BEST);
  const output = areaAt(scratch, SCRATCH_OUTPUT);
  for (let i: u32 = 0; i < count; i++) {
    const key = load<u64>(best + ((<usize>i) << 3));
    store<u32>(output + ((<usize>i) << 2), ~(<u32>key));
    store<u32>(output + ((<usize>(k + i)) << 2), <u32>(key >> 32));
  }
}
