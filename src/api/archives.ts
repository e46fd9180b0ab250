// Archives: the settings and counts that an archive carries, answers, and routes.
import typia, { type tags } from 'typia';
import type { Collection } from './collections.js';
import type { ErrorCode } from './errors.js';
import type { Filter } from './filter.js';
import type { Tenant } from './ids.js';
import { EXPORT_LIMIT_MAX } from './limits.js';
import { ADMIN_COLLECTION, COLLECTION, type Contents, type Parameter, json, ownRoute, routes } from './route.js';

type Count = number & tags.Type<'uint64'>;

/** Which documents of a collection an export writes, and how. */
export interface LinesWish {
  /** Documents behind this one in the order of their ids. */
  after?: string | undefined;
  /** Compared with the metadata of the document. */
  filter?: Filter | undefined;
  limit?: number | undefined;
  withVectors: boolean;
}

/** The settings of a collection in an archive: all that a restore on any server needs. */
export type ArchivedSettings = Pick<
  Collection,
  | 'display_name'
  | 'created_at'
  | 'embedder_type'
  | 'embed_model'
  | 'embedder_config'
  | 'vector_space_key'
  | 'chunking'
  | 'priority_key'
  | 'search_mode'
  | 'language'
  | 'precision'
  | 'ttl'
  | 'synonyms'
> & {
  /** The tenant that the archive was made from. */
  tenant: string;
  name: string;
  dim: number & tags.Type<'uint32'> & tags.Minimum<1> & tags.Maximum<65536>;
};

export interface ArchiveCounts {
  documents: Count;
  chunks: Count;
  queries: Count;
}

export interface LeftOut {
  tenant: Tenant;
  name: string;
  reason: string;
}

/** A line of an export, without `vectors`: an ingest takes it as it is. */
export interface ExportedDocument {
  docid: string;
  metadata: Record<string, unknown>;
  /** The text, put together from the chunks. */
  text?: string;
  /** Of a document that is a vector. */
  v_base64?: string;
  expires_at?: string;
  /** With `vectors`, in place of `text` and `v_base64`. */
  chunks?: ExportedChunk[];
}

export interface ExportedChunk {
  chunk_path: string;
  meta: Record<string, unknown>;
  text?: string;
  /** Base64 of little-endian float32. */
  v_base64: string;
}

/** A collection by tenant and name. */
export interface CollectionPlace {
  tenant: string;
  name: string;
}

/** Result of restoring a collection. `dry_run` and `counts` extend the PaveDB specification. */
export interface RestoredCollection {
  tenant: string;
  collection: string;
  /** The archive was only verified, and nothing has changed. */
  dry_run?: true;
  /** Contents of the archive. */
  counts: ArchiveCounts;
}

export interface RestoredDataset {
  dry_run?: true;
  /** Number of collections in the archive, and the sums of their contents. */
  counts: ArchiveCounts & { collections: number };
  /** Collections that were left out when the archive was made, as `tenant/name`. */
  left_out: string[];
}

const SLUG_PATTERN = '[A-Za-z0-9][A-Za-z0-9._-]{0,127}';

const DRY_RUN: Parameter = {
  name: 'dry_run',
  description: '`true` only verifies the archive and reports its contents.',
  schema: { type: 'boolean', default: false },
  example: false,
};

const FROM: Parameter = {
  name: 'from',
  description:
    'The collection to restore from an archive of everything: `tenant/name`, or a name of the same tenant. Default: the collection with the name in the path. Only this part of the archive is read.',
  schema: { type: 'string', pattern: `^(${SLUG_PATTERN}/)?${SLUG_PATTERN}$` },
  example: 'acme/docs',
};

const EXPORT_QUERY: readonly Parameter[] = [
  {
    name: 'after',
    description:
      'Only documents behind this id, in the order of the ids: the last one of an export that was interrupted.',
    schema: { type: 'string' },
  },
  {
    name: 'limit',
    description: 'Most documents of the answer. Default: all.',
    schema: { type: 'integer', minimum: 1, maximum: EXPORT_LIMIT_MAX },
  },
  {
    name: 'filters',
    description:
      'Metadata filters as JSON, as in a search; they are compared with the metadata of documents, as in a deletion by filter.',
    schema: { type: 'string' },
    example: '{"lang":"en"}',
  },
  {
    name: 'vectors',
    description:
      '`true`: a line has `chunks` with `chunk_path`, `meta`, `text` and `v_base64` (float32, little-endian) instead of the text. Such lines are not for an ingest.',
    schema: { type: 'boolean', default: false },
    example: false,
  },
];

const LINES: Contents = {
  'application/x-ndjson': {
    schema: {
      type: 'string',
      description: 'A document in each line: `docid`, `metadata`, `text` or `v_base64`, `expires_at`.',
    },
    examples: {},
  },
};

const FILE: Contents = {
  'multipart/form-data': {
    schema: {
      type: 'object',
      required: ['file'],
      properties: { file: { type: 'string', contentMediaType: 'application/zip', description: 'The archive.' } },
    },
    examples: {},
  },
};

const ZIP: Contents = {
  'application/zip': { schema: { type: 'string', contentMediaType: 'application/zip' }, examples: {} },
};
const COUNTS: ArchiveCounts = { documents: 117, chunks: 468, queries: 1042 };

const DUMP_CODES: readonly ErrorCode[] = ['archive_failed', 'overloaded'];
const FILE_CODES: readonly ErrorCode[] = [
  'invalid_multipart',
  'missing_archive_file',
  'storage_full',
  'embedder_unavailable',
];
const RESTORE_CODES: readonly ErrorCode[] = [
  ...FILE_CODES,
  'collection_archive_invalid',
  'chunk_limit_reached',
  'collection_changed',
];
const CREATE_CODES: readonly ErrorCode[] = [...RESTORE_CODES, 'collection_exists', 'collection_limit_reached'];
const REPLACE_CODES: readonly ErrorCode[] = [...RESTORE_CODES, 'collection_not_found'];

const long = { isLong: true, tag: 'Archives' } as const;
const admin = { ...long, access: 'admin', keeps400: true } as const;
const own = { ...long, access: 'tenant', scope: 'manage', keeps400: true } as const;

const dump = {
  method: 'GET',
  description:
    'A zip file of the documents with their versions and times, chunks, texts, float32 vectors and logged searches. It shows one moment, while writes go on. `manifest.json` has the SHA-256 of each entry. A download without the central directory of the zip is incomplete.',
  answer: ZIP,
  codes: ['collection_not_found', ...DUMP_CODES],
} as const;

const restore = {
  query: [DRY_RUN, FROM],
  request: { required: true, content: FILE },
  answer: json(typia.json.schema<RestoredCollection>(), {
    answer: { tenant: 'acme', collection: 'docs', counts: COUNTS },
  }),
} as const;

const create = {
  ...restore,
  method: 'POST',
  description:
    'Takes an archive of a collection, or of everything. The archive is verified before anything changes, and the collection appears in one step, with its settings. The server needs an embedder of its vector space.',
} as const;

const replace = {
  ...restore,
  method: 'PUT',
  description:
    'Replaces an existing collection. Searches see the old one until they see the new one. Its logged searches stay, and those of the archive are added.',
} as const;

export const ARCHIVE_ROUTES = routes({
  // The specification also lists 404, but that cannot occur: an empty dataset has an archive.
  dumpArchive: ownRoute({
    ...long,
    method: 'GET',
    path: '/v1/admin/archive',
    access: 'admin',
    ignoresQuery: true,
    summary: 'Archive everything',
    description:
      'All collections of all tenants as of one moment, and the tenants and keys that were created at run time. Collections with damaged records are left out, and listed in the header `X-Service-Skipped-Collections` and in the manifest.',
    answer: ZIP,
    codes: DUMP_CODES,
  }),
  restoreArchive: ownRoute({
    ...admin,
    method: 'PUT',
    path: '/v1/admin/archive',
    summary: 'Replace everything by an archive',
    description:
      'The whole archive is verified and prepared before anything changes. Then it replaces all collections, tenants and keys in one step.',
    query: [DRY_RUN],
    body: 'any_archive',
    request: { required: true, content: FILE },
    answer: json(typia.json.schema<RestoredDataset>(), {
      answer: { counts: { collections: 1, ...COUNTS }, left_out: [] },
    }),
    codes: [...FILE_CODES, 'archive_invalid'],
  }),
  dumpCollectionArchiveAsAdmin: ownRoute({
    ...admin,
    ...dump,
    path: `${ADMIN_COLLECTION}/archive`,
    summary: 'Archive a collection of any tenant',
  }),
  restoreCollectionArchiveAsAdmin: ownRoute({
    ...admin,
    ...create,
    path: `${ADMIN_COLLECTION}/archive`,
    isLimited: true,
    summary: 'Restore a new collection of any tenant from an archive',
    body: 'any_archive',
    codes: CREATE_CODES,
  }),
  replaceCollectionArchiveAsAdmin: ownRoute({
    ...admin,
    ...replace,
    path: `${ADMIN_COLLECTION}/archive`,
    summary: 'Replace a collection of any tenant by an archive',
    body: 'any_archive',
    codes: REPLACE_CODES,
  }),
  exportDocuments: ownRoute({
    ...long,
    method: 'GET',
    access: 'tenant',
    scope: 'manage',
    path: `${COLLECTION}/documents:export`,
    summary: 'Export the documents of a collection as NDJSON',
    description:
      'Documents in the order of their ids, as of one moment, while writes go on; a batch ingest takes the lines as they are. A text is put together from its chunks; a file becomes its text. An answer whose last line has no end is incomplete: continue with `after`, from a new moment.',
    query: EXPORT_QUERY,
    answer: LINES,
    codes: ['collection_not_found', 'overloaded'],
  }),
  dumpCollectionArchive: ownRoute({
    ...own,
    ...dump,
    path: `${COLLECTION}/archive`,
    summary: 'Archive a collection',
  }),
  restoreCollectionArchive: ownRoute({
    ...own,
    ...create,
    path: `${COLLECTION}/archive`,
    summary: 'Restore a new collection from an archive',
    body: 'archive',
    codes: [...CREATE_CODES, 'archive_too_large'],
  }),
  replaceCollectionArchive: ownRoute({
    ...own,
    ...replace,
    path: `${COLLECTION}/archive`,
    summary: 'Replace a collection by an archive',
    body: 'archive',
    codes: [...REPLACE_CODES, 'archive_too_large'],
  }),
});
