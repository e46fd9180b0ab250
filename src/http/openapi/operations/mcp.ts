// The entry of the Model Context Protocol's one address.
// Read by ../operations.ts. Constants.
import type { Operation } from '../operation.js';
import type { Schema } from '../schema.js';

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

export const MCP_OPERATIONS = {
  mcp: {
    tag: 'Agents',
    summary: 'One message of the Model Context Protocol, and its answer',
    description: `Streamable HTTP without sessions: each message stands for itself, a batch is refused, GET and DELETE are 405. A request is answered with JSON, a notification with an empty 202.
Tools are calls of the other operations: \`tools/list\` tells those that the key may use, with their schemas.

\`Accept\` names \`application/json\` and \`text/event-stream\`, as the protocol has it, or everything (\`*/*\`); with one of them alone the answer is the protocol's own 406, with another \`Content-Type\` than JSON 415.`,
    request: {
      required: true,
      content: { 'application/json': { schema: MESSAGE, examples: { list: LIST, search: SEARCH } } },
    },
    answer: { 'application/json': { schema: ANSWER, examples: {} } },
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
  },
} satisfies Record<string, Operation>;
