// Turns the hits of a search into the JSON text a client gets, from the records of their shards. Search workers only;
// called by finish.ts once the rankings of all shards are merged.
import type { DetailsWanted, HydratedHit, ToldChunk } from '../../src/contract/hits.js';
import type { RankedHit } from '../../src/contract/ranking.js';
import type { CollectionSearch } from '../../src/contract/search-messages.js';
import { scoreOf } from '../../src/rank/basis-score.js';
import { hitJson, joinHit } from '../../src/rank/hit-json.js';
import { matchReason } from '../../src/rank/match-reason.js';
import type { DocumentRecord } from '../../src/store/records.js';
import type { PartView } from '../shard/part-view.js';
import { detailsOf, type DetailsOf } from './hit-details.js';
import { isLater, type ShardView } from './shard-view.js';
import { layersOf, readToldChunk, textOf } from './told-chunk.js';

/** Hits of one shard, in the order of the answer. */
export interface HitsOfShard {
  readonly view: ShardView;
  readonly hits: readonly RankedHit[];
  /** The stamp given out last before they were ranked. */
  readonly before: number;
}

/**
 * undefined for a hit that has changed since it was ranked: its chunk has gone, or its document came while the search
 * was at work, and may be ranked in part. Where its stamp is still what it was, a snapshot taken later has its chunk,
 * or has lost it to a commit that is not published yet: an ordinal is used again only after the publication that freed
 * it. Nor is that commit acknowledged: what the chunk told before may be told once more.
 */
export function hydrate(
  search: CollectionSearch,
  { view, hits, before }: HitsOfShard,
  details: DetailsWanted | undefined,
): (HydratedHit | undefined)[] {
  const { part } = view;
  if (!part) return hits.map(() => undefined);
  const documents = new Map<string, DocumentRecord>();
  const detailsOfHit = details && detailsOf(part, hits, details);
  return hits.map((hit, at) => {
    if (isLater(hit.stamp, before)) return undefined;
    const version = { memory: view.memory, collection: part.id, ordinal: hit.ordinal, stamp: hit.stamp };
    const kept = view.cache.get(version);
    const chunk = kept ?? readToldChunk(view, part, hit.ordinal, documents);
    const hydrated = chunk && hydrateHit(search, part, hit, chunk, at, detailsOfHit);
    if (!hydrated || part.index.stampOf(hit.ordinal) !== hit.stamp) return undefined;
    if (!kept) view.cache.keep(version, chunk);
    return hydrated;
  });
}

function hydrateHit(
  search: CollectionSearch,
  part: PartView,
  hit: RankedHit,
  chunk: ToldChunk,
  at: number,
  detailsOfHit?: DetailsOf,
): HydratedHit {
  const { head, priorityKey, narrowed, withParts } = search;
  const { ordinal, basis, score } = hit;
  const value = part.priorities.of(ordinal);
  // Field by field: a literal that spreads another took a third of the hydration.
  const reason = matchReason(basis, narrowed, () => layersOf(chunk), {
    key: priorityKey,
    value,
    before: scoreOf(basis),
    after: score,
  });
  if (!detailsOfHit && !withParts) return { id: chunk.id, json: joinHit(head, chunk, score, reason) };
  const text = textOf(chunk);
  const parts = {
    head,
    id: chunk.id,
    ...(text !== undefined && { text }),
    metaJson: chunk.metaJson,
    reason,
    priority: { key: priorityKey, value },
    ...detailsOfHit?.(at, text, value),
  };
  return { id: chunk.id, json: hitJson(parts, score), ...(withParts && { parts }) };
}
