// POST /mcp: one message of the Model Context Protocol in, its answer out, by the official SDK. Without sessions: each
// request gets a protocol server of its own, so that a restart or a second server behind a balancer is nothing to an
// agent. A handler on the front thread; named by routes/mcp.ts. The SDK is loaded a second after the start, or when the
// first message comes: that takes longer than others should wait for a request.
import { AppError, invalidField } from '../../contract/errors.js';
import { MESSAGE_SHAPE } from '../../contract/limits.js';
import type { Catalog } from '../../service/catalog.js';
import type { Handler, Reply, Request, Route } from '../route.js';
import { type AllowedSites, originCheck } from '../site-guard.js';
import { parseJson } from '../validation.js';
import { RouteCalls } from './route-calls.js';

/** Headers that the SDK looks at, beside `Accept`. */
const FORWARDED = ['content-type', 'mcp-protocol-version'];
const SDK_AFTER_MS = 1000;
/** The SDK wants a whole address and uses its path for nothing. */
const ADDRESS = 'http://localhost/mcp';

/** Pages of other sites may not call, with a key that a user has given them neither. */
export function postMcp(routes: readonly Route[], catalog: Pick<Catalog, 'find'>, allowed: AllowedSites): Handler {
  const isKnownOrigin = originCheck(allowed);
  setTimeout(() => void import('./protocol.js'), SDK_AFTER_MS).unref();
  const byOperation = new Map(routes.map((route) => [route.operation, route]));
  return async (request) => {
    const origin = request.header('origin');
    if (origin !== '' && !isKnownOrigin(origin, request.header('host')))
      throw new AppError('auth_forbidden', 'Pages of other sites may not call this.');
    const message = parseJson(await request.body.bytes(), false, MESSAGE_SHAPE);
    // Newer versions of the protocol have no batches, and many calls in one request would pass the limits of a tenant.
    if (Array.isArray(message)) throw invalidField(['body'], 'one message is wanted, no batch of them', 'object_type');
    const calls = new RouteCalls(byOperation, catalog, request);
    const response = await handled(request, message, calls);
    // Of a fault of ours the agent learns nothing.
    if (calls.fault !== undefined) throw calls.fault;
    return replyOf(response);
  };
}

async function handled(request: Request, message: unknown, calls: RouteCalls): Promise<Response> {
  const { createProtocol } = await import('./protocol.js');
  const { server, transport } = await createProtocol(calls);
  try {
    const headers = new Headers({ accept: acceptOf(request) });
    for (const name of FORWARDED) if (request.header(name) !== '') headers.set(name, request.header(name));
    return await transport.handleRequest(new globalThis.Request(ADDRESS, { method: 'POST', headers }), {
      parsedBody: message,
    });
  } finally {
    await server.close();
  }
}

/** Who takes everything takes both of the media types that the SDK wants to see by name. */
function acceptOf(request: Request): string {
  const accept = request.header('accept');
  return accept === '' || accept.includes('*/*') ? 'application/json, text/event-stream' : accept;
}

async function replyOf(response: Response): Promise<Reply> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, contentType: response.headers.get('content-type') ?? 'application/json', bytes };
}
