// Applies the writes of a batch in one commit. Where a damaged record is met on the way, or the commit fails, none is
// applied; then damage in one collection must not stop the others: each write is tried by itself. Shard worker only;
// called by commands.ts.
import type { Outcome } from '../../src/contract/errors.js';
import { DamagedRecord } from '../../src/store/damage.js';
import { outcomeOf } from './refusal.js';
import type { Shard } from './shard.js';
import { applyWrites, type DocumentWrite, type WriteAnswer } from './write.js';

/** In the order of the writes. */
export function writeAll(shard: Shard, writes: readonly DocumentWrite[]): Outcome<WriteAnswer>[] {
  try {
    return applyWrites(shard, writes);
  } catch (error) {
    if (error instanceof DamagedRecord && writes.length > 1) return writes.flatMap((write) => writeAll(shard, [write]));
    const outcome = outcomeOf(error, writes[0]?.collection.id);
    return writes.map(() => outcome);
  }
}
