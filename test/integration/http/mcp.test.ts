// The endpoint of the Model Context Protocol, used by the client of its official SDK over a real socket: tools, which
// of them keys may use, client errors, limits.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { startTestServer, type TestServer } from '../../kit/server.js';

const KEYS = [
  { name: 'app', tenant: 'acme', key: 'all' },
  { name: 'reader', tenant: 'acme', key: 'reads', scopes: ['search'] },
  { name: 'narrow', tenant: 'acme', key: 'narrow', scopes: ['search'], collections: ['other'] },
  { name: 'public', tenant: 'acme', key: 'filtered', filters: { lang: 'en' } },
];
const server = await startTestServer({
  SHEAF_AUTH__MODE: 'static',
  SHEAF_AUTH__ADMIN_KEY: 'root',
  SHEAF_AUTH__KEYS: JSON.stringify(KEYS),
});
const open = await startTestServer();
const LONG = Array.from({ length: 30 }, (_, n) => `Paragraph ${n} tells of the sea. `.repeat(8)).join('\n');
await server.call(
  'POST',
  '/v1/collections/acme/docs/documents',
  { docid: 'nemo', text: 'Captain Nemo commands the Nautilus.', metadata: { lang: 'en' } },
  { 'x-api-key': 'all' },
);
await server.call(
  'POST',
  '/v1/collections/acme/docs/documents',
  { docid: 'geheim', text: 'Kapitän Nemo befehligt die Nautilus.', metadata: { lang: 'de' } },
  { 'x-api-key': 'all' },
);
await server.call('POST', '/v1/collections/acme/docs/documents', { docid: 'long', text: LONG }, { 'x-api-key': 'all' });

interface Answer {
  isError: boolean;
  text: string;
  structured: Record<string, any>;
}

async function connect({ url }: TestServer, key?: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: key ? { authorization: `Bearer ${key}` } : {} },
    }),
  );
  return client;
}

async function call(client: Client, name: string, input: Record<string, unknown>): Promise<Answer> {
  const result = await client.callTool({ name, arguments: input });
  const [first] = result.content as { type: string; text: string }[];
  return {
    isError: result.isError === true,
    text: first?.text ?? '',
    structured: (result.structuredContent ?? {}) as Record<string, any>,
  };
}

const post = (headers: Record<string, string>, body: unknown = { jsonrpc: '2.0', id: 1, method: 'tools/list' }) =>
  server.call('POST', '/mcp', body, { accept: 'application/json, text/event-stream', ...headers });

test('an agent searches several collections, groups, skips, joins neighbours and forgives typing errors', async () => {
  const own = await startTestServer();
  const texts = { nemo: 'Captain Nemo commands the Nautilus.', long: LONG };
  for (const [docid, text] of Object.entries(texts))
    await own.call('POST', '/v1/collections/default/docs/documents', { docid, text });
  await own.call('POST', '/v1/collections/default/more/documents', { docid: 'ahab', text: 'Captain Ahab hunts.' });
  const client = await connect(own);
  const found = async (more: object, query = 'captain'): Promise<Answer> =>
    call(client, 'search', { collection: 'docs', query, ...more });
  const both = await found({ also: ['more'], k: 10, mode: 'vector' });
  assert.deepEqual(new Set(both.structured.matches.map((hit: any) => hit.collection)), new Set(['docs', 'more']));
  const grouped = await found({ group_by: 'docid', k: 10 }, 'the sea');
  const ids = grouped.structured.matches.map((hit: any) => hit.chunk_id.split('::')[0]);
  assert.equal(new Set(ids).size, ids.length);
  const [first] = (await found({ k: 1 }, 'the sea')).structured.matches;
  const [second] = (await found({ k: 1, offset: 1 }, 'the sea')).structured.matches;
  assert.notEqual(first.chunk_id, second.chunk_id);
  const [joined] = (await found({ k: 1, context: 1 }, 'the sea')).structured.matches;
  assert(joined.text.length > first.text.length);
  const typo = { mode: 'hybrid', fuzzy: true, k: 1 };
  assert.equal((await found(typo, 'Nautlius')).structured.matches[0].chunk_id.split('::')[0], 'nemo');
  assert.deepEqual((await found({ min_relevance: 1 }, 'nothing of this')).structured.matches, []);
  for (const bad of [
    { also: [''] },
    { context: 9 },
    { offset: -1 },
    { also: ['docs'] },
    { fuzzy: true, mode: 'vector' },
  ])
    assert.equal((await found(bad)).isError, true, JSON.stringify(bad));
});

test('an agent learns what there is, and finds, reads and stores', async () => {
  const client = await connect(server, 'all');
  assert.deepEqual(
    [client.getServerVersion()?.name, /list_collections/.test(client.getInstructions() ?? '')],
    ['sheaf', true],
  );
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['search', 'read_chunk', 'list_collections', 'ingest'],
  );
  for (const { inputSchema, description } of tools) {
    assert.equal(inputSchema.type, 'object');
    assert.ok(description);
  }
  assert.deepEqual(tools[0]?.inputSchema.required?.toSorted(), ['collection', 'query']);
  assert.match(JSON.stringify(tools[0].inputSchema), /The question or keywords/);
  assert.deepEqual(
    (await call(client, 'list_collections', {})).structured.collections.map(({ name }: { name: string }) => name),
    ['docs'],
  );
  const found = await call(client, 'search', {
    collection: 'docs',
    query: 'submarine captain',
    k: 2,
    filters: { lang: 'en' },
  });
  assert.match(
    found.text,
    /^1\. \[nemo::chunk_0\] score 0\.\d+, metadata \{.*"lang":"en".*\}\nCaptain Nemo commands the Nautilus\.$/,
  );
  assert.deepEqual(
    found.structured.matches.map(({ chunk_id }: { chunk_id: string }) => chunk_id),
    ['nemo::chunk_0'],
  );
  const stored = await call(client, 'ingest', {
    collection: 'notes',
    text: 'A note about whales.',
    docid: 'note',
    metadata: { by: 'agent' },
  });
  assert.deepEqual([stored.isError, stored.text], [false, 'Stored note in notes: 1 chunk.']);
  assert.equal(
    (await call(client, 'search', { collection: 'notes', query: 'whales' })).structured.matches[0].metadata.by,
    'agent',
  );
  await client.close();
});

test('a chunk is read with its neighbours, at the ends of a document too', async () => {
  const client = await connect(server, 'reads');
  const { json } = await server.call('GET', '/v1/collections/acme/docs/documents/long', undefined, {
    'x-api-key': 'all',
  });
  const ids = json.chunk_ids as string[];
  const read = async (at: number, input: object = {}): Promise<string[]> =>
    (await call(client, 'read_chunk', { collection: 'docs', chunk_id: ids[at], ...input })).structured.chunks.map(
      ({ chunk_id }: { chunk_id: string }) => chunk_id,
    );
  assert.ok(ids.length > 6);
  assert.deepEqual(await read(3), ids.slice(2, 5));
  assert.deepEqual(await read(3, { before: 3, after: 2 }), ids.slice(0, 6));
  assert.deepEqual(await read(0, { before: 2, after: 0 }), [ids[0]]);
  assert.deepEqual(await read(ids.length - 1), ids.slice(-2));
  const { text, structured } = await call(client, 'read_chunk', { collection: 'docs', chunk_id: ids[1] });
  assert.match(text, /^long, chunk 2 of \d+, metadata/);
  const content = await server.call(
    'GET',
    `/v1/collections/acme/docs/chunks/${encodeURIComponent(ids[1] as string)}/content`,
    undefined,
    { 'x-api-key': 'all' },
  );
  assert.equal(structured.chunks[1].text, content.text);
  for (const [id, code] of [
    ['long::chunk_999', 'chunk_not_found'],
    ['none::chunk_0', 'document_not_found'],
    ['none', 'chunk_not_found'],
  ]) {
    const missing = await call(client, 'read_chunk', { collection: 'docs', chunk_id: id });
    assert.deepEqual([missing.isError, missing.text.includes(code as string)], [true, true], missing.text);
  }
});

test('a key sees the tools it may use, and a tool does what its key may', async () => {
  const names = async (key: string): Promise<string[]> =>
    (await (await connect(server, key)).listTools()).tools.map(({ name }) => name);
  assert.deepEqual(await names('reads'), ['search', 'read_chunk', 'list_collections']);
  assert.deepEqual(await names('filtered'), ['search']);
  const reader = await connect(server, 'reads');
  assert.match(
    (await call(reader, 'ingest', { collection: 'docs', text: 'x' })).text,
    /There is no tool "ingest" for this key/,
  );
  assert.match(
    (await call(reader, 'search', { collection: 'docs', query: 'x', tenant: 'globex' })).text,
    /auth_forbidden/,
  );
  const narrow = await connect(server, 'narrow');
  assert.match((await call(narrow, 'search', { collection: 'docs', query: 'x' })).text, /auth_forbidden/);
  assert.deepEqual((await call(narrow, 'list_collections', {})).structured.collections, []);
  const filtered = await call(await connect(server, 'filtered'), 'search', {
    collection: 'docs',
    query: 'Nemo Nautilus',
    k: 5,
  });
  assert.deepEqual(
    filtered.structured.matches.map(({ chunk_id }: { chunk_id: string }) => chunk_id),
    ['nemo::chunk_0'],
  );
  const admin = await call(await connect(server, 'root'), 'search', {
    collection: 'docs',
    query: 'Nemo',
    tenant: 'acme',
  });
  assert.ok(admin.structured.matches.length > 1);
});

test('the schema of each tool stands by itself, and judges arguments as the tool does', async () => {
  const client = await connect(server, 'all');
  const { tools } = await client.listTools();
  const fitting: Record<string, Record<string, unknown>> = {
    search: {
      collection: 'docs',
      query: 'Nemo',
      k: 2,
      mode: 'hybrid',
      filters: { lang: ['en', 'de'], page: { $gte: 1 } },
    },
    read_chunk: { collection: 'docs', chunk_id: 'nemo::chunk_0', before: 0 },
    list_collections: { tenant: 'acme' },
    ingest: { collection: 'fits', text: 'x', docid: 'x', metadata: { a: 1, b: [true], c: { d: null } } },
  };
  for (const { name, inputSchema } of tools) {
    assert.doesNotMatch(JSON.stringify(inputSchema), /\$ref/, name);
    // The schema alone, as an agent receives it: a reference to another document would not compile.
    const fits = new Ajv2020().compile(inputSchema);
    for (const [input, isFine] of [
      [fitting[name] ?? {}, true],
      [{ ...fitting[name], more: 1 }, false],
      [{ ...fitting[name], ...(name === 'ingest' ? { metadata: 'x' } : { tenant: 1 }) }, false],
    ] as const) {
      const answer = await call(client, name, input);
      assert.deepEqual(
        [fits(input), !answer.isError],
        [isFine, isFine],
        `${name} ${JSON.stringify(input)} ${answer.text}`,
      );
    }
  }
  await server.call('DELETE', '/v1/collections/acme/fits', undefined, { 'x-api-key': 'all' });
});

test('a collection that is not there is said not to be, with those there are', async () => {
  const all = await connect(server, 'all');
  for (const [name, input] of [
    ['search', { collection: 'dogs', query: 'x' }],
    ['read_chunk', { collection: 'dogs', chunk_id: 'nemo::chunk_0' }],
  ] as const) {
    const { isError, text } = await call(all, name, input);
    assert.equal(isError, true);
    assert.match(
      text,
      /^There is no collection "dogs" of tenant "acme"\. Collections: docs, notes\. \(collection_not_found\)$/,
    );
  }
  // Errors name only collections that the key could list with another tool.
  const narrow = await call(await connect(server, 'narrow'), 'search', { collection: 'other', query: 'x' });
  assert.match(narrow.text, /^There is no collection "other" of tenant "acme"\. No collections are visible to you\. /);
  const filtered = await call(await connect(server, 'filtered'), 'search', { collection: 'dogs', query: 'x' });
  assert.match(filtered.text, /^There is no collection "dogs" of tenant "acme"\. \(collection_not_found\)$/);
  const none = await call(all, 'search', { collection: 'docs', query: 'x', filters: { lang: 'fr' } });
  assert.deepEqual([none.isError, none.text], [false, 'No hits.']);
});

test('arguments that do not fit are refused in words that a model can act on', async () => {
  const client = await connect(server, 'all');
  for (const [input, message] of [
    [{ collection: 'docs' }, /body\.query: Field required/],
    [{ collection: 'docs', query: 'x', k: 51 }, /body\.k/],
    [{ collection: 'docs', query: 'x', more: 1 }, /body\.more: There is no such field/],
    [{ collection: '../docs', query: 'x' }, /invalid_collection_name/],
    [{ collection: 'docs', query: 'x', filters: { a: { $near: 1 } } }, /\$near/],
  ] as const) {
    const answer = await call(client, 'search', input);
    assert.deepEqual([answer.isError, message.test(answer.text)], [true, true], answer.text);
  }
});

test('what is no message of the protocol, no key and a page of another site are refused', async () => {
  assert.deepEqual(
    [(await post({})).status, (await post({ authorization: 'Bearer wrong' })).json.code],
    [401, 'auth_invalid'],
  );
  const key = { authorization: 'Bearer all' };
  assert.equal((await post(key, 'no JSON')).json.code, 'invalid_json');
  assert.equal((await post(key, [{ jsonrpc: '2.0', id: 1, method: 'ping' }])).status, 422);
  assert.equal((await post(key, { hello: 1 })).status, 400);
  assert.equal((await post({ ...key, accept: 'application/json' })).status, 406);
  assert.equal((await post({ ...key, accept: '*/*' })).status, 200);
  assert.equal((await post({ ...key, 'mcp-protocol-version': '1999-01-01' })).status, 400);
  assert.equal((await post(key, { jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202);
  assert.equal((await post(key, { jsonrpc: '2.0', id: 1, method: 'no/such' })).json.error.code, -32601);
  assert.deepEqual(
    [
      (await post({ ...key, origin: 'https://evil.example' })).status,
      (await post({ ...key, origin: 'http://localhost:6274' })).status,
    ],
    [403, 200],
  );
  assert.equal((await server.call('GET', '/mcp', undefined, key)).headers.get('allow'), 'POST');
  assert.equal(
    (await post(key, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"${'x'.repeat(33 * 2 ** 20)}"}}}`))
      .status,
    413,
  );
});

test('without keys it works for the tenant default, or the one that is named', async () => {
  const client = await connect(open);
  assert.match((await call(client, 'list_collections', {})).text, /There are no collections/);
  await call(client, 'ingest', { collection: 'docs', text: 'Captain Nemo.' });
  assert.equal((await open.call('GET', '/v1/collections/default/docs/detail')).json.doc_count, 1);
  assert.equal(
    (await call(client, 'search', { collection: 'docs', query: 'captain', tenant: 'other' })).text,
    'There is no collection "docs" of tenant "other". No collections are visible to you. (collection_not_found)',
  );
});

test('a tenant over its rate is refused as elsewhere', async () => {
  const limited = await startTestServer({
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__KEYS: JSON.stringify(KEYS),
    SHEAF_LIMITS__TENANT__REQUESTS_PER_SECOND: '0.001',
    SHEAF_LIMITS__TENANT__BURST: '2',
  });
  const ping = () =>
    limited.call(
      'POST',
      '/mcp',
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { accept: 'application/json, text/event-stream', authorization: 'Bearer all' },
    );
  const statuses = [(await ping()).status, (await ping()).status, (await ping()).status];
  assert.deepEqual(statuses, [200, 200, 429]);
});

test('no internal error was logged', () => assert.deepEqual([server.faults, open.faults], [[], []]));

test('numbers that would not be kept as they are written are refused in the arguments of tools', async () => {
  for (const input of ['"metadata":{"id":9007199254740993},"text":"x"', '"filters":{"id":1e400},"query":"x"']) {
    const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"collection":"docs",${input}}}}`;
    const { status, json } = await open.call('POST', '/mcp', message, {
      accept: 'application/json, text/event-stream',
    });
    assert.deepEqual([status, json.detail?.[0]?.type], [422, 'number_not_exact']);
  }
});

test('collections and documents are resources, of what the key may read', async () => {
  const client = await connect(server, 'all');
  const { resources } = await client.listResources();
  const docs = resources.find(({ name }) => name === 'docs');
  assert.equal(docs?.uri, 'sheaf://acme/docs');
  const about = await client.readResource({ uri: 'sheaf://acme/docs' });
  const { documents, doc_count: count } = JSON.parse((about.contents[0] as { text: string }).text) as any;
  assert.deepEqual([documents.includes('nemo'), count], [true, 3]);
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.deepEqual(
    resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    ['sheaf://{tenant}/{collection}/{docid}'],
  );
  const whole = await client.readResource({ uri: 'sheaf://acme/docs/long' });
  const text = (whole.contents[0] as { text: string }).text;
  for (let n = 0; n < 30; n++) assert.ok(text.includes(`Paragraph ${n} tells`), `paragraph ${n} is missing`);

  for (const [key, uri, code] of [
    ['all', 'sheaf://acme/none', 'collection_not_found'],
    ['all', 'sheaf://acme/docs/none', 'document_not_found'],
    ['all', 'sheaf://other/docs', 'auth_forbidden'],
    ['all', 'file:///etc/passwd', 'not_found'],
    ['all', 'sheaf://acme/%zz', 'not_found'],
    ['all', 'sheaf://acme/docs/nemo/more', 'not_found'],
    ['filtered', 'sheaf://acme/docs/geheim', 'auth_forbidden'],
    ['narrow', 'sheaf://acme/docs/nemo', 'auth_forbidden'],
  ] as const)
    await assert.rejects((await connect(server, key)).readResource({ uri }), new RegExp(code), `${key} ${uri}`);
  assert.deepEqual(server.faults, []);
});

test('prompts tell an agent how to answer from a collection', async () => {
  const client = await connect(server, 'reads');
  const { prompts } = await client.listPrompts();
  assert.deepEqual(
    prompts.map(({ name }) => name),
    ['answer', 'compare'],
  );
  const { messages } = await client.getPrompt({ name: 'answer', arguments: { question: 'Who?', collection: 'docs' } });
  assert.match((messages[0]?.content as { text: string }).text, /collection docs has.*: Who\?/);
  await assert.rejects(client.getPrompt({ name: 'answer', arguments: { question: 'Who?' } }), /Missing: collection/);
  await assert.rejects(client.getPrompt({ name: 'none' }), /There is no prompt/);
});

test('the admin key sees the tenants, and no other key does', async () => {
  const admin = await connect(server, 'root');
  assert.deepEqual((await call(admin, 'list_tenants', {})).structured.tenants, ['acme']);
  assert.deepEqual((await admin.listResources()).resources, []);
  const names = (await (await connect(server, 'all')).listTools()).tools.map(({ name }) => name);
  assert.ok(!names.includes('list_tenants'));
});
