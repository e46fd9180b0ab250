// The route table: every endpoint with who may call it, what its body may be, which statuses it answers, and its handler.
// It drives routing, authentication, limits, error statuses and the OpenAPI document; the statuses are the specification's.
import type { Context } from '../service/context.js';
import type { Route } from './route.js';
import { collectionRoutes } from './routes/collections.js';
import { documentRoutes } from './routes/documents.js';
import { healthRoutes } from './routes/health.js';
import { searchRoutes } from './routes/search.js';

export function createRoutes(context: Context): Route[] {
  return [...healthRoutes(context), ...collectionRoutes(context), ...documentRoutes(context), ...searchRoutes(context)];
}
