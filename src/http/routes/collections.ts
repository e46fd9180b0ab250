// The listing of a tenant's collections, streamed page by page. Runs on front threads and on the
// main thread.
import type { COLLECTION_ROUTES } from '../../api/collections.js';
import { listCollections } from '../../service/documents/listings.js';
import type { RecordsContext } from '../../service/documents/documents.js';
import { seesCollection } from '../../service/tenants/actor.js';
import { listingReply } from '../listing.js';
import { type OwnHandlers, tenantOf } from '../route.js';

export const collectionHandlers = (context: RecordsContext): OwnHandlers<typeof COLLECTION_ROUTES> => ({
  /** Lists the collections that the caller's key can access. */
  listCollections: async (request) => {
    const tenant = tenantOf(request);
    const isVisible = (name: string): boolean => seesCollection(request.actor, name);
    return listingReply(request.query, {
      head: { tenant },
      field: 'collections',
      pages: (span) => listCollections(context, tenant, isVisible, span),
    });
  },
});
