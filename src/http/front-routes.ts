// The route table of a front thread: searches, reads of documents and chunks, the list of collections and the liveness
// check run there; all other requests are forwarded to the main thread. Front threads only.
import { ARCHIVE_ROUTES } from '../api/archives.js';
import { BACKUP_ROUTES } from '../api/backups.js';
import { COLLECTION_ROUTES } from '../api/collections.js';
import { ALIAS_ROUTES } from '../api/aliases.js';
import { CLUSTER_ROUTES } from '../api/cluster.js';
import { COUNT_ROUTES } from '../api/count.js';
import { DOCUMENT_ROUTES } from '../api/documents.js';
import { EMBEDDER_ROUTES } from '../api/embedders.js';
import { EVENT_ROUTES } from '../api/events.js';
import { HEALTH_ROUTES, METRICS_ROUTES } from '../api/health.js';
import { JUDGEMENT_ROUTES } from '../api/judgements.js';
import { QUERY_ROUTES } from '../api/queries.js';
import { RECALL_ROUTES } from '../api/recall.js';
import { REINDEX_ROUTES } from '../api/reindex.js';
import type { RouteDefinition } from '../api/route.js';
import { SEARCH_ROUTES } from '../api/search.js';
import { TENANT_ROUTES } from '../api/tenants.js';
import type { FrontServices } from '../service/front.js';
import { liveness } from '../service/health/health.js';
import type { Forwarder } from './forward.js';
import { jsonHandler } from './json-handler.js';
import { type DefinedRoute, type Handler, withParameters } from './route.js';
import { collectionHandlers } from './routes/collections.js';
import { CONSOLE_ROUTES } from './routes/console.js';
import { DOCS_ROUTES } from './routes/docs.js';
import { MCP_ROUTES } from './routes/mcp.js';
import { recordHandlers } from './routes/records.js';
import { searchHandlers } from './routes/search.js';

const AREAS = [
  HEALTH_ROUTES,
  METRICS_ROUTES,
  CLUSTER_ROUTES,
  TENANT_ROUTES,
  EMBEDDER_ROUTES,
  COLLECTION_ROUTES,
  ALIAS_ROUTES,
  ARCHIVE_ROUTES,
  BACKUP_ROUTES,
  DOCUMENT_ROUTES,
  SEARCH_ROUTES,
  COUNT_ROUTES,
  JUDGEMENT_ROUTES,
  RECALL_ROUTES,
  QUERY_ROUTES,
  REINDEX_ROUTES,
  EVENT_ROUTES,
  CONSOLE_ROUTES,
  MCP_ROUTES,
  DOCS_ROUTES,
];

export function createFrontRoutes(
  { search, records }: Pick<FrontServices, 'search' | 'records'>,
  forwarder: Forwarder,
): DefinedRoute[] {
  const own: Readonly<Record<string, Handler>> = {
    ...searchHandlers(search),
    ...recordHandlers(records),
    ...collectionHandlers(records),
    liveness: jsonHandler(HEALTH_ROUTES.liveness, liveness),
  };
  const definitions = AREAS.flatMap((area) => Object.values<RouteDefinition>(area));
  return definitions.map((definition) =>
    withParameters({ ...definition, handle: own[definition.operation] ?? forwarder.handlerOf(definition) }),
  );
}
