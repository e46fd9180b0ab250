// The route table of a front thread: searches run there, all other requests are forwarded to the main thread. Front
// threads only.
import { ARCHIVE_ROUTES } from '../api/archives.js';
import { COLLECTION_ROUTES } from '../api/collections.js';
import { DOCUMENT_ROUTES } from '../api/documents.js';
import { EMBEDDER_ROUTES } from '../api/embedders.js';
import { EVENT_ROUTES } from '../api/events.js';
import { HEALTH_ROUTES, METRICS_ROUTES } from '../api/health.js';
import { QUERY_ROUTES } from '../api/queries.js';
import { RECALL_ROUTES } from '../api/recall.js';
import { REINDEX_ROUTES } from '../api/reindex.js';
import type { RouteDefinition } from '../api/route.js';
import { SEARCH_ROUTES } from '../api/search.js';
import { TENANT_ROUTES } from '../api/tenants.js';
import type { LoggedSearchContext } from '../service/query-log/logged-search.js';
import type { Forwarder } from './forward.js';
import { type DefinedRoute, type Handler, withParameters } from './route.js';
import { CONSOLE_ROUTES } from './routes/console.js';
import { DOCS_ROUTES } from './routes/docs.js';
import { MCP_ROUTES } from './routes/mcp.js';
import { searchHandlers } from './routes/search.js';

const FORWARDED = [
  HEALTH_ROUTES,
  METRICS_ROUTES,
  TENANT_ROUTES,
  EMBEDDER_ROUTES,
  COLLECTION_ROUTES,
  ARCHIVE_ROUTES,
  DOCUMENT_ROUTES,
  RECALL_ROUTES,
  QUERY_ROUTES,
  REINDEX_ROUTES,
  EVENT_ROUTES,
  CONSOLE_ROUTES,
  MCP_ROUTES,
  DOCS_ROUTES,
];

export function createFrontRoutes(search: LoggedSearchContext, forwarder: Forwarder): DefinedRoute[] {
  const own = searchHandlers(search) as Readonly<Record<string, Handler>>;
  const definitions = [SEARCH_ROUTES, ...FORWARDED].flatMap((area) => Object.values<RouteDefinition>(area));
  return definitions.map((definition) =>
    withParameters({ ...definition, handle: own[definition.operation] ?? forwarder.handlerOf(definition) }),
  );
}
