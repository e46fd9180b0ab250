// The Model Context Protocol's one address: agents call tools there, and each tool is a call of the other routes. It stands beside
// the table, not in it: the protocol describes itself, and the OpenAPI document is about the rest. Called by src/server.ts.
import { postMcp } from '../mcp/endpoint.js';
import type { Route } from '../route.js';

const STATUSES = [200, 202, 400, 401, 403, 406, 413, 415, 422, 429, 500, 503];

/** The routes, and the one by which agents call them. GET and DELETE are 405 there: there are no sessions. */
export function withMcp(routes: readonly Route[]): Route[] {
  return [...routes, { operation: 'mcp', method: 'POST', path: '/mcp', access: 'any', statuses: STATUSES, body: 'json', handle: postMcp(routes) }];
}
