// The route table: the definitions of all areas with their handlers. Front thread.
import { ARCHIVE_ROUTES } from '../api/archives.js';
import { COLLECTION_ROUTES } from '../api/collections.js';
import { DOCUMENT_ROUTES } from '../api/documents.js';
import { EMBEDDER_ROUTES } from '../api/embedders.js';
import { AppError, type ValidationDetail } from '../api/errors.js';
import { EVENT_ROUTES } from '../api/events.js';
import { HEALTH_ROUTES, METRICS_ROUTES } from '../api/health.js';
import { REPORTED_NAME_CHARACTERS_MAX } from '../api/limits.js';
import { QUERY_ROUTES } from '../api/queries.js';
import { RECALL_ROUTES } from '../api/recall.js';
import { REINDEX_ROUTES } from '../api/reindex.js';
import type { RouteDefinition } from '../api/route.js';
import { SEARCH_ROUTES } from '../api/search.js';
import { TENANT_ROUTES } from '../api/tenants.js';
import { collectionUseCases } from '../service/collections/collections.js';
import { documentUseCases } from '../service/documents/documents.js';
import { embedderUseCases } from '../service/embedding/embedders.js';
import { healthUseCases } from '../service/health/health.js';
import { metricsUseCases } from '../service/health/metrics-report.js';
import { queryUseCases } from '../service/query-log/queries.js';
import { recallUseCases } from '../service/recall/recall.js';
import { reindexUseCases } from '../service/reindex/reindex.js';
import type { Services } from '../service/services.js';
import { tenantUseCases } from '../service/tenants/tenants.js';
import type { UseCases } from '../service/use-case.js';
import { type UseCase, jsonHandler } from './json-handler.js';
import type { DefinedRoute, Handler, OwnHandlers, Route } from './route.js';
import { archiveHandlers } from './routes/archives.js';
import { collectionHandlers } from './routes/collections.js';
import { CONSOLE_ROUTES, consoleHandlers } from './routes/console.js';
import { DOCS_ROUTES, docsHandlers } from './routes/docs.js';
import { documentHandlers } from './routes/documents.js';
import { eventHandlers } from './routes/events.js';
import { metricsHandlers } from './routes/health.js';
import { MCP_ROUTES, mcpHandlers } from './routes/mcp.js';
import { queryHandlers } from './routes/queries.js';
import { searchHandlers } from './routes/search.js';
import type { AllowedSites } from './site-guard.js';

const DETAILS_MAX = 20;

/** Throws a 422 that names the unknown parameters. */
export function checkParameters({ parameters }: Route, query: URLSearchParams): void {
  if (parameters === undefined) return;
  const unknown = new Set([...query.keys()].filter((name) => !parameters.has(name)));
  if (unknown.size > 0) throw clientErrorOf([...unknown]);
}

function clientErrorOf(names: readonly string[]): AppError {
  const told = names.slice(0, DETAILS_MAX).map((name) => name.slice(0, REPORTED_NAME_CHARACTERS_MAX));
  const detail = told.map((name): ValidationDetail => {
    const loc = ['query', name];
    return { loc, msg: 'There is no such parameter.', type: 'extra_forbidden' };
  });
  return new AppError('validation_error', `There is no such parameter: ${told.join(', ')}.`, { detail });
}

interface RouteOptions {
  /** Sites whose pages may call the server. */
  readonly allowed: AllowedSites;
  readonly archiveBytesMax: number;
}

const OPTIONS_DEFAULT: RouteOptions = { allowed: { hosts: [], origins: [] }, archiveBytesMax: Infinity };

export function createRoutes(services: Services, { allowed, archiveBytesMax } = OPTIONS_DEFAULT): DefinedRoute[] {
  const own = [
    ...answered(HEALTH_ROUTES, healthUseCases(services.health), {}),
    ...answered(METRICS_ROUTES, metricsUseCases(services.metrics), metricsHandlers(services.metrics)),
    ...answered(TENANT_ROUTES, tenantUseCases(services.tenants), {}),
    ...answered(EMBEDDER_ROUTES, embedderUseCases(services.embedders), {}),
    ...answered(COLLECTION_ROUTES, collectionUseCases(services.collections), collectionHandlers(services.documents)),
    ...answered(ARCHIVE_ROUTES, {}, archiveHandlers(services.archive, archiveBytesMax)),
    ...answered(DOCUMENT_ROUTES, documentUseCases(services.documents), documentHandlers(services)),
    ...answered(SEARCH_ROUTES, {}, searchHandlers(services.search)),
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

/** Adds the set of permitted query parameters. */
const withParameters = (route: DefinedRoute): DefinedRoute => ({
  ...route,
  ...(!route.ignoresQuery && { parameters: new Set(route.query?.map(({ name }) => name)) }),
});
