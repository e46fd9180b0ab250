// The embed pool with an embedder behind an endpoint: real threads, and a local server that speaks OpenAI's protocol.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { RerankerSpec } from '../../../src/embedding/embedder-spec.js';
import type { DocId } from '../../../src/api/ids.js';
import { packDocument, unpackDocuments } from '../../../src/text/prepared-document.js';
import { EmbedPool } from '../../../src/pool/embed-pool.js';
import {
  scoreOf,
  startOpenAiServer,
  unitOf,
  type OpenAiServer,
  type OpenAiServerOptions,
} from '../../kit/openai-server.js';
import { DIM, ENDPOINT, wait } from '../../kit/embedding/openai-runner.js';

interface Bench {
  pool: EmbedPool;
  server: OpenAiServer;
  logged: object[];
}

async function open(
  t: TestContext,
  spec: Partial<typeof ENDPOINT>,
  options: Partial<OpenAiServerOptions> = {},
): Promise<Bench> {
  const server = await startOpenAiServer(t, { dim: DIM, ...options });
  const logged: object[] = [];
  const note = (fields: object): void => void logged.push(fields);
  const endpoint = { ...ENDPOINT, url: server.url, ...spec };
  const rerankers: RerankerSpec[] = [{ key: 'cross', type: 'endpoint', endpoint }];
  const threads = { queries: 1, documents: 1, queryModel: 1, documentModel: 1 };
  const pool = new EmbedPool({
    threads,
    embedders: [{ key: 'remote', type: 'openai', endpoint }],
    rerankers,
    log: { debug: note, info: note, warn: note, error: note },
  });
  t.after(() => pool.close());
  return { pool, server, logged };
}

/** Packed documents with these chunks. */
function packed(documents: readonly string[][]): { documents: Uint8Array; ends: number[] } {
  const all = documents.map((chunks, i) =>
    packDocument({
      docid: `d${i}` as DocId,
      ingestedAtMs: 0,
      metadataJson: '{}',
      priority: 0,
      chunks: chunks.map((text, at) => ({ path: `${at}`, metaJson: '{}', text })),
    }),
  );
  const ends: number[] = [];
  for (const bytes of all) ends.push((ends.at(-1) ?? 0) + bytes.length);
  return { documents: new Uint8Array(Buffer.concat(all)), ends };
}

const close = (vector: ArrayLike<number>, text: string): boolean =>
  unitOf(text, DIM).every((value, i) => Math.abs(value - (vector[i] as number)) < 1e-6);

test('queries of one moment share a call, and each gets its own vector or failure', async (t) => {
  const { pool, server } = await open(t, { callsMax: 1 }, { refuses: (text) => text === 'bad' });
  const bad = assert.rejects(pool.embedQuery('remote', { text: 'bad' }), { code: 'text_not_embeddable' });
  const texts = Array.from({ length: 30 }, (_, i) => `query ${i}`);
  const vectors = await Promise.all(texts.map((text) => pool.embedQuery('remote', { text })));
  vectors.forEach((vector, i) => assert.ok(close(vector, texts[i] as string)));
  await bad;
  assert.ok(
    server.calls.some(({ input }) => input.length > 1),
    'they did not all go alone',
  );
});

test('documents are embedded, cut texts are told, and one that is refused fails alone', async (t) => {
  const { pool } = await open(t, { charactersMax: 10 }, { refuses: (text) => text === 'bad' });
  const { vectors, failures, ...rest } = await pool.embedDocuments(
    'remote',
    packed([['one', 'two'], ['three', 'bad'], ['a long long text']]),
  );
  assert.deepEqual(
    failures?.map(({ document, error }) => [document, error.code]),
    [[1, 'text_not_embeddable']],
  );
  assert.deepEqual(
    unpackDocuments(rest.documents, rest.ends).map(({ chunks }) => chunks.map(({ metaJson }) => metaJson)),
    [['{}', '{}'], ['{}', '{}'], ['{"embedding_truncated":true}']],
  );
  for (const [row, text] of [
    [0, 'one'],
    [1, 'two'],
    [2, 'three'],
    [4, 'a long lon'],
  ] as const)
    assert.ok(close(vectors.subarray(row * DIM, (row + 1) * DIM), text), text);
});

test('texts are reranked', async (t) => {
  const { pool } = await open(t, {});
  const texts = ['red foxes', 'blue whales', 'red whales hunt'];
  assert.deepEqual(
    await pool.rerank({ reranker: 'cross', query: 'red foxes hunt', texts }),
    Float32Array.from(texts, (text) => scoreOf('red foxes hunt', text)),
  );
});

test('what the worker has to say of a failure is in the log, and neither key nor text', async (t) => {
  const { pool, logged } = await open(t, { apiKey: 'sk-secret', retriesMax: 0 }, { apiKey: 'sk-other' });
  await assert.rejects(pool.embedQuery('remote', { text: 'my text' }), {
    code: 'embedder_unavailable',
    message: 'The embedder does not answer.',
  });
  await wait(() => logged.length > 0);
  assert.match(JSON.stringify(logged), /"instance":"remote".*401/);
  assert.doesNotMatch(JSON.stringify(logged), /sk-|my text/);
});

test('a pool is closed while its calls hang: what waits is refused', async (t) => {
  const { pool, server } = await open(t, { timeoutMs: 3_600_000 }, { fail: () => 'never' });
  const asked = [pool.embedQuery('remote', { text: 'q' }), pool.embedDocuments('remote', packed([['one']]))].map(
    (answer) => assert.rejects(answer, { code: 'shutting_down' }),
  );
  await wait(() => server.calls.length === 2);
  await pool.close();
  await Promise.all(asked);
});

test('ten thousand chunks of one document are no error', async (t) => {
  const { pool, server } = await open(t, {});
  const chunks = Array.from({ length: 10_000 }, (_, i) => `chunk ${i}`);
  const { vectors, failures } = await pool.embedDocuments('remote', packed([chunks]));
  assert.equal(failures, undefined);
  for (const row of [0, 2047, 2048, 9999])
    assert.ok(close(vectors.subarray(row * DIM, (row + 1) * DIM), `chunk ${row}`), `chunk ${row}`);
  assert.ok(server.calls.every(({ input }) => input.length <= 2048));
});
