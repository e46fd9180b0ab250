// Archives: of everything for the admin, of a collection for the admin and for its tenant.
// One list of routes, joined to the table by routes.ts.
import type { Context } from '../../service/context.js';
import { getCollectionArchive, getDatasetArchive, putDatasetArchive, restoreArchive } from '../endpoints/archives.js';
import type { Handler, Route } from '../route.js';
import { admin, COLLECTION, get, post } from './kit.js';

const DATASET = '/v1/admin/archive';
const ADMIN = '/v1/admin/collections/{tenant}/{name}/archive';
const OWN = `${COLLECTION}/archive`;

export function archiveRoutes(context: Context): Route[] {
  const [create, replace] = [restoreArchive(context, 'create', false), restoreArchive(context, 'replace', false)];
  const [createOwn, replaceOwn] = [restoreArchive(context, 'create', true), restoreArchive(context, 'replace', true)];
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

const put = (operation: string, path: string, statuses: readonly number[], handle: Handler): Route => ({
  ...post(operation, path, statuses, handle),
  method: 'PUT',
});

const own = (route: Route): Route => ({
  ...route,
  body: route.method === 'GET' ? 'none' : 'archive',
  scope: 'manage',
  isLong: true,
});

const restricted = (route: Route): Route => ({
  ...admin(route),
  body: route.method === 'GET' ? 'none' : 'any_archive',
  isLong: true,
});
