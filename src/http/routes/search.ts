// Search.
import type { Context } from '../../service/context.js';
import { getSearch, postSearch } from '../endpoints/search.js';
import type { Route } from '../route.js';
import { COLLECTION, get, post, SEARCH } from './kit.js';

export function searchRoutes(context: Context): Route[] {
  return [
    get('searchByQuery', `${COLLECTION}/search`, SEARCH, getSearch(context)),
    { ...post('search', `${COLLECTION}/search`, SEARCH, postSearch(context)), scope: 'search' },
  ];
}
