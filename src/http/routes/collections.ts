// The lines of the route table for collections, and the admin's list of tenants.
// Called by ../routes.ts.
import type { Context } from '../../service/context.js';
import {
  getCollectionDetail,
  getCollections,
  listTenants,
  moveCollection,
  patchCollection,
  postCollection,
  removeCollection,
} from '../endpoints/collections.js';
import type { Route } from '../route.js';
import { admin, COLLECTION, get, post, READ, READ_ONE, remove } from './kit.js';

export function collectionRoutes(context: Context): Route[] {
  return [
    admin(get('listTenants', '/v1/admin/tenants', [200, 401, 403, 500], listTenants(context))),
    admin(
      post(
        'moveCollectionAsAdmin',
        '/v1/admin/collections/{tenant}/{name}/move',
        [200, 400, 401, 403, 404, 409, 422, 500],
        moveCollection(context),
      ),
    ),
    get('listCollections', '/v1/collections/{tenant}', READ, getCollections(context)),
    {
      ...post('createCollection', COLLECTION, [201, 400, 401, 403, 422, 429, 500, 503], postCollection(context)),
      scope: 'manage',
    },
    {
      ...post('updateCollection', COLLECTION, [200, 400, 401, 403, 404, 422, 429, 500], patchCollection(context)),
      method: 'PATCH',
      scope: 'manage',
    },
    {
      ...remove('deleteCollection', COLLECTION, [200, 400, 401, 403, 404, 422, 429, 500], removeCollection(context)),
      scope: 'manage',
    },
    get('getCollection', `${COLLECTION}/detail`, READ_ONE, getCollectionDetail(context)),
    {
      ...post(
        'moveCollection',
        `${COLLECTION}/move`,
        [200, 400, 401, 403, 404, 409, 422, 429, 500],
        moveCollection(context),
      ),
      scope: 'manage',
    },
  ];
}
