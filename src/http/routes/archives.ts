// Archives: of a collection, of everything; out, in, and in place of what is there.
// Handlers on the front thread: body in, use case, reply out. The route table (routes/archives.ts) names them.
import type {
  ArchiveCounts,
  CollectionPlace,
  LeftOut,
  RestoredCollection,
  RestoredDataset,
} from '../../api/archives.js';
import { AppError, type ErrorCode, invalidField } from '../../api/errors.js';
import { isSlug } from '../../api/ids.js';
import { archiveCollection, archiveDataset } from '../../service/archive/archive.js';
import { type RestoreWish, checkPresence, restoreCollection, restoreDataset } from '../../service/archive/restore.js';
import type { Services } from '../../service/services.js';
import { type Operation, type Parameter, jsonAnswer } from '../openapi/operation.js';
import { COLLECTION } from '../../api/route.js';
import {
  type Handler,
  type Reply,
  type Request,
  type ListedRoute,
  admin,
  collectionOf,
  flag,
  get,
  post,
} from '../route.js';

/** Headers end somewhere; the archive's manifest names them all. */
const HEADER_CHARACTERS_MAX = 8000;
/** A tenant's archive may unpack to so much more than it is. */
const UNPACKED_PER_BYTE = 4;

const getDatasetArchive =
  (context: Services['archive']): Handler =>
  async ({ signal }) => {
    const archive = await archiveDataset(context, signal);
    return zipReply(
      'sheaf',
      archive,
      archive.leftOut.length === 0 ? {} : { 'X-Service-Skipped-Collections': listed(archive.leftOut) },
    );
  };

const putDatasetArchive =
  (context: Services['archive']): Handler =>
  async (request) => {
    const isDryRun = flag(request, 'dry_run');
    const archive = await restoreDataset(context, await uploaded(request, 'archive_invalid'), isDryRun, request.signal);
    const leftOut = archive.leftOut.map(({ tenant, name }) => `${tenant}/${name}`);
    return {
      status: 200,
      json: {
        ...(isDryRun && { dry_run: true }),
        counts: summed(archive),
        left_out: leftOut,
      } satisfies RestoredDataset,
    };
  };

const getCollectionArchive =
  (context: Services['archive']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    return zipReply(`${tenant}-${name}`, await archiveCollection(context, tenant, name, request.signal), {});
  };

/** `unpackedBytesMax`: where the caller may not restore as much as it likes. */
const restoreArchive =
  (context: Services['archive'], mode: RestoreWish['mode'], unpackedBytesMax = Number.MAX_SAFE_INTEGER): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const isDryRun = flag(request, 'dry_run');
    const from = sourceOf(request, tenant);
    // Before a large body is read for nothing.
    checkPresence(context, { tenant, name, mode });
    const path = await uploaded(request, 'collection_archive_invalid');
    const counts = await restoreCollection(context, path, {
      tenant,
      name,
      mode,
      from,
      isDryRun,
      unpackedBytesMax,
      signal: request.signal,
    });
    return {
      status: 200,
      json: { tenant, collection: name, ...(isDryRun && { dry_run: true }), counts } satisfies RestoredCollection,
    };
  };

/** `from`: `tenant/name`, or a name alone for the tenant that it is restored into. */
function sourceOf({ query }: Request, own: string): CollectionPlace | undefined {
  const from = query.get('from');
  if (from === null || from === '') return undefined;
  const names = from.includes('/') ? from.split('/') : [own, from];
  const [tenant = '', name = ''] = names;
  if (names.length === 2 && isSlug(tenant) && isSlug(name)) return { tenant, name };
  throw invalidField(
    ['query', 'from'],
    'Should be tenant/name, or a name.',
    'string_pattern_mismatch',
    from.slice(0, 200),
  );
}

function zipReply(
  name: string,
  { bytes }: { readonly bytes: AsyncIterable<Uint8Array> },
  headers: Record<string, string>,
): Reply {
  return {
    status: 200,
    stream: bytes,
    contentType: 'application/zip',
    headers: { 'Content-Disposition': `attachment; filename="${name}.zip"`, ...headers },
  };
}

/** The file of the form, on disk until the request is over. Throws `code` where it, or the body, is empty. */
async function uploaded({ body }: Request, code: 'archive_invalid' | 'collection_archive_invalid'): Promise<string> {
  const empty = new AppError(code, 'The archive is empty.', { details: { reason: 'empty' } });
  const { file } = await body.form().catch((error: unknown) => {
    throw body.isEmpty ? empty : error;
  });
  if (!file) throw new AppError('missing_archive_file');
  if (!('path' in file)) throw empty;
  return file.path;
}

function listed(leftOut: readonly LeftOut[]): string {
  // A name may be damaged too, and not be what a header can carry.
  const names = leftOut.map(({ tenant, name }) => `${tenant}/${name}`.replace(/[^!-~]/g, '?')).join(', ');
  return names.length <= HEADER_CHARACTERS_MAX
    ? names
    : `${names.slice(0, names.lastIndexOf(',', HEADER_CHARACTERS_MAX))}, ...`;
}

function summed({
  collections,
}: {
  readonly collections: readonly { readonly counts: ArchiveCounts }[];
}): RestoredDataset['counts'] {
  const sum = (what: keyof ArchiveCounts): number => collections.reduce((total, { counts }) => total + counts[what], 0);
  return {
    collections: collections.length,
    documents: sum('documents'),
    chunks: sum('chunks'),
    queries: sum('queries'),
  };
}

// Archives: of everything for the admin, of a collection for the admin and for its tenant.
// One list of routes, joined to the table by routes.ts.

const DATASET = '/v1/admin/archive';
const ADMIN = '/v1/admin/collections/{tenant}/{name}/archive';
const OWN = `${COLLECTION}/archive`;

/** `archiveBytesMax`: of an archive that a tenant restores. */
export function archiveRoutes(context: Services['archive'], archiveBytesMax: number): ListedRoute[] {
  const unpackedBytesMax = UNPACKED_PER_BYTE * archiveBytesMax;
  const [create, replace] = [restoreArchive(context, 'create'), restoreArchive(context, 'replace')];
  const createOwn = restoreArchive(context, 'create', unpackedBytesMax);
  const replaceOwn = restoreArchive(context, 'replace', unpackedBytesMax);
  return [
    // The specification lists 404 too; there is no occasion for it, for an empty dataset has an archive.
    restricted(get('dumpArchive', DATASET, [200, 401, 403, 500], getDatasetArchive(context))),
    restricted(put('restoreArchive', DATASET, [200, 400, 401, 403, 422, 500], putDatasetArchive(context))),
    restricted(
      get('dumpCollectionArchiveAsAdmin', ADMIN, [200, 400, 401, 403, 404, 422, 500], getCollectionArchive(context)),
    ),
    restricted(post('restoreCollectionArchiveAsAdmin', ADMIN, [200, 400, 401, 403, 409, 422, 429, 500], create)),
    restricted(put('replaceCollectionArchiveAsAdmin', ADMIN, [200, 400, 401, 403, 404, 422, 500], replace)),
    own(
      get('dumpCollectionArchive', OWN, [200, 400, 401, 403, 404, 422, 429, 500, 503], getCollectionArchive(context)),
    ),
    own(post('restoreCollectionArchive', OWN, [200, 400, 401, 403, 409, 413, 422, 429, 500, 503], createOwn)),
    own(put('replaceCollectionArchive', OWN, [200, 400, 401, 403, 404, 413, 422, 429, 500, 503], replaceOwn)),
  ];
}

const put = (operation: string, path: string, statuses: readonly number[], handle: Handler): ListedRoute => ({
  ...post(operation, path, statuses, handle),
  method: 'PUT',
});

const own = (route: ListedRoute): ListedRoute => ({
  ...route,
  body: route.method === 'GET' ? 'none' : 'archive',
  scope: 'manage',
  isLong: true,
});

const restricted = (route: ListedRoute): ListedRoute => ({
  ...admin(route),
  body: route.method === 'GET' ? 'none' : 'any_archive',
  isLong: true,
});

// Entries of the archive operations.
// Read by ../operations.ts. Constants.

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
const DATASET_EXAMPLE: RestoredDataset = { counts: { collections: 1, ...COUNTS }, left_out: [] };
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
    answer: jsonAnswer('RestoredDataset', DATASET_EXAMPLE),
    codes: [...INVALID, 'archive_invalid'],
  },
  dumpCollectionArchiveAsAdmin: { ...dump, summary: 'An archive of a collection of any tenant' },
  restoreCollectionArchiveAsAdmin: { ...create, summary: 'Restore a new collection of any tenant from an archive' },
  replaceCollectionArchiveAsAdmin: { ...replace, summary: 'Replace a collection of any tenant by one from an archive' },
  dumpCollectionArchive: dump,
  restoreCollectionArchive: { ...create, codes: [...(create.codes ?? []), 'archive_too_large'] },
  replaceCollectionArchive: { ...replace, codes: [...(replace.codes ?? []), 'archive_too_large'] },
} satisfies Record<string, Operation>;
