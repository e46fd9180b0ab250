// POST /mcp: one message of the Model Context Protocol in, its answer out, by the official SDK. Without sessions: each
// request gets a protocol server of its own, so that a restart or a second server behind a balancer is nothing to an
// agent; GET and DELETE are 405. The SDK is loaded a second after the start, or when the first message comes: that takes
// longer than others should wait for a request. Front thread.
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

/** What the protocol itself refuses. */
const REFUSAL: Schema = {
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
  schema: REFUSAL,
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
    // The protocol itself refuses what is no message of it.
    keeps400: true,
    tag: 'Agents',
    summary: 'One message of the Model Context Protocol, and its answer',
    description: `Streamable HTTP without sessions: each message stands for itself, a batch is refused, GET and DELETE are 405. A request is answered with JSON, a notification with an empty 202.
Tools are calls of the other operations: \`tools/list\` tells those that the key may use, with their schemas.

\`Accept\` names \`application/json\` and \`text/event-stream\`, as the protocol has it, or everything (\`*/*\`); with one of them alone the answer is the protocol's own 406, with another \`Content-Type\` than JSON 415.`,
    body: 'message',
    request: {
      required: true,
      content: { 'application/json': { schema: MESSAGE, examples: { list: LIST, search: SEARCH } } },
    },
    answer: { 'application/json': { schema: ANSWER, examples: {} } },
    successes: [200, 202],
    empty: [202],
    foreignRefusals: {
      400: refused('what is no message of the protocol', -32700, 'Parse error: Invalid JSON-RPC message'),
      406: refused(
        '`Accept` names one of the two media types alone',
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

/** Headers that the SDK looks at, beside `Accept`. */
const FORWARDED = ['content-type', 'mcp-protocol-version'];
const SDK_AFTER_MS = 1000;
/** The SDK wants a whole address and uses its path for nothing. */
const ADDRESS = 'http://localhost/mcp';

/** Pages of other sites may not call, with a key that a user has given them neither. */
function postMcp(called: readonly Route[], catalog: Pick<Catalog, 'find'>, allowed: AllowedSites): Handler {
  const isKnownOrigin = originCheck(allowed);
  setTimeout(() => void import('../mcp/protocol.js'), SDK_AFTER_MS).unref();
  const byOperation = new Map(called.map((route) => [route.operation, route]));
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

/** Who takes everything takes both of the media types that the SDK wants to see by name. */
function acceptOf(request: Request): string {
  const accept = request.header('accept');
  return accept === '' || accept.includes('*/*') ? 'application/json, text/event-stream' : accept;
}

async function replyOf(response: Response): Promise<Reply> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  return { status: response.status, contentType: response.headers.get('content-type') ?? 'application/json', bytes };
}

/** `called`: the routes that tools call. */
export const mcpHandlers = (
  called: readonly Route[],
  catalog: Pick<Catalog, 'find'>,
  allowed: AllowedSites,
): OwnHandlers<typeof MCP_ROUTES> => ({ mcp: postMcp(called, catalog, allowed) });
