// Verifies all of an archive before anything is made of it: every entry by its digest, every record by its shape, every
// count, the manifest of each collection by the one above it, and that nothing else is in it. Throws ArchiveFault.
// Archive process only.
import type { ArchiveReader } from '../../src/archive/archive-reader.js';
import { ArchiveFault } from '../../src/archive/archive-fault.js';
import { areTenants } from '../../src/archive/archived-tenants.js';
import type { DocumentRules } from '../../src/archive/document-fault.js';
import {
  isDocumentsEntry,
  isQueriesEntry,
  MANIFEST,
  parsedJson,
  parseManifest,
  settingsOf,
  TENANTS,
  WHOLE_ENTRY_BYTES_MAX,
  type CollectionManifest,
  type DatasetManifest,
  type Manifest,
} from '../../src/archive/manifest.js';
import { SEGMENT_BYTES_MAX, unpackDocuments, unpackQueries } from '../../src/archive/segment.js';
import type { ReadTask, VerifiedArchive, VerifiedCollection } from '../../src/contract/archive-messages.js';
import type { ArchiveCounts, ArchivedSettings } from '../../src/contract/archived.js';
import type { Tenant } from '../../src/contract/ids.js';
import type { StoredTenants } from '../../src/contract/tenants.js';
import { DocidSet } from './docid-set.js';
import { faultOfRecord } from './query-record.js';

/** The manifests of the collections in it, by the places that `verified` tells. */
export interface Verified {
  manifests: CollectionManifest[];
  archive: VerifiedArchive;
}

export async function verify(reader: ArchiveReader, task: ReadTask): Promise<Verified> {
  const top = parseManifest(await reader.whole(MANIFEST, WHOLE_ENTRY_BYTES_MAX));
  if ((top.format === 'sheaf-dataset') !== (task.kind === 'dataset'))
    throw new ArchiveFault(
      'wrong_kind',
      `This is an archive of a ${top.format === 'sheaf-dataset' ? 'whole dataset' : 'collection'}.`,
    );
  const manifests = top.format === 'sheaf-collection' ? [top] : await collectionManifests(reader, top);
  checkEntries(reader, top, manifests);
  for (const manifest of manifests) await verifyCollection(reader, manifest, task);
  const tenants = top.format === 'sheaf-dataset' ? await readTenants(reader, top) : null;
  const collections = manifests.map(
    ({ collection, counts: { documents, chunks, queries } }): VerifiedCollection => ({
      settings: settingsOf(collection),
      counts: { documents, chunks, queries },
    }),
  );
  return {
    manifests,
    archive: {
      collections,
      tenants,
      leftOut: top.format === 'sheaf-dataset' ? leftOutOf(top) : [],
    },
  };
}

async function collectionManifests(
  reader: ArchiveReader,
  { collections }: DatasetManifest,
): Promise<CollectionManifest[]> {
  const manifests: CollectionManifest[] = [];
  for (const { tenant, name, folder, manifest: record } of collections) {
    const manifest = parseManifest(await reader.checked(record, WHOLE_ENTRY_BYTES_MAX));
    const isItsOwn =
      manifest.format === 'sheaf-collection' &&
      record.name === `${folder}${MANIFEST}` &&
      manifest.collection.tenant === tenant &&
      manifest.collection.name === name;
    if (!isItsOwn)
      throw new ArchiveFault('manifest_invalid', `${record.name} is not the manifest of ${tenant}/${name}.`);
    manifests.push(manifest);
  }
  const names = new Set(collections.map(({ tenant, name }) => `${tenant}/${name}`));
  if (names.size !== collections.length)
    throw new ArchiveFault('manifest_invalid', 'Two collections of the archive have one name.');
  return manifests;
}

/** The archive has what the manifests name, each once, and nothing else; folders may have entries of their own. */
function checkEntries(reader: ArchiveReader, top: Manifest, manifests: readonly CollectionManifest[]): void {
  const own = top.format === 'sheaf-dataset' ? [TENANTS, ...top.collections.map(({ manifest }) => manifest.name)] : [];
  const named = [MANIFEST, ...own, ...manifests.flatMap(({ entries }) => entries.map(({ name }) => name))];
  const wanted = new Set(named);
  if (wanted.size !== named.length) throw new ArchiveFault('duplicate_entry', 'The manifests name an entry twice.');
  const stranger = reader.names().find((name) => !wanted.has(name) && !name.endsWith('/'));
  if (stranger !== undefined) throw new ArchiveFault('unexpected_entry', `${stranger} is in no manifest.`);
}

/** What a document of the collection may be. */
export const rulesOf = (
  { dim, embedder_type: type }: ArchivedSettings,
  { metadataBytesMax }: ReadTask,
): DocumentRules => ({ dim, takesTexts: type !== 'identity', metadataBytesMax });

async function verifyCollection(
  reader: ArchiveReader,
  { collection, counts, entries }: CollectionManifest,
  task: ReadTask,
): Promise<void> {
  const rules = rulesOf(collection, task);
  const found: ArchiveCounts = { documents: 0, chunks: 0, queries: 0 };
  const docids = new DocidSet(Math.min(counts.documents, bytesOf(entries)));
  for (const entry of entries) {
    const segment = await reader.checked(entry, SEGMENT_BYTES_MAX);
    if (isDocumentsEntry(entry.name)) {
      for (const { docid, chunks } of unpackDocuments(segment, rules)) {
        if (!docids.add(docid))
          throw new ArchiveFault('duplicate_document', `Document ${docid} is in the archive twice.`);
        found.documents++;
        found.chunks += chunks.length;
      }
      if (found.documents > counts.documents) break;
    } else if (isQueriesEntry(entry.name)) found.queries += checkQueries(segment);
    else throw new ArchiveFault('unexpected_entry', `${entry.name} is none that an archive has.`);
  }
  for (const what of ['documents', 'chunks', 'queries'] as const) {
    if (found[what] !== counts[what])
      throw new ArchiveFault(
        'count_mismatch',
        `The archive has ${found[what]} ${what}, its manifest says ${counts[what]}.`,
      );
  }
}

const bytesOf = (entries: CollectionManifest['entries']): number => entries.reduce((sum, { bytes }) => sum + bytes, 0);

function checkQueries(segment: Buffer): number {
  const queries = unpackQueries(segment);
  for (const { record } of queries) {
    const why = faultOfRecord(record);
    if (why !== undefined) throw new ArchiveFault('query_invalid', `A logged search is invalid: ${why}.`);
  }
  return queries.length;
}

function leftOutOf({ left_out: leftOut }: DatasetManifest): VerifiedArchive['leftOut'] {
  return leftOut.map(({ tenant, name, reason }) => ({ tenant: tenant as Tenant, name, reason }));
}

async function readTenants(reader: ArchiveReader, { tenants: record }: DatasetManifest): Promise<StoredTenants> {
  const tenants = parsedJson(await reader.checked(record, WHOLE_ENTRY_BYTES_MAX));
  if (record.name !== TENANTS || !areTenants(tenants))
    throw new ArchiveFault('manifest_invalid', 'The tenants and keys have a wrong shape.');
  return tenants;
}
