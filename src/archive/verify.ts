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
import type { ReadTask, VerifiedArchive } from '../../src/contract/archive-messages.js';
import type { CollectionPlace } from '../../src/contract/archived.js';
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
  if (task.kind !== 'dataset') return verifyOne(reader, top, task, task.kind);
  if (top.format !== 'sheaf-dataset') throw new ArchiveFault('wrong_kind', 'This is an archive of a collection.');
  const manifests: CollectionManifest[] = [];
  for (const each of top.collections) manifests.push(await manifestOf(reader, each));
  const names = new Set(top.collections.map(({ tenant, name }) => `${tenant}/${name}`));
  if (names.size !== manifests.length)
    throw new ArchiveFault('manifest_invalid', 'Two collections of the archive have one name.');
  checkEntries(reader, top, manifests);
  for (const manifest of manifests) await verifyCollection(reader, manifest, task);
  const tenants = await readTenants(reader, top);
  return { manifests, archive: { ...toldOf(manifests), tenants, leftOut: leftOutOf(top) } };
}

/** Of an archive of everything no more is looked at than the collection that is wanted: others may be damaged. */
async function verifyOne(
  reader: ArchiveReader,
  top: Manifest,
  task: ReadTask,
  { from, isNamed }: Exclude<ReadTask['kind'], 'dataset'>,
): Promise<Verified> {
  const isFrom = ({ tenant, name }: CollectionPlace): boolean => tenant === from.tenant && name === from.name;
  const held = top.format === 'sheaf-dataset' ? top.collections : [top.collection];
  const found = held.find(isFrom);
  // An archive of one collection may be restored under any name.
  if (!found && (isNamed || top.format === 'sheaf-dataset')) throw notIn(top, from, held);
  const manifest = top.format === 'sheaf-dataset' ? await manifestOf(reader, found as DatasetEntry) : top;
  if (manifest === top) checkEntries(reader, top, [manifest]);
  await verifyCollection(reader, manifest, task);
  return { manifests: [manifest], archive: { ...toldOf([manifest]), tenants: null, leftOut: [] } };
}

const NAMED_MAX = 20;

function notIn(top: Manifest, from: CollectionPlace, held: readonly CollectionPlace[]): ArchiveFault {
  const leftOut =
    top.format === 'sheaf-dataset' &&
    top.left_out.find((each) => each.name === from.name && each.tenant === from.tenant);
  if (leftOut)
    return new ArchiveFault(
      'not_in_archive',
      `${from.tenant}/${from.name} was left out of the archive: it was damaged.`,
    );
  const names = held.slice(0, NAMED_MAX).map(({ tenant, name }) => `${tenant}/${name}`);
  const more = held.length > names.length ? ` and ${held.length - names.length} more` : '';
  return new ArchiveFault(
    'not_in_archive',
    `The archive has no collection ${from.tenant}/${from.name}. It has: ${names.join(', ') || 'none'}${more}. Say which one with \`from\`.`,
  );
}

const toldOf = (manifests: readonly CollectionManifest[]): Pick<VerifiedArchive, 'collections'> => ({
  collections: manifests.map(({ collection, counts: { documents, chunks, queries } }) => ({
    settings: settingsOf(collection),
    counts: { documents, chunks, queries },
  })),
});

type DatasetEntry = DatasetManifest['collections'][number];

/** The manifest of a collection in an archive of everything, as the one above it vouches for it. */
async function manifestOf(
  reader: ArchiveReader,
  { tenant, name, folder, manifest: record }: DatasetEntry,
): Promise<CollectionManifest> {
  const manifest = parseManifest(await reader.checked(record, WHOLE_ENTRY_BYTES_MAX));
  const isItsOwn =
    manifest.format === 'sheaf-collection' &&
    record.name === `${folder}${MANIFEST}` &&
    manifest.collection.tenant === tenant &&
    manifest.collection.name === name;
  if (!isItsOwn) throw new ArchiveFault('manifest_invalid', `${record.name} is not the manifest of ${tenant}/${name}.`);
  return manifest;
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
