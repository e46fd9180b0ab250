// Archives: of a collection, of everything; out, in, and in place of what is there.
// Handlers on the front thread: body in, use case, reply out. The route table (routes/archives.ts) names them.
import type { RestoredCollection, RestoredDataset } from '../../contract/api/archives.js';
import type { ArchiveCounts } from '../../contract/archived.js';
import type { VerifiedArchive } from '../../contract/archive-messages.js';
import type { CollectionPlace } from '../../contract/archived.js';
import type { LeftOut } from '../../contract/archived.js';
import { AppError, invalidField } from '../../contract/errors.js';
import { isSlug } from '../../contract/ids.js';
import type { BegunArchive } from '../../pool/archive-pool.js';
import type { Context } from '../../service/context.js';
import { checkPresence, restoreCollection, type RestoreWish } from '../../service/restore-collection.js';
import { restoreDataset } from '../../service/restore-dataset.js';
import { archiveCollection, archiveDataset } from '../../service/write-archive.js';
import { flag } from '../query-values.js';
import type { Handler, Reply, Request } from '../route.js';
import { collectionOf } from './path.js';

/** Headers end somewhere; the archive's manifest names them all. */
const HEADER_CHARACTERS_MAX = 8000;
/** A tenant's archive may unpack to so much more than it is. */
const UNPACKED_PER_BYTE = 4;

export const getDatasetArchive =
  (context: Context): Handler =>
  async ({ signal }) => {
    const archive = await archiveDataset(context, signal);
    return zipReply(
      'sheaf',
      archive,
      archive.leftOut.length === 0 ? {} : { 'X-Service-Skipped-Collections': listed(archive.leftOut) },
    );
  };

export const putDatasetArchive =
  (context: Context): Handler =>
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

export const getCollectionArchive =
  (context: Context): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    return zipReply(`${tenant}-${name}`, await archiveCollection(context, tenant, name, request.signal), {});
  };

/** `isBounded`: where the caller may not restore as much as he likes. */
export const restoreArchive =
  (context: Context, mode: RestoreWish['mode'], isBounded: boolean): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const isDryRun = flag(request, 'dry_run');
    const from = sourceOf(request, tenant);
    // Before a large body is read for nothing.
    checkPresence(context, { tenant, name, mode });
    const path = await uploaded(request, 'collection_archive_invalid');
    const unpackedBytesMax = isBounded ? UNPACKED_PER_BYTE * context.archiveBytesMax : Number.MAX_SAFE_INTEGER;
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

function zipReply(name: string, { bytes }: BegunArchive, headers: Record<string, string>): Reply {
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

function summed({ collections }: VerifiedArchive): RestoredDataset['counts'] {
  const sum = (what: keyof ArchiveCounts): number => collections.reduce((total, { counts }) => total + counts[what], 0);
  return {
    collections: collections.length,
    documents: sum('documents'),
    chunks: sum('chunks'),
    queries: sum('queries'),
  };
}
