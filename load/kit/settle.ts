// What the background of a shard does for an index, all at once: links, codes, the check of their recall, lists filled.
// Used by measurements of an index without a server.
import type { VectorIndex } from '../../workers/shard/vector-index.js';

const STEP = 64;

/** Where memory is full, as far as it goes. */
export function settle(index: VectorIndex): void {
  while (index.hasWork && (index.linkSome(STEP) > 0 || index.isTended));
  while (index.isFillDue) index.fillSome(STEP);
}
