// Entries of the archive operations.
// Read by ../operations.ts. Constants.
import type { RestoredCollection, RestoredDataset } from '../../../contract/api/archives.js';
import type { ErrorCode } from '../../../contract/errors.js';
import { jsonAnswer, type Operation, type Parameter } from '../operation.js';

const SLUG_PATTERN = '[A-Za-z0-9][A-Za-z0-9._-]{0,127}';

const DRY_RUN: readonly Parameter[] = [
  {
    name: 'dry_run',
    description: '`true` verifies the archive and says what it has, and changes nothing.',
    schema: { type: 'boolean', default: false },
    example: false,
  },
];

const FROM: Parameter = {
  name: 'from',
  description:
    'The collection to take out of an archive of everything: `tenant/name`, or a name of the same tenant. Omitted: the one of the names that it is restored under. No more of the archive is looked at than this collection.',
  schema: { type: 'string', pattern: `^(${SLUG_PATTERN}/)?${SLUG_PATTERN}$` },
  example: 'acme/docs',
};

const FILE: Operation['request'] = {
  required: true,
  content: {
    'multipart/form-data': {
      schema: {
        type: 'object',
        required: ['file'],
        properties: { file: { type: 'string', contentMediaType: 'application/zip', description: 'The archive.' } },
      },
      examples: {},
    },
  },
};

const ZIP = { 'application/zip': { schema: { type: 'string', contentMediaType: 'application/zip' }, examples: {} } };
const COUNTS = { documents: 117, chunks: 468, queries: 1042 };
const RESTORED: RestoredCollection = { tenant: 'acme', collection: 'docs', counts: COUNTS };
const DATASET: RestoredDataset = { counts: { collections: 1, ...COUNTS }, left_out: [] };
const READS: readonly ErrorCode[] = ['archive_failed', 'overloaded'];
const INVALID: readonly ErrorCode[] = [
  'invalid_multipart',
  'missing_archive_file',
  'storage_full',
  'embedder_unavailable',
];
const OF_COLLECTION: readonly ErrorCode[] = [
  ...INVALID,
  'collection_archive_invalid',
  'chunk_limit_reached',
  'collection_changed',
];

const dump: Operation = {
  tag: 'Archives',
  summary: 'An archive of a collection',
  description:
    'A zip of documents with their versions and times, chunks, texts, float32 vectors and logged searches, as of one moment while writes go on; `manifest.json` has the SHA-256 of each entry. A download that ends without the directory of the zip is not whole.',
  answer: ZIP,
  codes: ['collection_not_found', ...READS],
};

const create: Operation = {
  tag: 'Archives',
  summary: 'Restore a new collection from an archive',
  description:
    'From an archive of a collection, or of everything. All that is wanted of it is verified before anything changes; the collection appears whole, at once. It takes its settings along; an embedder of its space has to be there.',
  query: [...DRY_RUN, FROM],
  request: FILE,
  answer: jsonAnswer('RestoredCollection', RESTORED),
  codes: [...OF_COLLECTION, 'collection_exists', 'collection_limit_reached'],
};

const replace: Operation = {
  ...create,
  summary: 'Replace a collection by one from an archive',
  description:
    'As a restore, in place of a collection that is there: searches see the old one until they see the new one. Its logged searches stay, and those of the archive come to them.',
  codes: [...OF_COLLECTION, 'collection_not_found'],
};

export const ARCHIVE_OPERATIONS = {
  dumpArchive: {
    ...dump,
    summary: 'An archive of everything',
    description:
      'All collections of all tenants as of one moment, and the tenants and keys that were made at run time. Collections with damaged records are left out, and named in the header `X-Service-Skipped-Collections` and in the manifest.',
    codes: READS,
  },
  restoreArchive: {
    tag: 'Archives',
    summary: 'Put an archive in the place of everything',
    description:
      'All of it is verified and staged before anything changes; then it takes the place of all collections, tenants and keys, at once.',
    query: DRY_RUN,
    request: FILE,
    answer: jsonAnswer('RestoredDataset', DATASET),
    codes: [...INVALID, 'archive_invalid'],
  },
  dumpCollectionArchiveAsAdmin: { ...dump, summary: 'An archive of a collection of any tenant' },
  restoreCollectionArchiveAsAdmin: { ...create, summary: 'Restore a new collection of any tenant from an archive' },
  replaceCollectionArchiveAsAdmin: { ...replace, summary: 'Replace a collection of any tenant by one from an archive' },
  dumpCollectionArchive: dump,
  restoreCollectionArchive: { ...create, codes: [...(create.codes ?? []), 'archive_too_large'] },
  replaceCollectionArchive: { ...replace, codes: [...(replace.codes ?? []), 'archive_too_large'] },
} satisfies Record<string, Operation>;
