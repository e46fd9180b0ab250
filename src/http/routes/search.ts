// Search of a collection, and of the shared scope, which any key may search.
// Named by the route table (routes.ts).
import type { Context } from '../../service/context.js';
import { postRecall } from '../endpoints/recall.js';
import { getVectorSample } from '../endpoints/vector-sample.js';
import { getSearch, getSharedSearch, postSearch, postSharedSearch } from '../endpoints/search.js';
import type { Route } from '../route.js';
import { COLLECTION, get, post, READ_ONE, SEARCH } from './kit.js';

export function searchRoutes(context: Context): Route[] {
  return [
    get('searchByQuery', `${COLLECTION}/search`, SEARCH, getSearch(context)),
    {
      ...post('search', `${COLLECTION}/search`, SEARCH, postSearch(context)),
      body: 'search',
      scope: 'search',
    },
    { ...post('measureRecall', `${COLLECTION}/recall`, [...SEARCH, 404], postRecall(context)), scope: 'search' },
    get('sampleVectors', `${COLLECTION}/vectors`, [...READ_ONE, 503], getVectorSample(context)),
    { ...get('searchSharedByQuery', '/v1/search', SEARCH, getSharedSearch(context)), access: 'any' },
    {
      ...post('searchShared', '/v1/search', [...SEARCH, 400], postSharedSearch(context)),
      body: 'search',
      access: 'any',
      scope: 'search',
    },
  ];
}
