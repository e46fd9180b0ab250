// POST /mcp: answers one message of the Model Context Protocol by the official SDK. There are no sessions: each request
// gets its own protocol server, so restarts and load balancing do not affect agents; GET and DELETE are 405. The SDK is
// loaded a second after the start or with the first message, because loading it takes too long to delay other requests.
// Runs on the main thread.
import { AppError, invalidField } from '../../api/errors.js';
import { MESSAGE_SHAPE } from '../../api/limits.js';
import { type Schema, ownRoute, routes } from '../../api/route.js';
import type { Catalog } from '../../service/collections/catalog.js';
import { parseJson } from '../json-body.js';
import { RouteCalls } from '../mcp/route-calls.js';
import type { Handler, OwnHandlers, Reply, Request, Route } from '../route.js';
import { type AllowedSites, originCheck } from '../site-guard.js';

const VERSION = { const: '2.0' } as const;

const MESSAGE: Schema = {
  type: 'object',
  required: ['jsonrpc', 'method'],
  additionalProperties: false,
  properties: {
    jsonrpc: VERSION,
    id: { type: ['string', 'integer'] },
    method: { type: 'string' },
    params: { type: 'object' },
  },
};

const ANSWER: Schema = {
  type: 'object',
  required: ['jsonrpc'],
  properties: {
    jsonrpc: VERSION,
    id: { type: ['string', 'integer', 'null'] },
    result: { type: 'object' },
    error: { type: 'object' },
  },
};

/** An error of the protocol itself. */
const CLIENT_ERROR: Schema = {
  type: 'object',
  required: ['jsonrpc', 'error'],
  properties: {
    jsonrpc: VERSION,
    id: { type: ['string', 'integer', 'null'] },
    error: {
      type: 'object',
      required: ['code', 'message'],
      properties: { code: { type: 'integer' }, message: { type: 'string' } },
    },
  },
};

const refused = (description: string, code: number, message: string) => ({
  description,
  schema: CLIENT_ERROR,
  example: { jsonrpc: '2.0', id: null, error: { code, message } },
});

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const SEARCH = {
  jsonrpc: '2.0',
  id: 2,
  method: 'tools/call',
  params: { name: 'search', arguments: { collection: 'docs', query: 'submarine captain' } },
};

export const MCP_ROUTES = routes({
  mcp: ownRoute({
    method: 'POST',
    path: '/mcp',
    access: 'any',
    // The protocol answers 400 for a body that is not one of its messages.
    keeps400: true,
    tag: 'Agents',
    summary: 'Answer one message of the Model Context Protocol',
    description: `Streamable HTTP without sessions: messages are independent, batches are rejected, GET and DELETE are 405. A request is answered with JSON, a notification with an empty 202.
Tools call the other operations: \`tools/list\` has those that the key may use, with their schemas.

\`Accept\` must have \`application/json\` and \`text/event-stream\`, as the protocol requires, or \`*/*\`; with only one of them, the answer is the protocol's own 406, and for a \`Content-Type\` other than JSON 415.`,
    body: 'message',
    request: {
      required: true,
      content: { 'application/json': { schema: MESSAGE, examples: { list: LIST, search: SEARCH } } },
    },
    answer: { 'application/json': { schema: ANSWER, examples: {} } },
    successes: [200, 202],
    empty: [202],
    foreignErrors: {
      400: refused('the body is not a message of the protocol', -32700, 'Parse error: Invalid JSON-RPC message'),
      406: refused(
        '`Accept` has only one of the two media types',
        -32000,
        'Not Acceptable: Client must accept both application/json and text/event-stream',
      ),
      415: refused(
        'the body is not declared as JSON',
        -32000,
        'Unsupported Media Type: Content-Type must be application/json',
      ),
    },
  }),
});

/** Headers that the SDK reads, besides `Accept`. */
const FORWARDED = ['content-type', 'mcp-protocol-version'];
const SDK_AFTER_MS = 1000;
/** The SDK requires a full address but does not use its path. */
const ADDRESS = 'http://localhost/mcp';

/** Rejects pages of other sites, even if they have a key. */
function postMcp(called: readonly Route[], catalog: Pick<Catalog, 'find'>, allowed: AllowedSites): Handler {
  const isKnownOrigin = originCheck(allowed);
  setTimeout(() => void import('../mcp/protocol.js'), SDK_AFTER_MS).unref();
  const byOperation = new Map(called.map((route) => [route.operation, route]));
  return async (request) => {
    const origin = request.header('origin');
    if (origin !== '' && !isKnownOrigin(origin, request.header('host')))
      throw new AppError('auth_forbidden', 'Pages of other sites may not call this server.');
    const message = parseJson(await request.body.bytes(), false, MESSAGE_SHAPE);
    // Newer versions of the protocol have no batches, and many calls in one request would bypass the tenant's limits.
    if (Array.isArray(message)) throw invalidField(['body'], 'Should be one message, not a batch.', 'object_type');
    const calls = new RouteCalls(byOperation, catalog, request);
    const response = await handled(request, message, calls);
    // The agent learns no details of an internal error.
    if (calls.internalError !== undefined) throw calls.internalError;
    return replyOf(response);
  };
}

async function handled(request: Request, message: unknown, calls: RouteCalls): Promise<Response> {
  const { createProtocol } = await import('../mcp/protocol.js');
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

/** An `Accept` of everything includes the two media types that the SDK requires by name. */
function acceptOf(request: Request): string {
  const accept = request.header('accept');
  return accept === '' || accept.includes('*/*') ? 'application/json, text/event-stream' : accept;
}

async function replyOf(response: Response): Promise<Reply> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, contentType: response.headers.get('content-type') ?? 'application/json', bytes };
}

/** `called` has the routes that tools call. */
export const mcpHandlers = (
  called: readonly Route[],
  catalog: Pick<Catalog, 'find'>,
  allowed: AllowedSites,
): OwnHandlers<typeof MCP_ROUTES> => ({ mcp: postMcp(called, catalog, allowed) });
