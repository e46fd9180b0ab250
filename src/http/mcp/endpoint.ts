// POST /mcp: one message of the Model Context Protocol in, its answer out, by the official SDK. Without sessions: each
// request gets a protocol server of its own, so that a restart or a second server behind a balancer is nothing to an
// agent. A handler on the front thread; named by routes/mcp.ts. The SDK is loaded when the first message comes.
import { AppError, invalidField } from '../../contract/errors.js';
import type { Catalog } from '../../service/catalog.js';
import type { Handler, Reply, Request, Route } from '../route.js';
import { parseJson } from '../validation.js';
import { RouteCalls } from './route-calls.js';

/** Headers that the SDK looks at, beside `Accept`. */
const FORWARDED = ['content-type', 'mcp-protocol-version'];
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);
/** The SDK wants a whole address and uses its path for nothing. */
const ADDRESS = 'http://localhost/mcp';

export function postMcp(routes: readonly Route[], catalog: Pick<Catalog, 'find'>): Handler {
  const byOperation = new Map(routes.map((route) => [route.operation, route]));
  return async (request) => {
    checkOrigin(request.header('origin'));
    const message = parseJson(await request.body.bytes());
    // Newer versions of the protocol have no batches, and many calls in one request would pass the limits of a tenant.
    if (Array.isArray(message)) throw invalidField(['body'], 'one message is wanted, no batch of them', 'object_type');
    const calls = new RouteCalls(byOperation, catalog, request);
    const response = await handled(request, message, calls);
    // Of a fault of ours the agent learns nothing.
    if (calls.fault !== undefined) throw calls.fault;
    return replyOf(response);
  };
}

/** A page of another site must not reach a server without keys through the browser of who runs it (DNS rebinding). */
function checkOrigin(origin: string): void {
  if (origin === '') return;
  const host = URL.canParse(origin) ? new URL(origin).hostname : '';
  if (!LOOPBACK.has(host)) throw new AppError('auth_forbidden', 'Pages of other sites may not call this.');
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
