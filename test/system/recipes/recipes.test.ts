// Runs each recipe of docs/guide/agents.md as it is printed there, against a real server with keys. The Python ones are
// skipped where their packages cannot be installed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { pythonWith, runPython } from '../../kit/python.js';
import { startTestServer } from '../../kit/server.js';

const TIMEOUT_MS = 480_000;
const KEY = 'key-of-default';
const page = readFileSync('docs/guide/agents.md', 'utf8');

/** The first code block of the language below the heading. */
function blockBelow(heading: string, language: string): string {
  const from = page.indexOf(`\n## ${heading}\n`);
  const block = new RegExp(`\`\`\`${language}.*\\n([\\s\\S]*?)\`\`\``).exec(page.slice(from))?.[1];
  assert.ok(from >= 0 && block, `agents.md has no ${language} below ${heading}`);
  return block;
}

const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__KEYS: JSON.stringify([{ name: 'agent', tenant: 'default', key: KEY }]),
});
const headers = { 'x-api-key': KEY };
await server.call(
  'POST',
  '/v1/collections/default/docs/documents',
  { docid: 'nemo', text: 'Captain Nemo commands the Nautilus.' },
  headers,
);
await server.call('POST', '/v1/collections/default/docs/documents', { docid: 'whale', text: 'Whales sing.' }, headers);

for (const [name, requirement] of [
  ['LangChain', 'langchain-core>=1.0,<2'],
  ['LlamaIndex', 'llama-index-core>=0.14,<0.15'],
] as const) {
  const { python, skip } = pythonWith(requirement);
  test(`${name} retrieves`, { skip }, async () => {
    const { code, output } = await runPython(python, ['-c', blockBelow(name, 'python')], TIMEOUT_MS, {
      SHEAF_URL: server.url,
      SHEAF_API_KEY: KEY,
    });
    assert.equal(code, 0, output);
    assert.match(output, /^nemo::chunk_0 Captain Nemo commands the Nautilus\.\nwhale::chunk_0 Whales sing\.$/m);
  });
}

test('an agent connects as its configuration says', async () => {
  const { sheaf } = (
    JSON.parse(blockBelow('MCP', 'json')) as {
      mcpServers: Record<string, { url: string; headers: Record<string, string> }>;
    }
  ).mcpServers;
  assert.ok(sheaf);
  const client = new Client({ name: 'test', version: '1' });
  const url = new URL(new URL(sheaf.url).pathname, server.url);
  await client.connect(
    new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { Authorization: sheaf.headers['Authorization']?.replace('KEY', KEY) ?? '' } },
    }),
  );
  assert.equal((await client.listTools()).tools.length, 4);
  await client.close();
});
