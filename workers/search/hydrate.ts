// Turns the hits of a search into the JSON text a client gets, from the records of their shards. Search workers only; called by
// finish.ts once the rankings of all shards are merged.
import { chunkIdOf } from '../../src/contract/ids.js';
import type { DetailsWanted, HitParts, HydratedHit } from '../../src/contract/hits.js';
import type { RankedHit } from '../../src/contract/ranking.js';
import type { CollectionSearch } from '../../src/contract/search-messages.js';
import { scoreOf } from '../../src/rank/basis-score.js';
import { hitJson } from '../../src/rank/hit-json.js';
import type { MetaLayers } from '../../src/rank/match-filter.js';
import { matchReason } from '../../src/rank/match-reason.js';
import type { ChunkRecord, DocumentRecord } from '../../src/store/records.js';
import { readDocument } from '../shard/documents.js';
import { mergedMetaJson } from '../shard/metadata.js';
import type { PartView } from '../shard/part-view.js';
import { detailsOf, type DetailsOf } from './hit-details.js';
import { isLater, type ShardView } from './shard-view.js';

/** Hits of one shard, in the order of the answer. */
export interface HitsOfShard {
  readonly view: ShardView;
  readonly hits: readonly RankedHit[];
  /** The stamp given out last before they were ranked. */
  readonly before: number;
}

/**
 * undefined for a hit that has changed since it was ranked: its chunk has gone, or its document came while the search was at work, and
 * may be ranked in part. Where its stamp is still what it was, a snapshot taken later has its chunk, or has lost it to a commit
 * that is not published yet: an ordinal is used again only after the publication that freed it.
 */
export function hydrate(search: CollectionSearch, { view, hits, before }: HitsOfShard, details: DetailsWanted | undefined): (HydratedHit | undefined)[] {
  const { part } = view;
  if (!part) return hits.map(() => undefined);
  const documents = new Map<string, DocumentRecord>();
  const detailsOfHit = details && detailsOf(part, hits, details);
  return hits.map((hit, at) => {
    const hydrated = isLater(hit.stamp, before) ? undefined : hydrateHit(search, view, part, hit, documents, at, detailsOfHit);
    return part.index.stampOf(hit.ordinal) === hit.stamp ? hydrated : undefined;
  });
}

function hydrateHit(search: CollectionSearch, view: ShardView, part: PartView, hit: RankedHit, documents: Map<string, DocumentRecord>, at: number, detailsOfHit?: DetailsOf): HydratedHit | undefined {
  const chunk = view.txn.findChunk(part.id, part.stored(hit.ordinal));
  if (!chunk) return undefined;
  const document = documents.get(chunk.docid) ?? readDocument(view.txn, part.id, chunk.docid);
  documents.set(chunk.docid, document);
  const parts = partsOf(search, view, part, hit, chunk, document);
  const told = detailsOfHit ? { ...parts, ...detailsOfHit(at, parts.text, parts.priority.value) } : parts;
  return { id: parts.id, json: hitJson(told, hit.score), ...(search.withParts && { parts: told }) };
}

function partsOf({ head, priorityKey, narrowed }: CollectionSearch, view: ShardView, part: PartView, { ordinal, basis, score }: RankedHit, chunk: ChunkRecord, document: DocumentRecord): HitParts {
  const text = view.txn.text(part.id, part.stored(ordinal))?.toString();
  const priority = { key: priorityKey, value: part.priorities.of(ordinal) };
  const layers = (): MetaLayers => [chunk.metaJson, document.metadataJson].map((json) => JSON.parse(json) as Record<string, unknown>);
  const reason = matchReason(basis, narrowed, layers, { ...priority, before: scoreOf(basis), after: score });
  const metaJson = mergedMetaJson(document.metadataJson, chunk.metaJson);
  return { head, id: chunkIdOf(chunk.docid, chunk.path), ...(text !== undefined && { text }), metaJson, reason, priority };
}
