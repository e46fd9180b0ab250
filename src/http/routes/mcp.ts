// The Model Context Protocol's one address: agents call tools there, and each tool is a call of the other routes.
// A part of the route table (routes.ts).
import { postMcp } from '../mcp/endpoint.js';
import type { Route } from '../route.js';
import type { AllowedSites } from '../site-guard.js';
import { post } from './kit.js';

/** The protocol has two more of its own, 406 and 415, for headers that it does not take. */
const STATUSES = [200, 202, 400, 401, 403, 413, 422, 429, 500, 503];

/** The routes, and the one by which agents call them. GET and DELETE are 405 there: there are no sessions. */
export function withMcp(routes: readonly Route[], allowed: AllowedSites): Route[] {
  return [...routes, { ...post('mcp', '/mcp', STATUSES, postMcp(routes, allowed)), body: 'message', access: 'any' }];
}
