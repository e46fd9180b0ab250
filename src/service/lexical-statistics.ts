// What mode hybrid must know of the whole collection before any shard can score words: how many chunks have each term. Asked of
// all shards while the query is being embedded. Used by the search use case, on the front thread.
import type { LexicalStatistics } from '../contract/ranking.js';
import type { Collection } from '../contract/resources.js';
import { sumStatistics } from '../rank/bm25.js';
import { askIndexed } from './ask-indexed.js';
import type { Context } from './context.js';

/** Throws 503 `shard_unavailable` when the words of a shard are not indexed in time. */
export async function lexicalStatistics({ shards }: Context, { id }: Collection, terms: string[]): Promise<LexicalStatistics> {
  const ofShard = (shard: number): Promise<LexicalStatistics> => askIndexed(() => shards.ask(shard, 'countTerms', { collection: id, terms }));
  return sumStatistics(await Promise.all(Array.from({ length: shards.size }, (_, shard) => ofShard(shard))), terms.length);
}
