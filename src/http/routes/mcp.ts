// The Model Context Protocol's one address: agents call tools there, and each tool is a call of the other routes.
// A part of the route table (routes.ts).
import type { Context } from '../../service/context.js';
import { postMcp } from '../mcp/endpoint.js';
import type { Route } from '../route.js';
import type { AllowedSites } from '../site-guard.js';
import { post } from './kit.js';

/** The server's own. The protocol refuses by itself what is no message of it (openapi/operations/mcp.ts). */
const STATUSES = [200, 202, 400, 401, 403, 413, 422, 429, 500, 503];

/** The routes, and the one by which agents call them. GET and DELETE are 405 there: there are no sessions. */
export function withMcp(routes: readonly Route[], { catalog }: Context, allowed: AllowedSites): Route[] {
  const handler = postMcp(routes, catalog, allowed);
  return [...routes, { ...post('mcp', '/mcp', STATUSES, handler), body: 'message', access: 'any' }];
}
