// Archives of a collection and of everything: the zip that is sent while it is written, and the uploaded file of a
// form. Runs on the main thread.
import type { ARCHIVE_ROUTES, CollectionPlace, LeftOut, LinesWish, RestoredCollection } from '../../api/archives.js';
import { AppError, invalidField } from '../../api/errors.js';
import { type Filter, parseFilter } from '../../api/filter.js';
import { isSlug } from '../../api/ids.js';
import { EXPORT_LIMIT_MAX } from '../../api/limits.js';
import { archiveCollection, archiveDataset, exportCollection } from '../../service/archive/archive.js';
import {
  type RestoreWish,
  checkPresence,
  restoreCollection,
  restoreDataset,
  restoredDataset,
} from '../../service/archive/restore.js';
import type { Services } from '../../service/services.js';
import { type Handler, type OwnHandlers, type Reply, type Request, collectionOf, flag } from '../route.js';

/** Bound for the header; the archive's manifest has the full list. */
const HEADER_CHARACTERS_MAX = 8000;
/** Largest permitted ratio of unpacked to packed size of a tenant's archive. */
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
    return { status: 200, json: restoredDataset(archive, isDryRun) };
  };

const getCollectionArchive =
  (context: Services['archive']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    return zipReply(`${tenant}-${name}`, await archiveCollection(context, tenant, name, request.signal), {});
  };

const getExport =
  (context: Services['archive']): Handler =>
  async (request) => {
    const [tenant, name] = collectionOf(request);
    const stream = await exportCollection(
      context,
      tenant,
      name,
      linesWish(request, context.stringOperators),
      request.signal,
    );
    return { status: 200, stream, contentType: 'application/x-ndjson' };
  };

function linesWish(request: Request, stringOperators: boolean): LinesWish {
  const { query } = request;
  const limit = query.get('limit') || undefined;
  if (limit !== undefined && !(/^\d{1,10}$/.test(limit) && Number(limit) >= 1 && Number(limit) <= EXPORT_LIMIT_MAX))
    throw invalidField(
      ['query', 'limit'],
      `Should be a whole number from 1 to ${EXPORT_LIMIT_MAX}.`,
      'out_of_range',
      limit.slice(0, 200),
    );
  return {
    after: query.get('after') || undefined,
    filter: filterIn(query.get('filters') || '{}', stringOperators),
    limit: limit === undefined ? undefined : Number(limit),
    withVectors: flag(request, 'vectors'),
  };
}

function filterIn(text: string, stringOperators: boolean): Filter {
  let filters: unknown;
  try {
    filters = JSON.parse(text);
  } catch {
    filters = undefined;
  }
  if (typeof filters !== 'object' || filters === null || Array.isArray(filters))
    throw invalidField(['query', 'filters'], 'Should be a JSON object.', 'json_type', text.slice(0, 200));
  return parseFilter(filters as Record<string, unknown>, { stringOperators });
}

/** `unpackedBytesMax` bounds the unpacked size for restricted callers. */
const restoreArchive =
  (context: Services['archive'], mode: RestoreWish['mode'], unpackedBytesMax = Number.MAX_SAFE_INTEGER): Handler =>
  async (request) => {
    const [tenant, given] = collectionOf(request);
    const name = context.store.catalog.nameOf(tenant, given);
    const isDryRun = flag(request, 'dry_run');
    const from = sourceOf(request, tenant);
    // Fails before a large body is read in vain.
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

/** The parameter `from`: `tenant/name`, or only a name of the tenant that it is restored into. */
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

/** Path of the uploaded file, which exists until the request is over. Throws `code` if it, or the body, is empty. */
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
  // A damaged name may contain characters that a header cannot carry.
  const names = leftOut.map(({ tenant, name }) => `${tenant}/${name}`.replace(/[^!-~]/g, '?')).join(', ');
  return names.length <= HEADER_CHARACTERS_MAX
    ? names
    : `${names.slice(0, names.lastIndexOf(',', HEADER_CHARACTERS_MAX))}, ...`;
}

/** `archiveBytesMax` is the limit for archives that tenants restore. */
export function archiveHandlers(
  context: Services['archive'],
  archiveBytesMax: number,
): OwnHandlers<typeof ARCHIVE_ROUTES> {
  const unpackedBytesMax = UNPACKED_PER_BYTE * archiveBytesMax;
  return {
    dumpArchive: getDatasetArchive(context),
    restoreArchive: putDatasetArchive(context),
    dumpCollectionArchiveAsAdmin: getCollectionArchive(context),
    restoreCollectionArchiveAsAdmin: restoreArchive(context, 'create'),
    replaceCollectionArchiveAsAdmin: restoreArchive(context, 'replace'),
    exportDocuments: getExport(context),
    dumpCollectionArchive: getCollectionArchive(context),
    restoreCollectionArchive: restoreArchive(context, 'create', unpackedBytesMax),
    replaceCollectionArchive: restoreArchive(context, 'replace', unpackedBytesMax),
  };
}
