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

\`Accept\` names \`application/json\` and \`text/event-stream\`, as the protocol has it; without them the answer is its own 406, with another \`Content-Type\` than JSON 415.`,
    request: {
      required: true,
      content: { 'application/json': { schema: MESSAGE, examples: { list: LIST, search: SEARCH } } },
    },
    answer: { 'application/json': { schema: ANSWER, examples: {} } },
    empty: [202],
  },
} satisfies Record<string, Operation>;
