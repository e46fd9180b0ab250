// Every row of the specification's endpoint tables but those of issue 8 (EXCLUDED in ../endpoint.ts).
import type { Endpoint } from '../endpoint.js';
import { COLLECTION_ENDPOINTS } from './collections.js';
import { DOCUMENT_ENDPOINTS } from './documents.js';
import { OPERATOR_ENDPOINTS } from './operator.js';
import { SEARCH_ENDPOINTS } from './search.js';

export const ENDPOINTS: readonly Endpoint[] = [...OPERATOR_ENDPOINTS, ...COLLECTION_ENDPOINTS, ...DOCUMENT_ENDPOINTS, ...SEARCH_ENDPOINTS];
