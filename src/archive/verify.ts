// Verifies a whole archive before anything is made of it: every entry by its digest, every record by its shape, all
// counts, the manifest of each collection by that of the dataset, and that there are no other entries. Throws
// `ArchiveError`. Archive process only.
import { createHash } from 'node:crypto';
import typia, { type tags } from 'typia';
import type { AliasRecord } from '../api/aliases.js';
import type { ArchiveCounts, ArchivedSettings, CollectionPlace } from '../api/archives.js';
import { parseFilter } from '../api/filter.js';
import { type Tenant, isSlug } from '../api/ids.js';
import { ALIASES_MAX, KEY_FILTERS_BYTES_MAX, METADATA_LEVELS_MAX } from '../api/limits.js';
import type { QuotaBody, StoredTenants } from '../api/tenants.js';
import type { Scope } from '../api/choices.js';
import { isDeeperThan } from '../base/json.js';
import {
  ArchiveError,
  type CollectionManifest,
  type DatasetManifest,
  MANIFEST,
  type Manifest,
  TENANTS,
  WHOLE_ENTRY_BYTES_MAX,
  isDocumentsEntry,
  isQueriesEntry,
  parseManifest,
  parsedJson,
  settingsOf,
} from './format.js';
import type { ReadTask, VerifiedArchive } from './messages.js';
import type { ArchiveReader } from './reader.js';
import { type DocumentRules, SEGMENT_BYTES_MAX, problemOfRecord, unpackDocuments, unpackQueries } from './records.js';

type Time = string & tags.Format<'date-time'>;
type Label = string & tags.MaxLength<512>;

interface ArchivedTenants {
  tenants: (Required<Omit<QuotaBody, 'max_concurrent'>> & {
    tenant: string;
    display_name: Label | null;
    created_at: Time;
  })[];
  keys: {
    tenant: string;
    key_id: string & tags.Format<'uuid'>;
    label: Label;
    digest: string & tags.Pattern<'^[0-9a-f]{64}$'>;
    created_at: Time;
    expires: Time | null;
    revoked_at: Time | null;
    scopes: Scope[] | null;
    collections: string[] | null;
    filters: Record<string, unknown> | null;
  }[];
}

const isOfShape = typia.createIs<ArchivedTenants>();
const prune = typia.misc.createPrune<ArchivedTenants>();

/**
 * True for a valid list of tenants and keys, which must satisfy the rules for those made through the API. Removes
 * unknown fields.
 */
function areTenants(value: unknown): value is StoredTenants {
  if (!isOfShape(value) || isDeeperThan(METADATA_LEVELS_MAX, value)) return false;
  prune(value);
  const { tenants, keys } = value;
  const names = [...tenants, ...keys].map(({ tenant }) => tenant);
  const collections = keys.flatMap(({ collections: own }) => own ?? []);
  return (
    [...names, ...collections].every(isSlug) && keys.every(({ filters }) => filters === null || areFilters(filters))
  );
}

function areFilters(filters: Record<string, unknown>): boolean {
  try {
    parseFilter(filters, { stringOperators: false });
    return Buffer.byteLength(JSON.stringify(filters)) <= KEY_FILTERS_BYTES_MAX;
  } catch {
    return false;
  }
}

const CAPACITY_MIN = 1024;
const NOTHING = 0n;

/**
 * A set of document ids that takes little memory for millions of them: an open hash table with 64 bits of the digest of
 * each id. With ten million ids, about one archive in 400,000 has two ids that are taken for the same by chance.
 */
class DocidSet {
  private table: BigUint64Array;
  private count = 0;

  /** `expected` is the number of ids for which memory is allocated at first. */
  constructor(expected: number) {
    this.table = new BigUint64Array(
      CAPACITY_MIN << Math.max(0, Math.min(16, Math.ceil(Math.log2(Math.max(1, expected) / CAPACITY_MIN)) + 1)),
    );
  }

  /** Adds an id. False if it is in the set already. */
  add(docid: string): boolean {
    if (this.count * 2 > this.table.length) this.grow();
    const digest = createHash('sha256').update(docid).digest().readBigUInt64LE(0) || 1n;
    const place = placeOf(this.table, digest);
    if (this.table[place] === digest) return false;
    this.table[place] = digest;
    this.count++;
    return true;
  }

  private grow(): void {
    const grown = new BigUint64Array(this.table.length * 2);
    for (const digest of this.table) if (digest !== NOTHING) grown[placeOf(grown, digest)] = digest;
    this.table = grown;
  }
}

/** The place of a digest, or the free place where it belongs. */
function placeOf(table: BigUint64Array, digest: bigint): number {
  let place = Number(digest & BigInt(table.length - 1));
  while (table[place] !== NOTHING && table[place] !== digest) place = (place + 1) % table.length;
  return place;
}

/** The verified archive. `manifests` are in the order of the collections that are reported. */
interface Verified {
  manifests: CollectionManifest[];
  archive: VerifiedArchive;
}

/** Verifies the dataset or the collection that `task` names. Throws `ArchiveError`. */
export async function verify(reader: ArchiveReader, task: ReadTask): Promise<Verified> {
  const top = parseManifest(await reader.whole(MANIFEST, WHOLE_ENTRY_BYTES_MAX));
  if (task.kind !== 'dataset') return verifyOne(reader, top, task, task.kind);
  if (top.format !== 'sheaf-dataset') throw new ArchiveError('wrong_kind', 'This is an archive of a collection.');
  const manifests: CollectionManifest[] = [];
  for (const each of top.collections) manifests.push(await manifestOf(reader, each));
  const names = new Set(top.collections.map(({ tenant, name }) => `${tenant}/${name}`));
  if (names.size !== manifests.length)
    throw new ArchiveError('manifest_invalid', 'Two collections of the archive have the same name.');
  checkEntries(reader, top, manifests);
  for (const manifest of manifests) await verifyCollection(reader, manifest, task);
  const tenants = await readTenants(reader, top);
  return { manifests, archive: { ...shownOf(manifests), tenants, aliases: aliasesOf(top), leftOut: leftOutOf(top) } };
}

/**
 * Verifies a single collection. In an archive of a dataset, nothing else is checked, since other collections may be
 * damaged.
 */
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
  return { manifests: [manifest], archive: { ...shownOf([manifest]), tenants: null, aliases: null, leftOut: [] } };
}

const NAMED_MAX = 20;

function notIn(top: Manifest, from: CollectionPlace, held: readonly CollectionPlace[]): ArchiveError {
  const leftOut =
    top.format === 'sheaf-dataset' &&
    top.left_out.find((each) => each.name === from.name && each.tenant === from.tenant);
  if (leftOut)
    return new ArchiveError(
      'not_in_archive',
      `${from.tenant}/${from.name} was left out of the archive because it was damaged.`,
    );
  const names = held.slice(0, NAMED_MAX).map(({ tenant, name }) => `${tenant}/${name}`);
  const more = held.length > names.length ? ` and ${held.length - names.length} more` : '';
  return new ArchiveError(
    'not_in_archive',
    `The archive has no collection ${from.tenant}/${from.name}. It has: ${names.join(', ') || 'none'}${more}. Choose one with \`from\`.`,
  );
}

const shownOf = (manifests: readonly CollectionManifest[]): Pick<VerifiedArchive, 'collections'> => ({
  collections: manifests.map(({ collection, counts: { documents, chunks, queries }, judgement_sets: sets = [] }) => ({
    settings: settingsOf(collection),
    counts: { documents, chunks, queries },
    judgementSets: sets,
  })),
});

type DatasetEntry = DatasetManifest['collections'][number];

/**
 * The manifest of a collection in an archive of a dataset, checked against the record in the manifest of the dataset.
 */
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
  if (!isItsOwn) throw new ArchiveError('manifest_invalid', `${record.name} is not the manifest of ${tenant}/${name}.`);
  return manifest;
}

/**
 * Checks that the archive has no entry that the manifests do not list, and that none is listed twice. Entries for
 * folders are allowed.
 */
function checkEntries(reader: ArchiveReader, top: Manifest, manifests: readonly CollectionManifest[]): void {
  const own = top.format === 'sheaf-dataset' ? [TENANTS, ...top.collections.map(({ manifest }) => manifest.name)] : [];
  const named = [MANIFEST, ...own, ...manifests.flatMap(({ entries }) => entries.map(({ name }) => name))];
  const wanted = new Set(named);
  if (wanted.size !== named.length) throw new ArchiveError('duplicate_entry', 'The manifests name an entry twice.');
  const stranger = reader.names().find((name) => !wanted.has(name) && !name.endsWith('/'));
  if (stranger !== undefined) throw new ArchiveError('unexpected_entry', `${stranger} is not listed in any manifest.`);
}

/** The rules for documents of the collection. */
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
          throw new ArchiveError('duplicate_document', `Document ${docid} is in the archive twice.`);
        found.documents++;
        found.chunks += chunks.length;
      }
      if (found.documents > counts.documents) break;
    } else if (isQueriesEntry(entry.name)) found.queries += checkQueries(segment);
    else throw new ArchiveError('unexpected_entry', `${entry.name} is not an entry that an archive may have.`);
  }
  for (const what of ['documents', 'chunks', 'queries'] as const) {
    if (found[what] !== counts[what])
      throw new ArchiveError(
        'count_mismatch',
        `The archive has ${found[what]} ${what}, but its manifest says ${counts[what]}.`,
      );
  }
}

const bytesOf = (entries: CollectionManifest['entries']): number => entries.reduce((sum, { bytes }) => sum + bytes, 0);

function checkQueries(segment: Buffer): number {
  const queries = unpackQueries(segment);
  for (const { record } of queries) {
    const why = problemOfRecord(record);
    if (why !== undefined) throw new ArchiveError('query_invalid', `A logged search is invalid: ${why}.`);
  }
  return queries.length;
}

function leftOutOf({ left_out: leftOut }: DatasetManifest): VerifiedArchive['leftOut'] {
  return leftOut.map(({ tenant, name, reason }) => ({ tenant: tenant as Tenant, name, reason }));
}

/** Throws `ArchiveError` for a name that is none, and for more aliases than a tenant may have. */
function aliasesOf({ aliases }: DatasetManifest): AliasRecord[] | null {
  if (!aliases) return null;
  const counts = new Map<string, number>();
  for (const { tenant, alias, collection } of aliases) {
    const count = (counts.get(tenant) ?? 0) + 1;
    counts.set(tenant, count);
    if (![tenant, alias, collection].every(isSlug) || count > ALIASES_MAX)
      throw new ArchiveError('manifest_invalid', 'The aliases of the manifest are invalid.');
  }
  return aliases as AliasRecord[];
}

async function readTenants(reader: ArchiveReader, { tenants: record }: DatasetManifest): Promise<StoredTenants> {
  const tenants = parsedJson(await reader.checked(record, WHOLE_ENTRY_BYTES_MAX));
  if (record.name !== TENANTS || !areTenants(tenants))
    throw new ArchiveError('manifest_invalid', 'The tenants and keys have a wrong shape.');
  return tenants;
}
