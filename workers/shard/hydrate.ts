// Turns ranked hits into the JSON text a client gets, from the records of this shard. Shard worker only.
// Called by commands.ts after the front thread has merged the rankings of all shards.
import { chunkIdOf } from '../../src/contract/ids.js';
import type { HitParts, HydratedHit } from '../../src/contract/hits.js';
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import type { RankedHit } from '../../src/contract/ranking.js';
import { scoreOf } from '../../src/rank/basis-score.js';
import { hitJson } from '../../src/rank/hit-json.js';
import type { MetaLayers } from '../../src/rank/match-filter.js';
import { matchReason } from '../../src/rank/match-reason.js';
import type { ChunkRecord, DocumentRecord } from '../../src/store/records.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import { readDocument } from './documents.js';
import { detailsOf } from './hit-details.js';
import { mergedMetaJson } from './metadata.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';

type HydrateRequest = ShardRequest<'hydrate'>;

/** One text a hit; null where the chunk has been replaced or deleted since it was found. */
export function hydrate(shard: Shard, request: HydrateRequest): ShardAnswer<'hydrate'> {
  const part = shard.part(request.collection);
  if (!part) return request.hits.map(() => null);
  const detailsOfHit = request.details && detailsOf(part, request.hits, request.details);
  return shard.store.read((txn) => {
    const documents = new Map<string, DocumentRecord>();
    return request.hits.map((hit, at) => {
      if (part.index.stampOf(hit.ordinal) !== hit.stamp) return null;
      const parts = partsOf(txn, request, part, hit, documents);
      const told = detailsOfHit ? { ...parts, ...detailsOfHit(at, parts.text, parts.priority.value) } : parts;
      return { id: parts.id, json: hitJson(told, hit.score), ...(request.withParts && { parts: told }) } satisfies HydratedHit;
    });
  });
}

function partsOf(txn: ShardTxn, request: HydrateRequest, part: Part, hit: RankedHit, documents: Map<string, DocumentRecord>): HitParts {
  const chunk = txn.chunk(request.collection, hit.ordinal);
  const document = documents.get(chunk.docid) ?? readDocument(txn, request.collection, chunk.docid);
  documents.set(chunk.docid, document);
  const text = txn.text(request.collection, hit.ordinal)?.toString();
  const reason = reasonOf(request, part, hit, chunk, document);
  const id = chunkIdOf(chunk.docid, chunk.path);
  const metaJson = mergedMetaJson(document.metadataJson, chunk.metaJson);
  const priority = { key: request.priorityKey, value: part.priorities.get(hit.ordinal) ?? 0 };
  return { head: request.head, id, ...(text !== undefined && { text }), metaJson, reason, priority };
}

function reasonOf({ narrowed, priorityKey }: HydrateRequest, part: Part, { ordinal, basis, score }: RankedHit, chunk: ChunkRecord, document: DocumentRecord): string {
  const layers = (): MetaLayers => [chunk.metaJson, document.metadataJson].map((json) => JSON.parse(json) as Record<string, unknown>);
  return matchReason(basis, narrowed, layers, { key: priorityKey, value: part.priorities.get(ordinal) ?? 0, before: scoreOf(basis), after: score });
}
