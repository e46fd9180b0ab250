// Writes one collection into an archive: its documents, shard by shard, its logged searches, and the manifest that
// vouches for them. Called by write-archive.ts. Archive process only.
import { SegmentWriter, type ArchiveWriter } from '../../src/archive/archive-writer.js';
import {
  documentsEntry,
  headingAt,
  MANIFEST,
  queriesEntry,
  settingsOf,
  type CollectionManifest,
  type EntryRecord,
} from '../../src/archive/manifest.js';
import { packDocument, packQuery } from '../../src/archive/segment.js';
import type { ArchivedSource } from '../../src/contract/archive-messages.js';
import type { ArchiveCounts } from '../../src/contract/archived.js';
import type { CollectionRef } from '../../src/contract/resources.js';
import type { Collection } from '../../src/contract/resources.js';
import type { DatasetSnapshot } from '../../src/store/dataset-snapshot.js';
import { faultOfRecord } from './query-record.js';
import { storedDocuments } from './stored-documents.js';

export const refOf = ({ id, generation, dim, language, precision }: Collection): CollectionRef => ({
  id,
  generation,
  dim,
  language,
  precision,
});

/** The entry of its manifest. */
export async function writeCollection(
  writer: ArchiveWriter,
  snapshot: DatasetSnapshot,
  { collection, logId }: ArchivedSource,
  folder: string,
  createdAt: string,
): Promise<EntryRecord> {
  const counts: ArchiveCounts = { documents: 0, chunks: 0, queries: 0 };
  const documents = new SegmentWriter(writer, (place) => documentsEntry(folder, place));
  for (const txn of snapshot.shards) {
    for (const document of storedDocuments(txn, refOf(collection))) {
      await documents.add(packDocument(document));
      counts.documents++;
      counts.chunks += document.chunks.length;
    }
  }
  await documents.end();
  const queries = new SegmentWriter(writer, (place) => queriesEntry(folder, place));
  let damaged = 0;
  for (const { id, record } of snapshot.queries(logId)) {
    const isSound = record && faultOfRecord(record) === undefined;
    if (isSound) await queries.add(packQuery({ id, record }));
    if (isSound) counts.queries++;
    else damaged++;
  }
  await queries.end();
  const manifest: CollectionManifest = {
    format: 'sheaf-collection',
    ...headingAt(createdAt),
    collection: settingsOf(collection),
    counts,
    entries: [...documents.entries, ...queries.entries],
    ...(damaged > 0 && { queries_left_out: damaged }),
  };
  return writer.addJson(`${folder}${MANIFEST}`, manifest);
}
