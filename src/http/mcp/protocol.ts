// The protocol server of one request, with the tools that its key may use. The one file that knows the SDK; loaded by
// endpoint.ts when the first message comes. Front thread.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import { CallToolRequestSchema, ListToolsRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { AppError } from '../../api/errors.js';
import { SERVICE_VERSION } from '../../api/common.js';
import type { RouteCalls } from './route-calls.js';
import { TOOLS, type Tool } from './tools.js';

const INSTRUCTIONS = `Sheaf searches collections of documents. Documents are cut into chunks; search returns the chunks that fit best, each with a chunk id.
Call list_collections to learn what there is, search to find chunks, and read_chunk with a chunk id to read what stands before and after it.
Name the docid of what you quote.`;

/** Nothing here asks it anything, and each server would make one of its own, which takes longer than all the rest. */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

export interface Protocol {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}

/** Answers come as JSON, not as events: no tool has anything to say before its end. */
export async function createProtocol(calls: RouteCalls): Promise<Protocol> {
  const server = new Server(
    { name: 'sheaf', title: 'Sheaf', version: SERVICE_VERSION },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator },
  );
  const tools = TOOLS.filter(({ operations }) => calls.mayCall(operations));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(described) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (!tool)
      return refusal(
        `There is no tool ${JSON.stringify(params.name)} for this key. Tools: ${tools.map(({ name }) => name).join(', ')}.`,
      );
    return called(tool, calls, params.arguments ?? {});
  });
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  return { server, transport };
}

function described({ name, title, description, inputSchema, writes }: Tool) {
  return {
    name,
    title,
    description,
    inputSchema,
    annotations: { title, readOnlyHint: !writes, destructiveHint: writes, openWorldHint: false },
  };
}

/** A refusal is an answer that the model reads: it says what to do better. */
async function called(tool: Tool, calls: RouteCalls, input: Record<string, unknown>): Promise<CallToolResult> {
  try {
    const { text, structured } = await tool.call(calls, input);
    return { content: [{ type: 'text', text }], structuredContent: structured };
  } catch (error) {
    if (error instanceof AppError) return refusal(`${error.message} (${error.code})`);
    calls.fault = error instanceof Error ? error : new Error(String(error));
    return refusal('The server failed.');
  }
}

const refusal = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] });
