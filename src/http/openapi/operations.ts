// The operations tables, by area, as one: the entry of each route by its operation's name. A test sees to it that no
// route is without entry, and no entry without route. Read by document.ts.
import { ARCHIVE_OPERATIONS } from '../routes/archives.js';
import { COLLECTION_OPERATIONS } from '../routes/collections.js';
import { DOCUMENT_OPERATIONS } from '../routes/documents.js';
import { MCP_OPERATIONS } from '../routes/mcp.js';
import { type Operation, otherContent } from './operation.js';

// Entries of the documentation's own operations.
// Read by ../operations.ts. Constants.

const DOCS_OPERATIONS = {
  openApi: {
    tag: 'Documentation',
    summary: 'This document: OpenAPI 3.1',
    answer: {
      'application/json': { schema: { type: 'object', required: ['openapi', 'info', 'paths'] }, examples: {} },
    },
  },
  docs: {
    tag: 'Documentation',
    summary: 'A page that shows this document and can send its requests',
    answer: otherContent('text/html'),
  },
  docsFile: {
    tag: 'Documentation',
    summary: 'A script, style or picture of that page',
    answer: { ...otherContent('text/javascript'), ...otherContent('text/css'), ...otherContent('image/png') },
  },
  start: {
    tag: 'Documentation',
    summary: 'The bare address: leads browsers to the console',
    answer: {},
    empty: [302],
    codes: ['not_found'],
  },
  console: {
    tag: 'Documentation',
    summary: 'The console: a page to look at collections, search them and see what goes on',
    answer: otherContent('text/html'),
  },
  consoleFolder: {
    tag: 'Documentation',
    summary: 'The console by an address that ends with a slash: leads to the other one',
    answer: {},
    empty: [308],
  },
  consoleFile: {
    tag: 'Documentation',
    summary: 'A script or style of the console',
    answer: { ...otherContent('text/javascript'), ...otherContent('text/css') },
  },
} satisfies Record<string, Operation>;

export const OPERATIONS: Readonly<Record<string, Operation>> = {
  ...COLLECTION_OPERATIONS,
  ...ARCHIVE_OPERATIONS,
  ...DOCUMENT_OPERATIONS,
  ...MCP_OPERATIONS,
  ...DOCS_OPERATIONS,
};
