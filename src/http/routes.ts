// The route table: every endpoint with who may call it, what its body may be, which statuses it answers, and its
// handler. It drives routing, authentication, limits, error statuses and the OpenAPI document; the statuses are the
// specification's.
import { AppError, type ValidationDetail } from '../api/errors.js';
import type { Context } from '../service/context.js';
import { OPERATIONS } from './openapi/operations.js';
import type { Route } from './route.js';
import { archiveRoutes } from './routes/archives.js';
import { collectionRoutes } from './routes/collections.js';
import { consoleRoutes } from './routes/console.js';
import { withDocs } from './routes/docs.js';
import { batchRoutes, documentRoutes } from './routes/documents.js';
import { embedderRoutes } from './routes/embedders.js';
import { healthRoutes, metricsRoutes } from './routes/health.js';
import { withMcp } from './routes/mcp.js';
import { queryRoutes } from './routes/queries.js';
import { reindexRoutes } from './routes/reindex.js';
import { searchRoutes } from './routes/search.js';
import { tenantRoutes } from './routes/tenants.js';
import type { AllowedSites } from './site-guard.js';

// Refuses parameters of a query string that an operation does not have, as unknown fields of bodies are: one that is
// misspelt, or that only a body can have, would otherwise be passed over, and more found than was asked for. Which there
// are stands in the operation's entry of the OpenAPI document. Pages, and routes that
// answer no 422, take any. The table is marked by routes.ts, a
// request checked by visit.ts.

const NAME_CHARACTERS_MAX = 100;
const DETAILS_MAX = 20;

/** The same route, with the parameters that it has. */
function withKnownParameters(route: Route): Route {
  if (route.access === 'public' || !route.statuses.includes(422)) return route;
  return { ...route, parameters: new Set(OPERATIONS[route.operation]?.query?.map(({ name }) => name)) };
}

/** Throws a 422 that names the parameters that the route does not have. */
export function checkParameters({ parameters }: Route, query: URLSearchParams): void {
  if (parameters === undefined) return;
  const unknown = new Set([...query.keys()].filter((name) => !parameters.has(name)));
  if (unknown.size > 0) throw refusalOf([...unknown]);
}

function refusalOf(names: readonly string[]): AppError {
  const told = names.slice(0, DETAILS_MAX).map((name) => name.slice(0, NAME_CHARACTERS_MAX));
  const detail = told.map((name): ValidationDetail => {
    const loc = ['query', name];
    return { loc, msg: 'There is no such parameter.', type: 'extra_forbidden' };
  });
  return new AppError('validation_error', `There is no such parameter: ${told.join(', ')}.`, { detail });
}

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
