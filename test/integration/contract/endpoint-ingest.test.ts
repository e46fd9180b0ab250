// Ingest through an endpoint that speaks OpenAI's embeddings, over real HTTP on both sides: which texts it receives
// when documents are ingested again, which document fails for a text that it rejects, and what happens to a document
// whose client has disconnected.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { RawClient } from '../../kit/http/raw-client.js';
import { startOpenAiServer, type OpenAiServer, type OpenAiServerOptions } from '../../kit/openai-server.js';
import { startTestServer, type TestServer } from '../../kit/server.js';

const CHUNK = 16;
const docs = '/v1/collections/acme/docs';
const textOf = (...chunks: string[]): string => chunks.map((chunk) => chunk.padEnd(CHUNK, '.')).join('');

interface Started extends TestServer {
  endpoint: OpenAiServer;
  /** The texts that the endpoint has received since the last call. */
  asked: () => string[];
  ingest: (docid: string, ...chunks: string[]) => Promise<{ status: number; json: Record<string, any> }>;
  batch: (documents: object[], type?: string) => Promise<Record<string, any>[]>;
}

async function start(t: TestContext, options: Partial<OpenAiServerOptions> = {}, fields = ''): Promise<Started> {
  const endpoint = await startOpenAiServer(t, { dim: 4, ...options });
  const server = await startTestServer({
    SHEAF_EMBEDDER__DEFAULT: 'far',
    SHEAF_EMBEDDER__INSTANCES: `[{key: far, type: openai, url: "${endpoint.url}", model: m, dim: 4${fields}}]`,
  });
  await server.call('POST', docs, { chunking: { strategy: 'fixed', size: CHUNK, overlap: 0 } });
  const asked = (): string[] =>
    endpoint.calls.splice(0).flatMap(({ input }) => input.map((text) => text.replace(/\.+$/, '')));
  asked();
  return {
    ...server,
    endpoint,
    asked,
    ingest: (docid, ...chunks) => server.call('POST', `${docs}/documents`, { docid, text: textOf(...chunks) }),
    batch: async (documents, type = 'application/json') => {
      const body =
        type === 'application/json'
          ? JSON.stringify({ documents })
          : documents.map((document) => JSON.stringify(document)).join('\n');
      const { status, json, text } = await server.call('POST', `${docs}/documents:batch`, body, {
        'content-type': type,
      });
      assert.equal(status, 201, text);
      return type === 'application/json'
        ? json.documents
        : text
            .trimEnd()
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line) as Record<string, any>);
    },
  };
}

test('a document that comes again: the endpoint is asked for what changed, and for nothing where nothing did', async (t) => {
  const { ingest, asked, call, batch, faults } = await start(t);
  await ingest('A', 'one', 'two', 'three');
  assert.deepEqual(asked(), ['one', 'two', 'three']);
  await ingest('A', 'three', 'one', 'four', 'one');
  assert.deepEqual(asked(), ['four']);
  await ingest('A', 'four', 'three');
  assert.deepEqual(asked(), []);
  await batch([
    { docid: 'A', text: textOf('four', 'five') },
    { docid: 'B', text: textOf('six') },
  ]);
  assert.deepEqual(asked().sort(), ['five', 'six']);
  await batch(
    [
      { docid: 'A', text: textOf('five', 'seven') },
      { docid: 'B', text: textOf('six') },
    ],
    'application/x-ndjson',
  );
  assert.deepEqual(asked(), ['seven']);
  const { json } = await call('GET', `${docs}/documents/A/chunks`);
  assert.deepEqual([json.count, faults], [2, []]);
});

test('a text that the endpoint refuses fails its document alone, and leaves what was there', async (t) => {
  const { ingest, batch, call, faults } = await start(t, { refuses: (text) => text.startsWith('bad') });
  const refused = await ingest('X', 'good', 'bad');
  assert.deepEqual([refused.status, refused.json.code], [400, 'text_not_embeddable']);
  await ingest('OLD', 'as it was');
  for (const type of ['application/json', 'application/x-ndjson']) {
    const names = Array.from({ length: 60 }, (_, i) => `${type} ${i}`);
    const documents = names.map((docid, i) => ({
      docid,
      text: textOf(`good ${i}`, i % 7 === 3 ? `bad ${i}` : `fine ${i}`),
    }));
    const items = await batch(
      [
        ...documents,
        { docid: 'OLD', text: textOf('bad') },
        { docid: 'NEW', text: textOf('new') },
        { docid: 'NEW', text: textOf('bad') },
      ],
      type,
    );
    const expected = [
      ...names.map((_, i) => (i % 7 === 3 ? 'text_not_embeddable' : undefined)),
      'text_not_embeddable',
      undefined,
      'text_not_embeddable',
    ];
    assert.deepEqual(
      items.map(({ code }) => code),
      expected,
    );
    for (const [i, docid] of names.entries()) {
      const { status, json } = await call(
        'GET',
        `${docs}/chunks/${encodeURIComponent(`${docid}::chunk_0`)}/content`,
      ).then(({ status, text }) => ({ status, json: text }));
      if (i % 7 === 3) assert.equal(status, 404);
      else assert.deepEqual([status, json], [200, textOf(`good ${i}`)], docid);
    }
  }
  for (const [docid, text] of [
    ['OLD', 'as it was'],
    ['NEW', 'new'],
  ] as const)
    assert.equal((await call('GET', `${docs}/chunks/${docid}::chunk_0/content`)).text, textOf(text));
  assert.deepEqual(faults, []);
});

test('a batch of which nothing can be embedded makes no collection', async (t) => {
  const { call } = await start(t, { refuses: (text) => text.startsWith('bad') });
  const { json } = await call('POST', '/v1/collections/acme/missing/documents:batch', {
    documents: [{ text: 'bad' }, { text: 'bad too' }],
  });
  assert.deepEqual([json.succeeded, json.failed], [0, 2]);
  assert.equal((await call('GET', '/v1/collections/acme/missing/detail')).status, 404);
});

test('a client that goes away while the endpoint works: no further call is made for it, and nothing is stored', async (t) => {
  let release = (): void => {};
  const held = new Promise<undefined>((resolve) => (release = () => resolve(undefined)));
  let isHeld = (): void => {};
  const begun = new Promise<void>((resolve) => (isHeld = resolve));
  const fail = (_: number, { input = [] }: { input?: string[] }): Promise<undefined> | undefined => {
    if (!input.some((text) => text.startsWith('first'))) return undefined;
    isHeld();
    return held;
  };
  const { asked, ingest, call, port, faults } = await start(
    t,
    { fail: fail as NonNullable<OpenAiServerOptions['fail']> },
    ', inputs_max: 1, calls_max: 1',
  );
  const client = await RawClient.open(port);
  const body = JSON.stringify({
    docid: 'GONE',
    text: textOf('first', ...Array.from({ length: 20 }, (_, i) => `more ${i}`)),
  });
  client.request(
    'POST',
    `${docs}/documents`,
    { 'Content-Type': 'application/json', 'Content-Length': String(body.length) },
    body,
  );
  await begun;
  client.destroy();
  // Status 0: the server has noticed that the client is gone.
  while (!/^sheaf_http_requests_total\{.*status="0"\} 1$/m.test((await call('GET', '/metrics')).text)) continue;
  release();
  assert.equal((await ingest('NEXT', 'next')).status, 201);
  assert.deepEqual(
    asked().filter((text) => text !== 'ready'),
    ['first', 'next'],
  );
  assert.equal((await call('GET', `${docs}/documents/GONE`)).status, 404);
  assert.deepEqual(faults, []);
});
