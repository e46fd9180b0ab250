// One list out of the hits of a collection and of the common one beside it. Pure.
// Called by the search use case, on the front thread.
import { parseChunkId } from '../contract/ids.js';
import { compareDocIds } from '../rank/merge.js';
import type { FoundHit } from './search-shards.js';

/**
 * Best first over all collections, each in its own order; equal scores by document id, those of earlier collections
 * first.
 */
export function mergeHits(found: readonly FoundHit[][]): FoundHit[] {
  const [first = [], ...others] = found;
  return others.reduce(mergeTwo, first);
}

function mergeTwo(a: readonly FoundHit[], b: readonly FoundHit[]): FoundHit[] {
  const merged: FoundHit[] = [];
  let next = 0;
  for (const hit of a) {
    for (let other = b[next]; other && isBefore(other, hit); other = b[next]) {
      merged.push(other);
      next++;
    }
    merged.push(hit);
  }
  return [...merged, ...b.slice(next)];
}

const isBefore = (a: FoundHit, b: FoundHit): boolean =>
  a.score > b.score || (a.score === b.score && compareDocIds(docidOf(a), docidOf(b)) < 0);
const docidOf = ({ id }: FoundHit): string => parseChunkId(id)?.docid ?? id;
