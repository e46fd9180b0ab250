// The OpenAPI document is complete, valid by the standard's own schema, and agrees with the examples in it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { statusOf } from '../../../../src/http/envelope.js';
import { openApiDocument } from '../../../../src/http/openapi/document.js';
import { createRoutes } from '../../../../src/http/routes.js';
import type { Services } from '../../../../src/service/services.js';
import type { ErrorCode } from '../../../../src/api/errors.js';
import { pointerOf, SpecJudge, type Spec } from '../../../kit/openapi.js';

/** A placeholder for the context of the route table: the test sends no request. */
const anything: unknown = new Proxy(() => undefined, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : anything),
  apply: () => anything,
});
const routes = createRoutes(anything as Services);
const document = openApiDocument(routes);
const judge = new SpecJudge(document as unknown as Spec);

test('no operation has two routes', () => {
  const names = routes.map(({ operation }) => operation);
  assert.equal(new Set(names).size, names.length);
});

test('it is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(
    JSON.parse(JSON.stringify(document)) as Record<string, unknown>,
  );
  assert.ok(valid, JSON.stringify(errors, null, 1));
});

test('every reference leads somewhere, and no component is left over', () => {
  const text = JSON.stringify(document);
  const refs = new Set(
    [...text.matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)].map(([, kind, name]) => `${kind}/${name}`),
  );
  const parts = Object.entries(document.components).flatMap(([kind, all]) =>
    Object.keys(all).map((name) => `${kind}/${name}`),
  );
  for (const ref of refs) assert.ok(parts.includes(ref), `${ref} is referred to, but not there`);
  const free = ['securitySchemes/bearer', 'securitySchemes/apiKey'];
  for (const part of parts)
    assert.ok(refs.has(part) || free.includes(part), `${part} is there, but nothing refers to it`);
});

test('every example fits its schema', () => {
  let checked = 0;
  for (const { pointer, operation } of judge.operations()) {
    const bodies: [string, Spec['paths'][string][string]['responses'][string]['content']][] = [
      [`${pointer}/requestBody`, operation.requestBody?.content],
      ...Object.entries(operation.responses).map(
        ([status, { content }]) => [`${pointer}/responses/${status}`, content] as [string, typeof content],
      ),
    ];
    for (const [where, content] of bodies) {
      for (const [mediaType, { examples = {} }] of Object.entries(content ?? {})) {
        for (const { value, $ref } of Object.values(examples)) {
          const example = $ref === undefined ? value : document.components.examples?.[$ref.split('/').pop() ?? ''];
          const schema = where + pointerOf('content', mediaType, 'schema').slice(1);
          assert.deepEqual(
            judge.complaints(schema, $ref === undefined ? example : (example as { value: unknown }).value),
            [],
          );
          checked += 1;
        }
      }
    }
    for (const [index, { example }] of (operation.parameters ?? []).entries()) {
      if (example !== undefined)
        assert.deepEqual(judge.complaints(`${pointer}/parameters/${index}/schema`, example), []);
    }
  }
  assert.ok(checked > 300, `${checked} examples`);
});

/**
 * The statuses that were promised to clients: those that the specification lists for an operation, and some that it
 * leaves out for many. Where 400 is not listed it is 422. A route with 429 is rate-limited; one with 422 checks its
 * parameters, unless it is public.
 */
const STATUSES: Readonly<Record<string, readonly number[]>> = {
  health: [200],
  liveness: [200],
  readiness: [200, 503],
  metricsJson: [200, 401, 403, 500],
  metrics: [200, 401, 403, 500],
  resetMetrics: [200, 401, 403],
  createTenant: [201, 400, 401, 403, 409, 422, 500, 503],
  getTenant: [200, 400, 401, 403, 404, 500],
  updateTenant: [200, 400, 401, 403, 404, 422, 500, 503],
  deleteTenant: [200, 400, 401, 403, 404, 409, 422, 500, 503],
  listTenantKeys: [200, 400, 401, 403, 404, 500],
  createTenantKey: [201, 400, 401, 403, 404, 409, 422, 500, 503],
  revokeTenantKey: [200, 400, 401, 403, 404, 500, 503],
  listEmbeddersAsAdmin: [200, 401, 403, 500],
  listEmbedders: [200, 401, 403, 422, 429, 500],
  createEmbeddings: [200, 401, 403, 413, 422, 429, 500, 503],
  listTenants: [200, 401, 403, 500],
  moveCollectionAsAdmin: [200, 400, 401, 403, 404, 409, 422, 500],
  listCollections: [200, 401, 403, 422, 429, 500],
  createCollection: [201, 400, 401, 403, 422, 429, 500, 503],
  updateCollection: [200, 400, 401, 403, 404, 422, 429, 500],
  deleteCollection: [200, 400, 401, 403, 404, 422, 429, 500],
  getCollection: [200, 401, 403, 404, 422, 429, 500],
  moveCollection: [200, 400, 401, 403, 404, 409, 422, 429, 500],
  dumpArchive: [200, 401, 403, 500],
  restoreArchive: [200, 400, 401, 403, 422, 500],
  dumpCollectionArchiveAsAdmin: [200, 400, 401, 403, 404, 422, 500],
  restoreCollectionArchiveAsAdmin: [200, 400, 401, 403, 409, 422, 429, 500],
  replaceCollectionArchiveAsAdmin: [200, 400, 401, 403, 404, 422, 500],
  dumpCollectionArchive: [200, 400, 401, 403, 404, 422, 429, 500, 503],
  restoreCollectionArchive: [200, 400, 401, 403, 409, 413, 422, 429, 500, 503],
  replaceCollectionArchive: [200, 400, 401, 403, 404, 413, 422, 429, 500, 503],
  listDocuments: [200, 401, 403, 422, 429, 500],
  ingestDocument: [201, 400, 401, 403, 413, 422, 429, 500, 503],
  getDocument: [200, 401, 403, 404, 422, 429, 500],
  deleteDocument: [200, 401, 403, 422, 429, 500],
  listChunks: [200, 401, 403, 422, 429, 500],
  getChunk: [200, 401, 403, 404, 422, 429, 500],
  getChunkContent: [200, 401, 403, 404, 422, 429, 500],
  ingestBatch: [201, 400, 401, 403, 413, 422, 429, 500, 503],
  searchByQuery: [200, 401, 403, 422, 429, 500, 503],
  search: [200, 401, 403, 422, 429, 500, 503],
  measureRecall: [200, 401, 403, 422, 429, 500, 503, 404],
  sampleVectors: [200, 401, 403, 404, 422, 429, 500, 503],
  searchSharedByQuery: [200, 401, 403, 422, 429, 500, 503],
  searchShared: [200, 401, 403, 422, 429, 500, 503, 400],
  listQueries: [200, 401, 403, 422, 429, 500],
  getQuery: [200, 401, 403, 404, 422, 429, 500],
  replayQuery: [200, 401, 403, 404, 422, 429, 500, 503],
  getQueryAsAdmin: [200, 401, 403, 404, 422, 500],
  replayQueryAsAdmin: [200, 401, 403, 404, 422, 429, 500, 503],
  startReindexAsAdmin: [202, 400, 401, 403, 404, 409, 422, 500, 503],
  rollBackAsAdmin: [200, 401, 403, 404, 409, 422, 500, 503],
  listAllReindexJobs: [200, 401, 403, 422, 500],
  getReindexJobAsAdmin: [200, 401, 403, 404, 422, 500],
  cancelReindexAsAdmin: [200, 401, 403, 404, 409, 422, 500],
  pauseReindex: [200, 401, 403, 404, 409, 422, 500],
  resumeReindex: [200, 401, 403, 404, 409, 422, 500],
  startReindex: [200, 400, 401, 403, 404, 409, 422, 429, 500, 503],
  listReindexJobs: [200, 401, 403, 404, 422, 429, 500],
  getReindexJob: [200, 401, 403, 404, 422, 429, 500],
  cancelReindex: [200, 400, 401, 403, 404, 409, 422, 429, 500],
  rollBack: [200, 401, 403, 404, 409, 422, 500, 503, 429],
  collectionEvents: [200, 401, 403, 404, 422, 429, 500],
  start: [302, 404],
  console: [200, 304],
  consoleFolder: [308],
  consoleFile: [200, 304, 404],
  mcp: [200, 202, 400, 401, 403, 413, 422, 429, 500, 503],
  openApi: [200, 304],
  docs: [200, 304],
  docsFile: [200, 304, 404],
  docsPage: [200, 304, 404],
};

test('every operation answers the statuses that are listed for it, each error with a code that can occur', () => {
  for (const operation of Object.keys(STATUSES))
    assert.ok(
      routes.some((route) => route.operation === operation),
      `${operation} is gone`,
    );
  for (const route of routes) {
    const { operation } = judge.operation(route.operation);
    for (const status of STATUSES[route.operation] ?? [])
      assert.ok(operation.responses[status], `${route.operation} lacks ${status}`);
    for (const [text, response] of Object.entries(operation.responses)) {
      const status = Number(text);
      if (status < 400) continue;
      const examples = Object.keys(response.content?.['application/json']?.examples ?? {});
      const codes = examples.filter((name): name is ErrorCode => name !== 'protocol');
      assert.ok(
        codes.length > 0 || status in (route.foreignErrors ?? {}),
        `${route.operation} has no code for ${status}`,
      );
      for (const code of codes) assert.equal(statusOf(code, route), status);
    }
  }
});

test('the rules that hang on statuses hold where they are listed', () => {
  for (const { operation, access, isLimited, keeps400 = false, parameters, successes, query } of routes) {
    if (parameters) assert.deepEqual([...parameters], query?.map(({ name }) => name) ?? [], operation);
    const listed = STATUSES[operation];
    if (listed === undefined) continue;
    assert.deepEqual(
      [isLimited, keeps400, parameters !== undefined, successes],
      [
        listed.includes(429),
        listed.includes(400),
        access !== 'public' && listed.includes(422),
        listed.filter((status) => status < 400),
      ],
      operation,
    );
  }
});

/** Operations whose JSON is defined by somebody else. */
const NOT_OURS = new Set(['openApi', 'mcp']);

test('JSON requests take no unknown fields, JSON successes have the common ones', () => {
  for (const { pointer, operation } of judge.operations()) {
    const request = operation.requestBody?.content['application/json'];
    if (request)
      assert.match(
        judge
          .complaints(`${pointer}/requestBody${pointerOf('content', 'application/json', 'schema').slice(1)}`, {
            nobody: 1,
          })
          .join(),
        /additional properties/,
      );
    for (const [status, { content }] of Object.entries(operation.responses)) {
      const answer = content?.['application/json'];
      if (Number(status) >= 400 || !answer || NOT_OURS.has(operation.operationId)) continue;
      const complaints = judge
        .complaints(`${pointer}/responses/${status}${pointerOf('content', 'application/json', 'schema').slice(1)}`, {})
        .join();
      for (const field of ['ok', 'latency_ms', 'request_id'])
        assert.match(complaints, new RegExp(`'${field}'`), operation.operationId);
    }
  }
});

test('bounds, choices and pairs stand in the schemas', () => {
  const refused = (name: string, value: unknown): void =>
    assert.notDeepEqual(
      judge.complaints(`#/components/schemas/${name}`, value),
      [],
      `${name} ${JSON.stringify(value)}`,
    );
  const taken = (name: string, value: unknown): void =>
    assert.deepEqual(judge.complaints(`#/components/schemas/${name}`, value), []);
  for (const body of [
    {},
    { q: 'a', v: [1] },
    { q: null },
    { q: 'a', k: 0 },
    { q: 'a', k: 1001 },
    { q: 'a', k: 1.5 },
    { q: 'a', mode: 'fast' },
    { q: ' ' },
    { v: [] },
    { q: 'a', content_filter: { op: 'exact', value: '' } },
  ])
    refused('SearchBody', body);
  for (const body of [
    { q: 'a' },
    { q: 'a', v: null, k: null, mode: null, filters: null },
    { v: [1], k: 1000 },
    { q: 'a', mode: 'hybrid' },
  ])
    taken('SearchBody', body);
  for (const body of [{}, { text: 'a', vector: [1] }, { text: 'a', more: 1 }, { text: 'a', docid: 'a\u0000' }])
    refused('IngestBody', body);
  for (const body of [
    { text: 'a', docid: '' },
    { vector: [0.5], text: null, metadata: { a: [1] } },
  ])
    taken('IngestBody', body);
  refused('MoveBody', { new_name: '../x' });
  refused('UpdateBody', { display_name: ' ' });
  refused('ChunkingBody', { size: 15 });
  refused('CreateBody', { chunking: { size: 100, step: 1 } });
});

test('earlier names of fields are there beside the new ones, and are marked as deprecated', () => {
  const schemas = document.components.schemas as Record<string, { properties?: Record<string, object> }>;
  for (const [schema, current, before] of [
    ['RecallAnswer', 'graph_complete', 'settled'],
    ['MemoryUse', 'quantized_vectors', 'codes'],
    ['GateResult', 'shadow_ms', 'staged_ms'],
    ['ReindexJob', 'unindexed_chunks', 'unlinked_chunks'],
  ] as const) {
    const { [current]: now, [before]: then } = schemas[schema]?.properties ?? {};
    assert.ok(now && !('deprecated' in now), `${schema}.${current}`);
    assert.ok(then && 'deprecated' in then && then.deprecated === true, `${schema}.${before}`);
  }
});

test('public operations want no key, all others one', () => {
  for (const { operation, path, method } of judge.operations()) {
    const route = routes.find((each) => each.path === path && each.method.toLowerCase() === method);
    if (route) assert.deepEqual(operation.security, route.access === 'public' ? [] : undefined, operation.operationId);
  }
});
