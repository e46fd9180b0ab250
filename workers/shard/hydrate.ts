// Turns ranked hits into the JSON text a client gets, from the records of this shard. Shard worker only.
// Called by commands.ts after the front thread has merged the rankings of all shards.
import { chunkIdOf } from '../../src/contract/ids.js';
import type { ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import type { Basis, HydratedHit, RankedHit } from '../../src/contract/ranking.js';
import { fusedScore } from '../../src/rank/fuse.js';
import { hitJson } from '../../src/rank/hit-json.js';
import type { MetaLayers } from '../../src/rank/match-filter.js';
import { matchReason } from '../../src/rank/match-reason.js';
import type { ChunkRecord, DocumentRecord } from '../../src/store/records.js';
import type { ShardTxn } from '../../src/store/shard-txn.js';
import { readDocument } from './documents.js';
import { mergedMetaJson } from './metadata.js';
import type { Part } from './part.js';
import type { Shard } from './shard.js';

type HydrateRequest = ShardRequest<'hydrate'>;

/** One text a hit; null where the chunk has been replaced or deleted since it was found. */
export function hydrate(shard: Shard, request: HydrateRequest): ShardAnswer<'hydrate'> {
  const part = shard.part(request.collection);
  if (!part) return request.hits.map(() => null);
  return shard.store.read((txn) => {
    const documents = new Map<string, DocumentRecord>();
    return request.hits.map((hit) => (part.index.stampOf(hit.ordinal) === hit.stamp ? hydrated(txn, request, part, hit, documents) : null));
  });
}

function hydrated(txn: ShardTxn, request: HydrateRequest, part: Part, hit: RankedHit, documents: Map<string, DocumentRecord>): HydratedHit {
  const chunk = txn.chunk(request.collection, hit.ordinal);
  const document = documents.get(chunk.docid) ?? readDocument(txn, request.collection, chunk.docid);
  documents.set(chunk.docid, document);
  const text = txn.text(request.collection, hit.ordinal)?.toString();
  const reason = reasonOf(request, part, hit, chunk, document);
  const id = chunkIdOf(chunk.docid, chunk.path);
  const metaJson = mergedMetaJson(document.metadataJson, chunk.metaJson);
  const priority = { key: request.priorityKey, value: part.priorities.get(hit.ordinal) ?? 0 };
  const parts = { head: request.head, id, ...(text !== undefined && { text }), metaJson, reason, priority };
  return { id, json: hitJson(parts, hit.score), ...(request.withParts && { parts }) };
}

function reasonOf({ narrowed, priorityKey }: HydrateRequest, part: Part, { ordinal, basis, score }: RankedHit, chunk: ChunkRecord, document: DocumentRecord): string {
  const layers = (): MetaLayers => [chunk.metaJson, document.metadataJson].map((json) => JSON.parse(json) as Record<string, unknown>);
  return matchReason(basis, narrowed, layers, { key: priorityKey, value: part.priorities.get(ordinal) ?? 0, before: unprioritized(basis), after: score });
}

function unprioritized(basis: Basis): number {
  if (basis.mode === 'hybrid') return fusedScore(basis);
  return basis.mode === 'boost' ? basis.cosine + basis.boost : basis.cosine;
}
