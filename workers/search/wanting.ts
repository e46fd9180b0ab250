// What a search wants that is not there: a part in memory, an index of words or of metadata. Their owners bring or make
// them when they are asked to, which the front thread does before it sends the search again. Search workers only;
// called by search.ts.
import type { CollectionSearch, Wanting } from '../../src/contract/search-messages.js';
import type { ShardView } from './shard-view.js';

/**
 * Where memory has no room for an index, filters read the records, but words cannot be ranked: its owner is asked to
 * try again.
 */
export function wantingOf(
  views: readonly ShardView[],
  { lexical, narrowing, details }: Pick<CollectionSearch, 'narrowing' | 'details'> & { lexical?: object },
): Wanting[] {
  const ranksWords = lexical !== undefined || details?.words !== undefined;
  const wanting = views.flatMap(({ shard, part }): Wanting[] => {
    if (!part) return [];
    if (part.isAway)
      return [
        { shard, words: ranksWords || narrowing?.content !== undefined, fields: (narrowing?.filters.length ?? 0) > 0 },
      ];
    if (part.index.liveCount === 0) return [];
    const words = !part.words && (ranksWords || (narrowing?.content !== undefined && !part.isWithoutWords));
    const fields = !part.fields && narrowing !== undefined && narrowing.filters.length > 0 && !part.isWithoutFields;
    return words || fields ? [{ shard, words, fields }] : [];
  });
  if (wanting.length === 0) return wanting;
  return [...new Set(wanting.map(({ shard }) => shard))].map((shard) => {
    const own = wanting.filter((one) => one.shard === shard);
    return { shard, words: own.some(({ words }) => words), fields: own.some(({ fields }) => fields) };
  });
}
