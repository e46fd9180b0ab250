// Turns ranked hits into the JSON text a client gets, from the records of this shard. Shard worker only.
// Called by commands.ts after the front thread has merged the rankings of all shards.
import { chunkIdOf, type CollectionId } from '../../src/contract/ids.js';
import type { RankedHit, ShardAnswer, ShardRequest } from '../../src/contract/messages.js';
import { vectorReason } from '../../src/rank/match-reason.js';
import { DamagedRecord, type DocumentRecord } from '../../src/store/records.js';
import type { ShardTxn } from '../../src/store/shard-store.js';
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
    return request.hits.map((hit) => (part.index.stampOf(hit.ordinal) === hit.stamp ? hitJson(txn, request, part, hit, documents) : null));
  });
}

function hitJson(txn: ShardTxn, request: HydrateRequest, part: Part, hit: RankedHit, documents: Map<string, DocumentRecord>): string {
  const chunk = txn.chunk(request.collection, hit.ordinal);
  const document = documents.get(chunk.docid) ?? readDocument(txn, request.collection, chunk.docid);
  documents.set(chunk.docid, document);
  const text = txn.text(request.collection, hit.ordinal)?.toString();
  const reason = vectorReason(hit.cosine, hit.score, part.priorities.get(hit.ordinal) ?? 0, request.priorityKey);
  const id = JSON.stringify(chunkIdOf(chunk.docid, chunk.path));
  const textField = text === undefined ? '' : `"text":${JSON.stringify(text)},`;
  const meta = mergedMetaJson(document.metadataJson, chunk.metaJson);
  return `${request.head}"id":${id},"score":${hit.score},${textField}"meta":${meta},"match_reason":${JSON.stringify(reason)}}`;
}

function readDocument(txn: ShardTxn, id: CollectionId, docid: string): DocumentRecord {
  const document = txn.document(id, docid);
  if (!document) throw new DamagedRecord(`document of a chunk is missing in collection ${id}`);
  return document;
}
