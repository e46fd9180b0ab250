// The route table: every endpoint with who may call it, what its body may be, which statuses it answers, and its
// handler. It drives routing, authentication, limits, error statuses and the OpenAPI document; the statuses are the
// specification's.
import type { Context } from '../service/context.js';
import type { Route } from './route.js';
import { withKnownParameters } from './known-parameters.js';
import { archiveRoutes } from './routes/archives.js';
import { batchRoutes } from './routes/batch.js';
import { collectionRoutes } from './routes/collections.js';
import { consoleRoutes } from './routes/console.js';
import { withDocs } from './routes/docs.js';
import { documentRoutes } from './routes/documents.js';
import { embedderRoutes } from './routes/embedders.js';
import { healthRoutes } from './routes/health.js';
import { withMcp } from './routes/mcp.js';
import { metricsRoutes } from './routes/metrics.js';
import { queryRoutes } from './routes/queries.js';
import { reindexRoutes } from './routes/reindex.js';
import { searchRoutes } from './routes/search.js';
import { tenantRoutes } from './routes/tenants.js';
import type { AllowedSites } from './site-guard.js';

/** `allowed`: of which sites the pages may call. */
export function createRoutes(context: Context, allowed: AllowedSites = { hosts: [], origins: [] }): Route[] {
  const own = [
    ...healthRoutes(context),
    ...metricsRoutes(context),
    ...tenantRoutes(context),
    ...embedderRoutes(context),
    ...collectionRoutes(context),
    ...archiveRoutes(context),
    ...documentRoutes(context),
    ...batchRoutes(context),
    ...searchRoutes(context),
    ...queryRoutes(context),
    ...reindexRoutes(context),
    ...consoleRoutes(),
  ];
  return withDocs(withMcp(own, context, allowed)).map(withKnownParameters);
}
