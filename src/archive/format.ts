// The layout of archives: the manifests, the names of entries, and the reasons for which an archive is rejected.
// docs/reference/archive-format.md describes the format. Pure functions.
import typia, { type tags } from 'typia';
import type { ArchiveCounts, ArchivedSettings } from '../api/archives.js';
import type { JudgementSet } from '../api/judgements.js';
import type { Collection } from '../api/collections.js';
import { SCHEMA_VERSION, SERVICE_VERSION } from '../api/common.js';
import { AppError } from '../api/errors.js';
import { isDeeperThan } from '../base/json.js';

type ArchiveReason =
  | 'not_a_zip'
  | 'unsafe_path'
  | 'symlink'
  | 'duplicate_entry'
  | 'encrypted_entry'
  | 'overlapping_entries'
  | 'compression_ratio'
  | 'too_large'
  | 'missing_entry'
  | 'unexpected_entry'
  | 'digest_mismatch'
  | 'size_mismatch'
  | 'count_mismatch'
  | 'manifest_invalid'
  | 'format_unknown'
  | 'service_version'
  | 'schema_version'
  | 'document_invalid'
  | 'duplicate_document'
  | 'query_invalid'
  | 'settings_invalid'
  | 'embedder_unknown'
  | 'wrong_kind'
  | 'not_in_archive';

export type ArchiveCode = 'archive_invalid' | 'collection_archive_invalid';

/**
 * The reason for which an archive is rejected: a code, which becomes `details.reason`, and a message. The caller knows
 * what kind of archive was expected and adds the error code.
 */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';

  constructor(
    readonly reason: ArchiveReason,
    message: string,
  ) {
    super(message);
  }

  /** The client error for this reason. */
  clientError(code: ArchiveCode): AppError {
    return new AppError(code, this.message, { details: { reason: this.reason } });
  }
}

const FORMAT_VERSION = 1;
export const MANIFEST = 'manifest.json';
export const TENANTS = 'tenants.json';
/** The maximum size of manifests and of the list of tenants, which are read whole. */
export const WHOLE_ENTRY_BYTES_MAX = 256 * 1024 * 1024;

/** The maximum nesting of a manifest: far more than manifests have, and far less than what overflows the stack. */
const LEVELS_MAX = 100;
/** The maximum length of a collection's settings, which the server receives and keeps in its catalog. */
const SETTINGS_CHARACTERS_MAX = 64 * 1024;

type Count = number & tags.Type<'uint64'>;
type Digest = string & tags.Pattern<'^[0-9a-f]{64}$'>;

/** An entry of the zip with its size and digest, as a manifest lists it. */
export interface EntryRecord {
  name: string;
  bytes: Count;
  sha256: Digest;
}

interface Heading {
  format_version: number;
  service_version: string;
  schema_version: number;
  created_at: string;
}

/** The manifest of a collection: its settings, and the entries of its folder. */
export interface CollectionManifest extends Heading {
  format: 'sheaf-collection';
  collection: ArchivedSettings;
  counts: ArchiveCounts;
  /** The number of logged searches that were left out because their records were damaged; absent if there are none. */
  queries_left_out?: Count;
  /** Absent if the collection has none, and in archives from before they were archived. */
  judgement_sets?: JudgementSet[];
  /** All other entries of the folder, in their order. */
  entries: EntryRecord[];
}

/** The manifest of a whole dataset, which is the first one that a reader opens. */
export interface DatasetManifest extends Heading {
  format: 'sheaf-dataset';
  /** The collections. Each manifest is an entry that lists the other entries of its collection. */
  collections: {
    tenant: string;
    name: string;
    folder: string & tags.Pattern<'^collections/[0-9]{1,10}/$'>;
    manifest: EntryRecord;
  }[];
  /** Collections of the dataset that are not in the archive. */
  left_out: { tenant: string; name: string; reason: string }[];
  /** The tenants and keys that were created at run time, in `tenants.json`. */
  tenants: EntryRecord;
  /** Aliases of the collections; absent in archives from before aliases were archived. */
  aliases?: { tenant: string; alias: string; collection: string }[];
}

export type Manifest = CollectionManifest | DatasetManifest;

export const folderOf = (place: number): string => `collections/${place}/`;
export const documentsEntry = (folder: string, place: number): string => `${folder}documents/${padded(place)}.msgpack`;
export const queriesEntry = (folder: string, place: number): string => `${folder}queries/${padded(place)}.msgpack`;
export const isDocumentsEntry = (name: string): boolean =>
  /^(collections\/\d+\/)?documents\/\d{5,10}\.msgpack$/.test(name);
export const isQueriesEntry = (name: string): boolean => /^(collections\/\d+\/)?queries\/\d{5,10}\.msgpack$/.test(name);

const padded = (place: number): string => String(place).padStart(5, '0');

export const headingAt = (createdAt: string): Heading => ({
  format_version: FORMAT_VERSION,
  service_version: SERVICE_VERSION,
  schema_version: SCHEMA_VERSION,
  created_at: createdAt,
});

/** The settings of a collection that belong in an archive, without other fields. */
export function settingsOf(collection: Collection | ArchivedSettings): ArchivedSettings {
  const {
    tenant,
    name,
    display_name,
    created_at,
    embedder_type,
    embed_model,
    embedder_config,
    vector_space_key,
    dim,
    chunking,
    priority_key,
    search_mode,
    language,
    precision,
    ttl,
    synonyms,
  } = collection;
  return {
    tenant,
    name,
    display_name,
    created_at,
    embedder_type,
    embed_model,
    embedder_config,
    vector_space_key,
    dim,
    chunking,
    priority_key,
    search_mode,
    language,
    precision,
    ...(ttl && { ttl }),
    ...(synonyms && synonyms.length > 0 && { synonyms }),
  };
}

const isHeading = typia.createIs<Heading & { format: string }>();
const isManifest = typia.createIs<CollectionManifest | DatasetManifest>();

/** Parses a manifest. Throws `ArchiveError` if it is not a Sheaf manifest, or one of another version. */
export function parseManifest(bytes: Buffer): Manifest {
  const manifest = parsedJson(bytes);
  if (isDeeperThan(LEVELS_MAX, manifest))
    throw new ArchiveError('manifest_invalid', `The manifest has more than ${LEVELS_MAX} levels.`);
  if (!isHeading(manifest) || !manifest.format.startsWith('sheaf-'))
    throw new ArchiveError('manifest_invalid', 'The manifest is not that of a Sheaf archive.');
  if (manifest.format_version !== FORMAT_VERSION)
    throw new ArchiveError(
      'format_unknown',
      `The archive has format version ${manifest.format_version}; this server reads ${FORMAT_VERSION}.`,
    );
  if (manifest.service_version !== SERVICE_VERSION)
    throw new ArchiveError(
      'service_version',
      `The archive is of version ${manifest.service_version}; this server is ${SERVICE_VERSION}.`,
    );
  if (manifest.schema_version !== SCHEMA_VERSION)
    throw new ArchiveError(
      'schema_version',
      `The archive has schema version ${manifest.schema_version}; this server has ${SCHEMA_VERSION}.`,
    );
  if (!isManifest(manifest)) throw new ArchiveError('manifest_invalid', 'The manifest has a wrong shape.');
  if ('collection' in manifest && JSON.stringify(settingsOf(manifest.collection)).length > SETTINGS_CHARACTERS_MAX)
    throw new ArchiveError('settings_invalid', 'The settings of the collection are too long.');
  return manifest;
}

/** Parses an entry that contains JSON. */
export function parsedJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new ArchiveError('manifest_invalid', 'The manifest is not JSON.');
  }
}
