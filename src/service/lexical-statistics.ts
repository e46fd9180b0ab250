// What modes boost and hybrid must know of the whole collection before any shard can score words: how many chunks have each
// term. Asked of all shards while the query is being embedded. Used by the search use case, on the front thread.
import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../contract/errors.js';
import type { LexicalStatistics } from '../contract/ranking.js';
import type { Collection } from '../contract/resources.js';
import { sumStatistics } from '../rank/bm25.js';
import type { Context } from './context.js';

/** The first such search of a large collection waits for its words to be indexed, up to this long. */
const WAIT_MAX_MS = 20_000;
const RECHECK_MS = 10;

/** Throws 503 `shard_unavailable` when the index is not complete in time; it goes on being built. */
export async function lexicalStatistics({ shards }: Context, { id }: Collection, terms: string[]): Promise<LexicalStatistics> {
  const untilMs = performance.now() + WAIT_MAX_MS;
  const ofShard = async (shard: number): Promise<LexicalStatistics> => {
    for (;;) {
      const counted = await shards.ask(shard, 'countTerms', { collection: id, terms });
      if (counted) return counted;
      if (performance.now() > untilMs) throw new AppError('shard_unavailable', 'The words of the collection are still being indexed.', { retryAfterS: 5 });
      await sleep(RECHECK_MS);
    }
  };
  return sumStatistics(await Promise.all(Array.from({ length: shards.size }, (_, shard) => ofShard(shard))), terms.length);
}
