// Every row of the specification's endpoint tables.
import type { Endpoint } from '../endpoint.js';
import { ARCHIVE_ENDPOINTS } from './archives.js';
import { COLLECTION_ENDPOINTS } from './collections.js';
import { DOCUMENT_ENDPOINTS } from './documents.js';
import { OPERATOR_ENDPOINTS } from './operator.js';
import { REINDEX_ENDPOINTS } from './reindex.js';
import { SEARCH_ENDPOINTS } from './search.js';

export const ENDPOINTS: readonly Endpoint[] = [
  ...OPERATOR_ENDPOINTS,
  ...COLLECTION_ENDPOINTS,
  ...ARCHIVE_ENDPOINTS,
  ...DOCUMENT_ENDPOINTS,
  ...SEARCH_ENDPOINTS,
  ...REINDEX_ENDPOINTS,
];
