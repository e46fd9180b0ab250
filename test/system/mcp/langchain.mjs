// Drives the tools of a server's /mcp through LangChain's adapter, which validates arguments by their schemas; prints
// one JSON object for each finding. Argument: the server's address.
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';

const tell = (name, value) => console.log(JSON.stringify({ name, value }));

const client = new MultiServerMCPClient({
  throwOnLoadError: true,
  mcpServers: { sheaf: { transport: 'http', url: `${process.argv[2]}/mcp` } },
});
const tools = Object.fromEntries((await client.getTools()).map((tool) => [tool.name, tool]));
const parameters = Object.entries(tools).map(([name, tool]) => [name, convertToOpenAITool(tool).function.parameters]);
tell('tools', Object.fromEntries(parameters));

async function call(name, input) {
  const answer = await tools[name].invoke(input).catch((error) => error.message);
  tell(name, typeof answer === 'string' ? answer : answer.text);
}

await call('ingest', { collection: 'sea', docid: 'nemo', text: 'Captain Nemo.', metadata: { lang: 'en' } });
await call('search', { collection: 'sea', query: 'nemo', filters: { lang: 'en' } });
await call('read_chunk', { collection: 'sea', chunk_id: 'nemo::chunk_0' });
await call('list_collections', {});
await call('search', { collection: 'see', query: 'nemo' });
await client.close();
