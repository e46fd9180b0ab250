// The route table: the definitions of all areas with their handlers. Runs on the main thread.
import { ARCHIVE_ROUTES } from '../api/archives.js';
import { COLLECTION_ROUTES } from '../api/collections.js';
import { ALIAS_ROUTES } from '../api/aliases.js';
import { BACKUP_ROUTES } from '../api/backups.js';
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
import { backupUseCases } from '../service/archive/backups.js';
import { clusterUseCases } from '../service/cluster/cluster.js';
import { collectionUseCases } from '../service/collections/collections.js';
import { aliasUseCases } from '../service/collections/aliases.js';
import { judgementUseCases } from '../service/collections/judgements.js';
import { documentUseCases } from '../service/documents/changes.js';
import { embedderUseCases } from '../service/embedding/embedders.js';
import { healthUseCases } from '../service/health/health.js';
import { metricsUseCases } from '../service/health/metrics-report.js';
import { queryUseCases } from '../service/query-log/queries.js';
import { recallUseCases } from '../service/recall/recall.js';
import { reindexUseCases } from '../service/reindex/reindex.js';
import { countUseCases } from '../service/search/count.js';
import type { Services } from '../service/services.js';
import { tenantUseCases } from '../service/tenants/tenants.js';
import type { UseCases } from '../service/use-case.js';
import { type UseCase, jsonHandler } from './json-handler.js';
import { type DefinedRoute, type Handler, type OwnHandlers, withParameters } from './route.js';
import { archiveHandlers } from './routes/archives.js';
import { collectionHandlers } from './routes/collections.js';
import { CONSOLE_ROUTES, consoleHandlers } from './routes/console.js';
import { DOCS_ROUTES, docsHandlers } from './routes/docs.js';
import { documentHandlers } from './routes/documents.js';
import { eventHandlers } from './routes/events.js';
import { judgementHandlers } from './routes/judgements.js';
import { metricsHandlers } from './routes/health.js';
import { MCP_ROUTES, mcpHandlers } from './routes/mcp.js';
import { queryHandlers } from './routes/queries.js';
import { searchHandlers } from './routes/search.js';
import type { AllowedSites } from './site-guard.js';

export interface RouteOptions {
  /** Sites whose pages may call the server. */
  readonly allowed: AllowedSites;
  readonly archiveBytesMax: number;
}

const OPTIONS_DEFAULT: RouteOptions = { allowed: { hosts: [], origins: [] }, archiveBytesMax: Infinity };

export function createRoutes(services: Services, { allowed, archiveBytesMax } = OPTIONS_DEFAULT): DefinedRoute[] {
  const own = [
    ...answered(HEALTH_ROUTES, healthUseCases(services.health), {}),
    ...answered(METRICS_ROUTES, metricsUseCases(services.metrics), metricsHandlers(services.metrics)),
    ...answered(CLUSTER_ROUTES, clusterUseCases(services.cluster), {}),
    ...answered(TENANT_ROUTES, tenantUseCases(services.tenants), {}),
    ...answered(EMBEDDER_ROUTES, embedderUseCases(services.embedders), {}),
    ...answered(COLLECTION_ROUTES, collectionUseCases(services.collections), collectionHandlers(services.documents)),
    ...answered(ALIAS_ROUTES, aliasUseCases(services.collections), {}),
    ...answered(ARCHIVE_ROUTES, {}, archiveHandlers(services.archive, archiveBytesMax)),
    ...answered(BACKUP_ROUTES, backupUseCases(services), {}),
    ...answered(DOCUMENT_ROUTES, documentUseCases(services.documents), documentHandlers(services)),
    ...answered(SEARCH_ROUTES, {}, searchHandlers(services.search)),
    ...answered(COUNT_ROUTES, countUseCases(services.counts), {}),
    ...answered(JUDGEMENT_ROUTES, judgementUseCases(services.collections), judgementHandlers(services.collections)),
    ...answered(RECALL_ROUTES, recallUseCases(services.recall), {}),
    ...answered(QUERY_ROUTES, queryUseCases(services.queries), queryHandlers(services.queries)),
    ...answered(REINDEX_ROUTES, reindexUseCases(services.reindex), {}),
    ...answered(EVENT_ROUTES, {}, eventHandlers(services.events)),
    ...answered(CONSOLE_ROUTES, {}, consoleHandlers()),
  ];
  const all = [
    ...own,
    ...answered(MCP_ROUTES, {}, mcpHandlers(own, services.documents.catalog, allowed)),
    ...answered(
      DOCS_ROUTES,
      {},
      docsHandlers((): readonly RouteDefinition[] => all),
    ),
  ];
  return all;
}

/**
 * The routes of an area. JSON routes are answered by the use case of the operation's name, others by their own handler.
 */
function answered<D extends Readonly<Record<string, RouteDefinition>>>(
  definitions: D,
  useCases: UseCases<D>,
  handlers: OwnHandlers<D>,
): DefinedRoute[] {
  const [ofJson, own] = [useCases as Record<string, UseCase>, handlers as Record<string, Handler>];
  return Object.values(definitions).map((definition) => {
    const { operation } = definition;
    const handle = own[operation] ?? jsonHandler(definition, ofJson[operation]);
    return withParameters({ ...definition, handle });
  });
}
