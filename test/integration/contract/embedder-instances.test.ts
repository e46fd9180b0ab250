// Configured embedder instances over a real socket, with local endpoints that speak OpenAI's protocol: which tenants
// see which instance, which one is used, and what happens while they are down.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Result } from '../../kit/fake-server.js';
import { startOpenAiServer, type OpenAiServer } from '../../kit/openai-server.js';
import { startTestServer, type Answer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const SECRET = 'sk-0123456789abcdef';
const SPACE = 'openai:small:dim=4';

/** An endpoint that the test can make fail or wait. */
interface Endpoint extends OpenAiServer {
  failure?: Result | Promise<undefined> | undefined;
}

async function startEndpoint(t: TestContext, dim = 4): Promise<Endpoint> {
  const endpoint: Partial<Endpoint> = {};
  return Object.assign(endpoint, await startOpenAiServer(t, { dim, apiKey: SECRET, fail: () => endpoint.failure }));
}

const instance = (key: string, { url }: Endpoint, others: object = {}): object => ({
  key,
  type: 'openai',
  url,
  model: 'small',
  dim: 4,
  api_key_env: 'A_KEY',
  retries: 0,
  ...others,
});

/** A server whose answers are checked: none may contain the key of the endpoints. */
async function serverOf(instances: object[], env: Record<string, string> = {}): Promise<TestServer> {
  const server = await startTestServer({ A_KEY: SECRET, SHEAF_EMBEDDER__INSTANCES: JSON.stringify(instances), ...env });
  const call: TestServer['call'] = async (...request) => {
    const answer = await server.call(...request);
    assert.ok(
      !answer.text.includes(SECRET) && !JSON.stringify([...answer.headers]).includes(SECRET),
      request.join(' '),
    );
    return answer;
  };
  return { ...server, call };
}

const assertRefused = ({ status, json, headers }: Answer, wanted: number, code: string): void => {
  assert.deepEqual([status, json.code], [wanted, code]);
  if (wanted === 503) assert.ok(Number(headers.get('retry-after')) >= 1);
};

test('a collection gets the space it asks for, and texts their vectors from an endpoint', async (t) => {
  const [eu, wide] = [await startEndpoint(t), await startEndpoint(t, 8)];
  const { call } = await serverOf([
    instance('eu', eu),
    instance('wide', wide, { dim: 8, send_dimensions: true }),
    instance('pre', eu, { query_prefix: 'query: ' }),
  ]);
  const asked: [object, string][] = [
    [{ embedder: 'eu' }, SPACE],
    [{ embedder: SPACE }, SPACE],
    [{ embedder_type: 'openai', embed_model: 'small', embedder_config: { dim: 8 } }, 'openai:small:dim=8'],
    [{ embedder_config: { query_prefix: 'query: ', dim: 4 } }, 'openai:small:dim=4,query_prefix=query: '],
    [{ embedder_config: {} }, 'builtin:static-minilm-512:dim=512'],
  ];
  for (const [i, [body, space]] of asked.entries()) {
    const made = await call('POST', `/v1/collections/acme/c${i}`, body);
    const { json: found } = await call('GET', `/v1/collections/acme/c${i}/detail`);
    assert.deepEqual([made.status, found.vector_space_key], [201, space]);
    const { embedder_type, embed_model, embedder_config } = made.json;
    assert.equal(
      (await call('POST', `/v1/collections/acme/c${i}`, { embedder_type, embed_model, embedder_config })).status,
      201,
      'again, as it was told',
    );
  }
  for (const body of [
    { embedder: 'openai' },
    { embedder: 'openai:small' },
    { embed_model: 'small' },
    { embedder_type: 'openai', embedder_config: { dims: 4 } },
  ]) {
    assertRefused(await call('POST', '/v1/collections/acme/other', body), 400, 'invalid_embedder_config');
  }
  assert.equal(
    (await call('POST', '/v1/collections/acme/c0/documents', { docid: 'A', text: 'a submarine' })).status,
    201,
  );
  const { json } = await call('GET', '/v1/collections/acme/c0/search?q=a+submarine');
  assert.ok(json.matches.length === 1 && Math.abs(json.matches[0].score - 1) < 1e-5, JSON.stringify(json.matches));
  assertRefused(
    await call('POST', '/v1/collections/acme/c0/documents', { vector: [1, 2, 3, 4, 5, 6, 7, 8] }),
    400,
    'dim_mismatch',
  );
  assertRefused(await call('POST', '/v1/collections/acme/c0', { embedder: 'wide' }), 400, 'invalid_embedder_config');
});

test('an instance of one tenant does not exist for another, not even as the default', async (t) => {
  const [own, eu] = [await startEndpoint(t), await startEndpoint(t)];
  const { call } = await serverOf(
    [instance('eu', eu, { model: 'large' }), instance('private', own, { tenants: ['acme'] })],
    { SHEAF_EMBEDDER__DEFAULT: 'private' },
  );
  const inventories = await Promise.all(
    ['/v1/admin/embedders', '/v1/embedders/acme', '/v1/embedders/beta'].map(
      async (path) => (await call('GET', path)).json,
    ),
  );
  const keys = inventories.map(({ embedders }) => embedders.map(({ key }: { key: string }) => key));
  assert.deepEqual(keys, [
    ['eu', 'private', 'builtin'],
    ['eu', 'private', 'builtin'],
    ['eu', 'builtin'],
  ]);
  const configured = { vector_key: SPACE, instance_keys: ['private'], selector: 'private' };
  const fallback = { vector_key: 'builtin:static-minilm-512:dim=512', instance_keys: ['builtin'] };
  assert.deepEqual(
    inventories.map((inventory) => inventory.default),
    [configured, configured, fallback],
  );
  for (const embedder of ['private', 'openai:small', SPACE]) {
    assert.equal((await call('POST', '/v1/collections/acme/docs', { embedder })).status, 201);
    const { status, json, text } = await call('POST', '/v1/collections/beta/docs', { embedder });
    assert.ok(status === 400 && json.code === 'invalid_embedder_config' && !text.includes('private'));
  }
  for (const [tenant, type] of [
    ['acme', 'openai'],
    ['beta', 'builtin'],
  ])
    assert.equal((await call('POST', `/v1/collections/${tenant}/plain`)).json.embedder_type, type);
});

test('instances of one space share its work; where one fails the others do it', async (t) => {
  const [eu, us] = [await startEndpoint(t), await startEndpoint(t)];
  const { call } = await serverOf([instance('eu', eu), instance('us', us)], { SHEAF_EMBEDDER__DEFAULT: 'openai' });
  const { json } = await call('GET', '/v1/embedders/acme');
  assert.deepEqual(json.default, { vector_key: SPACE, instance_keys: ['eu', 'us'], selector: 'openai' });
  await until(async () => (await call('GET', '/health')).json.status === 'ready');
  const ingest = (n: number): Promise<Answer> =>
    call('POST', '/v1/collections/acme/docs/documents', { docid: `D${n}`, text: `document number ${n}` });
  const search = (n: number): Promise<Answer> =>
    call('GET', `/v1/collections/acme/docs/search?q=document+number+${n}&k=1`);
  // The first endpoint does not answer before the second has been called: otherwise the first could do all the work,
  // one document after the other.
  eu.failure = until(() => us.calls.some(({ input }) => input.some((text) => text.startsWith('document')))).then(
    () => undefined,
  );
  for (const answer of await Promise.all(Array.from({ length: 20 }, (_, n) => ingest(n))))
    assert.equal(answer.status, 201);
  assert.ok(eu.calls.some(({ input }) => input.some((text) => text.startsWith('document'))));
  eu.failure = { status: 500 };
  assert.equal((await ingest(20)).status, 201, 'the bytes of a document are there for the next instance');
  for (const [n, answer] of (await Promise.all(Array.from({ length: 21 }, (_, n) => search(n)))).entries())
    assert.deepEqual([answer.status, answer.json.matches[0]?.meta.docid], [200, `D${n}`]);
  await until(async () => (await call('GET', '/health')).json.status === 'degraded');
  assert.equal((await call('GET', '/health/ready')).status, 200);
  const seen = eu.calls.length;
  for (let n = 0; n < 20; n++) assert.equal((await search(n)).status, 200);
  assert.ok(
    eu.calls.slice(seen).every(({ input }) => input[0] === 'ready'),
    'a broken instance gets probes alone',
  );
  eu.failure = undefined;
  await until(async () => (await call('GET', '/health')).json.status === 'ready');
});

test('while no instance of the space answers: text is 503, vectors work, nothing is made; then all is well again', async (t) => {
  const eu = await startEndpoint(t);
  const { call } = await serverOf([instance('eu', eu)], { SHEAF_EMBEDDER__DEFAULT: 'eu' });
  const base = '/v1/collections/acme/docs';
  assert.equal((await call('POST', `${base}/documents`, { docid: 'A', text: 'a submarine' })).status, 201);
  eu.failure = 'hang up';
  for (let n = 0; n < 6; n++)
    assertRefused(await call('GET', `${base}/search?q=submarine${n}`), 503, 'embedder_unavailable');
  const notReady = await call('GET', '/health/ready');
  assert.deepEqual(
    [notReady.status, notReady.json.code, notReady.json.details.checks.embeddings],
    [503, 'not_ready', 'unavailable'],
  );
  assertRefused(await call('POST', `${base}/documents`, { docid: 'A', text: 'another' }), 503, 'embedder_unavailable');
  assert.equal((await call('GET', `${base}/documents/A`)).json.version, 1);
  assert.equal((await call('POST', `${base}/search`, { v: [1, 0, 0, 0] })).json.matches.length, 1);
  assert.equal((await call('POST', `${base}/documents`, { docid: 'V', vector: [1, 0, 0, 0] })).status, 201);
  assertRefused(await call('POST', '/v1/collections/acme/new', { embedder: 'eu' }), 503, 'embedder_unavailable');
  assertRefused(
    await call('POST', '/v1/collections/acme/new/documents', { text: 'a text' }),
    503,
    'embedder_unavailable',
  );
  assertRefused(
    await call('POST', '/v1/collections/acme/new/documents', { vector: [1, 0, 0, 0] }),
    503,
    'embedder_unavailable',
  );
  assertRefused(await call('GET', '/v1/collections/acme/new/detail'), 404, 'collection_not_found');
  assert.equal((await call('POST', base, {})).status, 201, 'one that is there is found');
  assert.equal(
    (await call('POST', '/v1/collections/acme/own', { embedder_type: 'identity', embedder_config: { dim: 2 } })).status,
    201,
  );
  assert.equal((await call('POST', '/v1/collections/acme/words', { embedder: 'builtin' })).status, 201);
  eu.failure = undefined;
  await until(async () => (await call('GET', '/health/ready')).status === 200);
  assert.equal((await call('POST', '/v1/collections/acme/new', { embedder: 'eu' })).status, 201);
  assert.equal((await call('GET', `${base}/search?q=a+submarine&k=1`)).json.matches[0].meta.docid, 'A');
});

test('an instance that has never answered: the others serve, a create in its space is refused', async (t) => {
  const eu = await startEndpoint(t);
  eu.failure = { status: 401 };
  const { call } = await serverOf([instance('eu', eu)]);
  assert.equal((await call('GET', '/health')).json.status, 'degraded');
  assertRefused(await call('POST', '/v1/collections/acme/docs', { embedder: 'eu' }), 503, 'embedder_unavailable');
  assertRefused(await call('GET', '/v1/collections/acme/docs/detail'), 404, 'collection_not_found');
  assert.equal((await call('POST', '/v1/collections/acme/plain')).status, 201);
  eu.failure = undefined;
  await until(async () => (await call('GET', '/health')).json.status === 'ready');
  const asked = eu.calls.length;
  for (let n = 0; n < 20; n++) await call('GET', n % 2 ? '/health' : '/health/ready');
  assert.equal(eu.calls.length, asked, 'health asks for nothing');
  assert.equal((await call('POST', '/v1/collections/acme/docs', { embedder: 'eu' })).status, 201);
  assert.equal(eu.calls.length, asked, 'nor does the check before a create, once it has answered');
});

test('a space that no instance serves any more: text is 503, its vectors stay of use', async (t) => {
  const eu = await startEndpoint(t);
  const dataDir = tempDirectory();
  const first = await serverOf([instance('eu', eu)], { SHEAF_DATA_DIR: dataDir });
  const base = '/v1/collections/acme/docs';
  await first.call('POST', base, { embedder: 'eu' });
  await first.call('POST', `${base}/documents`, { docid: 'A', text: 'a submarine' });
  await first.stop();
  const { call } = await serverOf([], { SHEAF_DATA_DIR: dataDir });
  const refused = await call('GET', `${base}/search?q=submarine`);
  assertRefused(refused, 503, 'embedder_unavailable');
  assert.match(refused.json.error, /No configured embedder serves the vector space/);
  assertRefused(await call('POST', `${base}/documents`, { text: 'a text' }), 503, 'embedder_unavailable');
  assert.equal((await call('POST', `${base}/documents`, { docid: 'V', vector: [1, 0, 0, 0] })).status, 201);
  assert.equal((await call('POST', `${base}/search`, { v: [1, 0, 0, 0] })).json.matches.length, 2);
  assert.equal((await call('POST', base, {})).status, 201);
});
