// Hands a verified collection over to the server: its documents in batches by shard, or its logged searches. Waits
// after each batch until the server wants more, so that neither side holds more than a few. Archive process only.
import type { ArchiveReader } from '../../src/archive/archive-reader.js';
import { isDocumentsEntry, type CollectionManifest } from '../../src/archive/manifest.js';
import { vectorsOf, type ArchivedDocument } from '../../src/archive/archived-records.js';
import { SEGMENT_BYTES_MAX, unpackDocuments, unpackQueries } from '../../src/archive/segment.js';
import type { DocumentBatch, QueryBatch, ReadTask } from '../../src/contract/archive-messages.js';
import type { DocId } from '../../src/contract/ids.js';
import { shardOf } from '../../src/contract/placement.js';
import { joinDocuments, packDocument } from '../../src/contract/prepared-document.js';
import { hand, tell } from './line.js';
import { rulesOf } from './verify.js';

/** Chunks of a batch, unless one document has more: what a shard writes in one commit. */
const BATCH_CHUNKS = 512;

export async function handOver(
  reader: ArchiveReader,
  { collection, entries }: CollectionManifest,
  what: 'documents' | 'queries',
  task: ReadTask,
): Promise<void> {
  const rules = rulesOf(collection, task);
  for (const entry of entries) {
    if (isDocumentsEntry(entry.name) !== (what === 'documents')) continue;
    const segment = await reader.checked(entry, SEGMENT_BYTES_MAX);
    if (what === 'documents')
      for (const batch of batchesOf(unpackDocuments(segment, rules), task.shards))
        await hand({ told: 'documents', batch });
    else await hand({ told: 'queries', batch: queriesOf(segment) });
  }
  await tell({ told: 'handed' });
}

/** The documents of a segment by shard, in their order. */
function* batchesOf(documents: readonly ArchivedDocument[], shards: number): Generator<DocumentBatch> {
  const groups = Array.from({ length: shards }, (): ArchivedDocument[] => []);
  const sizes = groups.map(() => 0);
  for (const document of documents) {
    const shard = shardOf(document.docid, shards);
    const group = groups[shard] as ArchivedDocument[];
    if (group.length > 0 && (sizes[shard] as number) + document.chunks.length > BATCH_CHUNKS) {
      yield batchOf(shard, group.splice(0));
      sizes[shard] = 0;
    }
    group.push(document);
    sizes[shard] = (sizes[shard] as number) + document.chunks.length;
  }
  for (const [shard, group] of groups.entries()) if (group.length > 0) yield batchOf(shard, group);
}

function batchOf(shard: number, documents: readonly ArchivedDocument[]): DocumentBatch {
  const packed = documents.map(({ docid, ingested_at_ms, metadata, priority, chunks }) =>
    packDocument({
      docid: docid as DocId,
      ingestedAtMs: ingested_at_ms,
      metadataJson: metadata,
      priority,
      chunks: chunks.map(({ path, meta, text }) => ({ path, metaJson: meta, ...(text !== undefined && { text }) })),
    }),
  );
  return {
    shard,
    ...joinDocuments(packed),
    chunks: documents.map(({ chunks }) => chunks.length),
    vectors: vectorsOf(Buffer.concat(documents.map(({ vectors }) => vectors))),
    versions: documents.map(({ version }) => version),
  };
}

function queriesOf(segment: Buffer): QueryBatch {
  const queries = unpackQueries(segment);
  return {
    ids: Buffer.concat(queries.map(({ id }) => id)),
    lengths: Uint32Array.from(queries, ({ record }) => record.length),
    records: Buffer.concat(queries.map(({ record }) => record)),
  };
}
