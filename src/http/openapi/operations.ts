// The operations tables, by area, as one: the entry of each route by its operation's name. A test sees to it that no
// route is without entry, and no entry without route. Read by document.ts.
import type { Operation } from './operation.js';
import { ARCHIVE_OPERATIONS } from './operations/archives.js';
import { COLLECTION_OPERATIONS } from './operations/collections.js';
import { DOCS_OPERATIONS } from './operations/docs.js';
import { DOCUMENT_OPERATIONS } from './operations/documents.js';
import { EMBEDDER_OPERATIONS } from './operations/embedders.js';
import { HEALTH_OPERATIONS } from './operations/health.js';
import { MCP_OPERATIONS } from './operations/mcp.js';
import { METRICS_OPERATIONS } from './operations/metrics.js';
import { QUERY_OPERATIONS } from './operations/queries.js';
import { REINDEX_OPERATIONS } from './operations/reindex.js';
import { SEARCH_OPERATIONS } from './operations/search.js';
import { TENANT_OPERATIONS } from './operations/tenants.js';

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  ...HEALTH_OPERATIONS,
  ...METRICS_OPERATIONS,
  ...COLLECTION_OPERATIONS,
  ...ARCHIVE_OPERATIONS,
  ...DOCUMENT_OPERATIONS,
  ...SEARCH_OPERATIONS,
  ...QUERY_OPERATIONS,
  ...REINDEX_OPERATIONS,
  ...EMBEDDER_OPERATIONS,
  ...TENANT_OPERATIONS,
  ...MCP_OPERATIONS,
  ...DOCS_OPERATIONS,
};
