// The MCP server of one request, with the tools that its key may call. The only file that imports the MCP SDK; it is
// loaded with the first message. Runs on the main thread.
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import { AppError } from '../../api/errors.js';
import { SERVICE_VERSION } from '../../api/common.js';
import { PROMPTS, RESOURCE_TEMPLATES, listResources, readResource } from './resources.js';
import type { RouteCalls } from './route-calls.js';
import { TOOLS, type Tool } from './tools.js';

const INSTRUCTIONS = `Sheaf searches collections of documents. Documents are cut into chunks; search returns the chunks that match best, each with a chunk id.
Call list_collections to see the collections, search to find chunks, and read_chunk with a chunk id to read the text around a chunk.
Cite the docid of what you quote.`;

/**
 * A shared validator. The server validates nothing with it, but would otherwise create one per request, which costs
 * more than all other work.
 */
const jsonSchemaValidator = new AjvJsonSchemaValidator();

export interface Protocol {
  readonly server: Server;
  readonly transport: WebStandardStreamableHTTPServerTransport;
}

/** Replies are JSON rather than event streams, because no tool reports progress. */
export async function createProtocol(calls: RouteCalls): Promise<Protocol> {
  const server = new Server(
    { name: 'sheaf', title: 'Sheaf', version: SERVICE_VERSION },
    { capabilities: { tools: {}, resources: {}, prompts: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator },
  );
  const tools = TOOLS.filter(({ operations }) => calls.mayCall(operations));
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(described) }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (!tool)
      return clientError(
        `There is no tool ${JSON.stringify(params.name)} for this key. Tools: ${tools.map(({ name }) => name).join(', ')}.`,
      );
    return called(tool, calls, params.arguments ?? {});
  });
  serveResources(server, calls);
  servePrompts(server);
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
  await server.connect(transport);
  return { server, transport };
}

function serveResources(server: Server, calls: RouteCalls): void {
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({
    resources: await orError(calls, () => listResources(calls)),
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: [...RESOURCE_TEMPLATES] }));
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }) => ({
    contents: [{ ...(await orError(calls, () => readResource(calls, uri))) }],
  }));
}

function servePrompts(server: Server): void {
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: PROMPTS.map(({ text: _, arguments: own, ...prompt }) => ({ ...prompt, arguments: [...own] })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params: { name, arguments: given = {} } }) => {
    const prompt = PROMPTS.find((each) => each.name === name);
    if (!prompt) throw new McpError(ErrorCode.InvalidParams, `There is no prompt ${JSON.stringify(name)}.`);
    const missing = prompt.arguments.filter((each) => each.required && !given[each.name]).map((each) => each.name);
    if (missing.length > 0) throw new McpError(ErrorCode.InvalidParams, `Missing: ${missing.join(', ')}.`);
    const content = { type: 'text' as const, text: prompt.text(given) };
    return { description: prompt.description, messages: [{ role: 'user' as const, content }] };
  });
}

/** Errors of resources are those of the protocol, because they have no content that could tell of one. */
async function orError<T>(calls: RouteCalls, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError)
      throw new McpError(ErrorCode.InvalidParams, `${error.message} (${error.code})`, { code: error.code });
    calls.internalError = error instanceof Error ? error : new Error(String(error));
    throw new McpError(ErrorCode.InternalError, 'The server failed.');
  }
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

/** Calls a tool. A client error becomes an answer that the model reads and can act on. */
async function called(tool: Tool, calls: RouteCalls, input: Record<string, unknown>): Promise<CallToolResult> {
  try {
    const { text, structured } = await tool.call(calls, input);
    return { content: [{ type: 'text', text }], structuredContent: structured };
  } catch (error) {
    if (error instanceof AppError) return clientError(`${error.message} (${error.code})`);
    calls.internalError = error instanceof Error ? error : new Error(String(error));
    return clientError('The server failed.');
  }
}

const clientError = (text: string): CallToolResult => ({ isError: true, content: [{ type: 'text', text }] });
