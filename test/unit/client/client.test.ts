// The client against a local server: what each call sends, and what it makes of answers, client errors and silence.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SheafClient } from '../../../src/client/client.js';
import {
  SheafConflict,
  SheafError,
  SheafNotFound,
  SheafUnavailable,
  SheafUnreachable,
} from '../../../src/client/errors.js';
import { closedPort, readForm, startFakeServer } from '../../kit/fake-server.js';

const REFUSED = {
  status: 503,
  json: { ok: false, code: 'overloaded', error: 'Later.' },
  headers: { 'retry-after': '0' },
};

test('each call goes to its endpoint, with names encoded', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({ json: { ok: true } }));
  const client = new SheafClient({ url: `${url}/` });
  await client.health();
  await client.ready();
  await client.createCollection('acme', 'docs');
  await client.listCollections('acme');
  await client.collectionDetail('acme', 'docs');
  await client.deleteCollection('acme', 'docs');
  await client.listDocuments('acme', 'docs');
  await client.getDocument('acme', 'docs', 'a/b c.md');
  await client.deleteDocument('acme', 'docs', 'ä?');
  await client.listChunks('acme', 'docs', '50%');
  await client.getChunk('acme', 'docs', 'a/b.md::chunk_0');
  await client.live();
  await client.metrics();
  await client.metrics({ history: true });
  await client.metricsText();
  await client.updateCollection('acme', 'docs', { display_name: 'Docs' });
  await client.moveCollection('acme', 'docs', 'manuals');
  await client.listDocuments('acme', 'docs', { limit: 2, cursor: 'a+b' });
  await client.ingestBatch('acme', 'docs', [{ text: 'x' }]);
  await client.searchByQuery('acme', 'docs', { q: 'a b&c', k: 3, include_common: true });
  await client.searchShared({ q: 'x' });
  await client.searchSharedByQuery({ q: 'x' });
  await client.listEmbedders('acme');
  await client.embeddings({ input: 'x' });
  await client.queries.list('acme', 'docs', { limit: 10, offset: 20 });
  await client.queries.get('acme', 'docs', 'q1');
  await client.queries.replay('acme', 'docs', 'q1');
  await client.admin.listTenants();
  await client.admin.createTenant({ tenant: 'acme' });
  await client.admin.getTenant('acme');
  await client.admin.updateTenant('acme', { burst: null });
  await client.admin.deleteTenant('acme', { force: true });
  await client.admin.listKeys('acme');
  await client.admin.createKey('acme');
  await client.admin.revokeKey('acme', 'k1');
  await client.admin.moveCollection('acme', 'docs', 'manuals');
  await client.admin.getQuery('q1');
  await client.admin.replayQuery('q1');
  await client.admin.listEmbedders();
  await client.admin.resetMetrics();
  assert.deepEqual(
    requests.map(({ method, path }) => `${method} ${path}`),
    [
      'GET /health',
      'GET /health/ready',
      'POST /v1/collections/acme/docs',
      'GET /v1/collections/acme',
      'GET /v1/collections/acme/docs/detail',
      'DELETE /v1/collections/acme/docs',
      'GET /v1/collections/acme/docs/documents',
      'GET /v1/collections/acme/docs/documents/a%2Fb%20c.md',
      'DELETE /v1/collections/acme/docs/documents/%C3%A4%3F',
      'GET /v1/collections/acme/docs/documents/50%25/chunks',
      'GET /v1/collections/acme/docs/chunks/a%2Fb.md%3A%3Achunk_0',
      'GET /health/live',
      'GET /health/metrics',
      'GET /health/metrics?history=true',
      'GET /metrics',
      'PATCH /v1/collections/acme/docs',
      'POST /v1/collections/acme/docs/move',
      'GET /v1/collections/acme/docs/documents?limit=2&cursor=a%2Bb',
      'POST /v1/collections/acme/docs/documents%3Abatch',
      'GET /v1/collections/acme/docs/search?q=a+b%26c&k=3&include_common=true',
      'POST /v1/search',
      'GET /v1/search?q=x',
      'GET /v1/embedders/acme',
      'POST /v1/embeddings',
      'GET /v1/collections/acme/docs/queries?limit=10&offset=20',
      'GET /v1/collections/acme/docs/queries/q1',
      'POST /v1/collections/acme/docs/queries/q1/replay',
      'GET /v1/admin/tenants',
      'POST /v1/admin/tenants',
      'GET /v1/admin/tenants/acme',
      'PATCH /v1/admin/tenants/acme',
      'DELETE /v1/admin/tenants/acme?force=true',
      'GET /v1/admin/tenants/acme/keys',
      'POST /v1/admin/tenants/acme/keys',
      'DELETE /v1/admin/tenants/acme/keys/k1',
      'POST /v1/admin/collections/acme/docs/move',
      'GET /v1/admin/queries/q1',
      'POST /v1/admin/queries/q1/replay',
      'GET /v1/admin/embedders',
      'DELETE /v1/admin/metrics',
    ],
  );
});

const closedUrl = async (): Promise<string> => `http://127.0.0.1:${await closedPort()}`;
const told = (token: string) => ({ json: { ok: true }, headers: { 'x-consistency': token } });

test('of several nodes, the next one is asked where one does not answer or refuses, and shows what was written', async (t) => {
  let isWell = true;
  const first = await startFakeServer(t, () => (isWell ? told('0a1b2c3d:7') : REFUSED));
  const second = await startFakeServer(t, () => told('0a1b2c3d:5'));
  const client = new SheafClient({ url: [first.url, await closedUrl(), second.url] });
  await client.ingestText('acme', 'docs', { docid: 'd', text: 'x' });
  isWell = false;
  await client.search('acme', 'docs', { q: 'x' });
  await client.getDocument('acme', 'docs', 'd');
  assert.deepEqual([first.requests.length, second.requests.length], [2, 2]);
  // The token of the second one is older, as where answers overtake each other.
  assert.deepEqual(
    second.requests.map(({ headers }) => headers['x-consistency']),
    ['0a1b2c3d:7', '0a1b2c3d:7'],
  );
});

test('a cluster that was set up anew is asked without what was seen of the old one', async (t) => {
  let token = '0a1b2c3d:7';
  const { url, requests } = await startFakeServer(t, ({ headers }) =>
    (headers['x-consistency'] ?? token) === token
      ? told(token)
      : { status: 503, json: { ok: false, code: 'node_behind' }, headers: { 'retry-after': '0' } },
  );
  const client = new SheafClient({ url: [url, url], retriesMax: 1 });
  const search = (): Promise<unknown> => client.search('acme', 'docs', { q: 'x' });
  await search();
  token = '99999999:1';
  await assert.rejects(search(), SheafUnavailable);
  await search();
  await search();
  assert.equal(requests.at(-1)?.headers['x-consistency'], token);
});

test('a write whose connection breaks is repeated by another node with a key alone, and later calls go there', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({ status: 201, json: { ok: true } }));
  const write = (client: SheafClient): Promise<unknown> => client.ingestText('acme', 'docs', { text: 'x' });
  const plain = new SheafClient({ url: [await closedUrl(), url] });
  await assert.rejects(write(plain), SheafUnreachable);
  assert.equal(requests.length, 0);
  await write(plain);
  await write(new SheafClient({ url: [await closedUrl(), url], idempotent: true }));
  assert.equal(requests.length, 2);
  assert.ok(requests[1]?.headers['idempotency-key']);
});

test('where no node answers, each is asked once; a check of health asks one', async () => {
  const url = [await closedUrl(), await closedUrl()];
  const client = new SheafClient({ url });
  await assert.rejects(client.search('acme', 'docs', { q: 'x' }), SheafUnreachable);
  await assert.rejects(client.health(), ({ message }: Error) => message.includes(url[0] as string));
  assert.throws(() => new SheafClient({ url: [] }), TypeError);
});

test('a name that a URL would take for a folder is refused before it is sent', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({}));
  const client = new SheafClient({ url });
  for (const docid of ['..', '.', '']) await assert.rejects(client.deleteDocument('acme', 'docs', docid), TypeError);
  assert.equal(requests.length, 0);
});

test('JSON bodies carry what was given, and answers come back parsed', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({
    status: 201,
    json: { ok: true, docid: 'd', chunks: 1 },
  }));
  const client = new SheafClient({ url, key: 'secret' });
  const answer = await client.ingestText('acme', 'docs', { docid: 'd', text: 'naïve 😀', metadata: { n: 1 } });
  await client.ingestVector('acme', 'docs', { vector: [0.5, -1] });
  await client.createCollection('acme', 'docs', { embedder_type: 'identity', embedder_config: { dim: 2 } });
  await client.search('acme', 'docs', { q: 'x', k: 3, filters: { lang: 'en' } });
  assert.equal(answer.chunks, 1);
  assert.equal(requests[0]?.headers['content-type'], 'application/json');
  assert.ok(requests.every(({ headers }) => headers.authorization === 'Bearer secret'));
  assert.deepEqual(
    requests.map(({ body }) => JSON.parse(body.toString())),
    [
      { docid: 'd', text: 'naïve 😀', metadata: { n: 1 } },
      { vector: [0.5, -1] },
      { embedder_type: 'identity', embedder_config: { dim: 2 } },
      { q: 'x', k: 3, filters: { lang: 'en' } },
    ],
  );
});

test('a file goes as multipart form data', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({ status: 201 }));
  await new SheafClient({ url }).ingestFile('acme', 'docs', {
    name: 'b.md',
    content: new Blob(['# Title\r\n']),
    docid: 'a/b.md',
    metadata: { path: 'a/b.md' },
    csv: { hasHeader: 'no', metaColumns: ['a', 2] },
  });
  assert.equal(requests[0]?.path, '/v1/collections/acme/docs/documents?csv_has_header=no&csv_meta_cols=a%2C2');
  const form = await readForm(requests[0]!);
  const file = form.get('file') as File;
  assert.equal(form.get('docid'), 'a/b.md');
  assert.deepEqual(JSON.parse(String(form.get('metadata'))), { path: 'a/b.md' });
  assert.equal(file.name, 'b.md');
  assert.equal(await file.text(), '# Title\r\n');
});

test('chunk content comes back as it is', async (t) => {
  const { url } = await startFakeServer(t, () => ({ text: '{"not": parsed' }));
  assert.equal(await new SheafClient({ url }).chunkContent('acme', 'docs', 'd::chunk_0'), '{"not": parsed');
});

test('an error envelope becomes a SheafError', async (t) => {
  const { url } = await startFakeServer(t, () => ({
    status: 404,
    json: {
      ok: false,
      code: 'collection_not_found',
      error: 'No such collection.',
      details: { name: 'docs' },
      request_id: 'r1',
    },
  }));
  await assert.rejects(new SheafClient({ url }).collectionDetail('acme', 'docs'), (error) => {
    assert.ok(error instanceof SheafError);
    const { status, code, message, requestId, details } = error;
    assert.deepEqual(
      { status, code, message, requestId, details },
      {
        status: 404,
        code: 'collection_not_found',
        message: 'No such collection.',
        requestId: 'r1',
        details: { name: 'docs' },
      },
    );
    return true;
  });
});

test('what programs act on has a class of its own', async (t) => {
  const statuses = [404, 409, 429, 422] as const;
  const envelopes = [
    { ok: false, code: 'document_not_found', error: 'x', error_type: 'not_found' },
    { ok: false, code: 'collection_conflict', error: 'x', error_type: 'conflict' },
    { ok: false, code: 'tenant_rate_limited', error: 'x', error_type: 'unavailable' },
    {
      ok: false,
      code: 'validation_error',
      error: 'x',
      error_type: 'invalid',
      detail: [{ loc: ['body', 'k'], msg: 'm', type: 't' }],
    },
  ];
  let at = 0;
  const { url } = await startFakeServer(t, () => ({
    status: statuses[at] ?? 500,
    json: envelopes[at++],
    headers: { 'retry-after': '7' },
  }));
  const client = new SheafClient({ url, retriesMax: 0 });
  for (const kind of [SheafNotFound, SheafConflict, SheafUnavailable, SheafError]) {
    await assert.rejects(client.listCollections('acme'), (error) => {
      assert.ok(error instanceof kind && error instanceof SheafError);
      assert.equal(error.name, kind === SheafError ? 'SheafError' : kind.name);
      assert.equal(error.retryAfterS, 7);
      assert.deepEqual(error.detail, error.status === 422 ? [{ loc: ['body', 'k'], msg: 'm', type: 't' }] : undefined);
      return true;
    });
  }
});

test('a quota is not tried again', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({
    status: 429,
    json: { ok: false, code: 'collection_limit_reached', error: 'x', error_type: 'unavailable' },
  }));
  await assert.rejects(new SheafClient({ url }).createCollection('acme', 'docs'), SheafUnavailable);
  assert.equal(requests.length, 1);
});

test('an error that is no envelope keeps its status and the request id of its header', async (t) => {
  const { url } = await startFakeServer(t, () => ({
    status: 502,
    text: '<html>Bad Gateway</html>',
    headers: { 'x-request-id': 'r2' },
  }));
  await assert.rejects(new SheafClient({ url }).health(), {
    name: 'SheafError',
    status: 502,
    code: 'http_error',
    message: 'Bad Gateway',
    requestId: 'r2',
  });
});

test('a success that is not JSON is an error too', async (t) => {
  const { url } = await startFakeServer(t, () => ({ text: 'hello' }));
  await assert.rejects(new SheafClient({ url }).health(), { name: 'SheafError', code: 'http_error' });
});

test('an upload is answered by Sheaf, or it is an error like others', async (t) => {
  const { url } = await startFakeServer(t, () => ({ text: '<html>' }));
  await assert.rejects(new SheafClient({ url }).archives.restore(new Blob(['PK'])), {
    name: 'SheafError',
    code: 'http_error',
    message: /another program/,
  });
});

test('a download that breaks is SheafUnreachable, in its error too; one that is ended by its caller is not', async (t) => {
  const { url } = await startFakeServer(t, ({ path }) =>
    path.includes('refused') ? 'break refusal' : path.includes('silent') ? 'never' : 'break off',
  );
  const client = new SheafClient({ url });
  await assert.rejects(client.archives.dumpCollection('acme', 'refused'), { name: 'SheafUnreachable' });
  const { bytes } = await client.archives.dumpCollection('acme', 'docs');
  await assert.rejects(new Response(bytes).text(), { name: 'SheafUnreachable' });
  const ended = await client.archives
    .dumpCollection('acme', 'silent', { signal: AbortSignal.timeout(0) })
    .catch((error: unknown) => error);
  assert.equal((ended as Error).name, 'TimeoutError');
});

test('errors for the client are tried again, with the whole body', async (t) => {
  let calls = 0;
  const { url, requests } = await startFakeServer(t, () =>
    ++calls <= 2 ? REFUSED : { status: 201, json: { ok: true, chunks: 1 } },
  );
  await new SheafClient({ url }).ingestFile('acme', 'docs', { name: 'a.md', content: new Blob(['text']) });
  assert.equal(requests.length, 3);
  const files = await Promise.all(
    requests.map(async (request) => ((await readForm(request)).get('file') as File).text()),
  );
  assert.deepEqual(files, ['text', 'text', 'text']);
});

test('retries end, and other errors are not tried again', async (t) => {
  const { url, requests } = await startFakeServer(t, ({ path }) =>
    path.endsWith('/search') ? REFUSED : { status: 500, json: { code: 'internal_error', error: 'x' } },
  );
  const client = new SheafClient({ url, retriesMax: 3 });
  await assert.rejects(client.search('acme', 'docs', { q: 'x' }), { code: 'overloaded' });
  assert.equal(requests.length, 4);
  await assert.rejects(client.listCollections('acme'), { code: 'internal_error' });
  assert.equal(requests.length, 5);
});

test('readiness is asked once', async (t) => {
  const { url, requests } = await startFakeServer(t, () => ({
    ...REFUSED,
    json: { ok: false, code: 'not_ready', error: 'x' },
  }));
  await assert.rejects(new SheafClient({ url }).ready(), { status: 503, code: 'not_ready' });
  assert.equal(requests.length, 1);
});

test('no listener, a broken connection and silence are SheafUnreachable', async (t) => {
  const port = await closedPort();
  await assert.rejects(new SheafClient({ url: `http://127.0.0.1:${port}` }).health(), (error) => {
    assert.ok(error instanceof SheafUnreachable);
    assert.match(error.message, /ECONNREFUSED/);
    return true;
  });
  const { url } = await startFakeServer(t, ({ path }) => (path === '/health' ? 'hang up' : 'never'));
  const client = new SheafClient({ url, timeoutMs: 50 });
  await assert.rejects(client.health(), SheafUnreachable);
  await assert.rejects(client.ready(), { name: 'SheafUnreachable', message: /timeout/ });
});

test('an aborted signal ends a call and a wait between retries', async (t) => {
  const { url } = await startFakeServer(t, ({ path }) =>
    path === '/health' ? 'never' : { ...REFUSED, headers: { 'retry-after': '20' } },
  );
  const client = new SheafClient({ url });
  await assert.rejects(client.health({ signal: AbortSignal.timeout(30) }), { name: 'TimeoutError' });
  const controller = new AbortController();
  const waiting = client.listCollections('acme', { signal: controller.signal });
  setTimeout(() => controller.abort(), 100);
  await assert.rejects(waiting, { name: 'AbortError' });
});

test('an address that is none is refused at once', () => {
  for (const url of ['', 'localhost:8080', 'ftp://x', 'not a url'])
    assert.throws(() => new SheafClient({ url }), TypeError, url);
});
