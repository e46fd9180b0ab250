// Tracing over real HTTP: the server continues the caller's trace, passes it to the embedding endpoint, and sends its
// spans to a local server that accepts OTLP as JSON. It is off by default.
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFakeServer, type FakeServer } from '../../kit/fake-server.js';
import { startOpenAiServer, type OpenAiServer } from '../../kit/openai-server.js';
import { startTestServer, type TestServer } from '../../kit/server.js';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const traceparent = (flags: '00' | '01'): Record<string, string> => ({ traceparent: `00-${TRACE}-${PARENT}-${flags}` });
const docs = '/v1/collections/acme/docs';

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  status: { code: number; message?: string };
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
}

const spansIn = ({ requests }: FakeServer): OtlpSpan[] =>
  requests.flatMap(({ body }) =>
    (JSON.parse(body.toString()) as { resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[] }).resourceSpans.flatMap(
      ({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans),
    ),
  );
/**
 * The `traceparent` headers of the embedding calls. Health probes come at any time, outside any trace, and are left
 * out.
 */
const sentTo = ({ requests }: OpenAiServer): string[] =>
  requests.filter(({ body }) => !body.includes('"ready"')).map(({ headers }) => headers.traceparent as string);
const attributesOf = ({ attributes }: OtlpSpan): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));

interface Traced extends TestServer {
  collector: FakeServer;
  endpoint: OpenAiServer;
  /** Stops the server, which then sends its remaining spans. */
  spans(): Promise<OtlpSpan[]>;
}

async function startTraced(
  t: TestContext,
  env: Record<string, string> = {},
  status = 200,
  tuning: Parameters<typeof startTestServer>[1] = {},
): Promise<Traced> {
  const collector = await startFakeServer(t, () => ({ status, json: {} }));
  const endpoint = await startOpenAiServer(t, { dim: 4 });
  const settings = {
    SHEAF_TRACING__ENABLED: 'true',
    SHEAF_TRACING__ENDPOINT: `${collector.url}/v1/traces`,
    SHEAF_TRACING__SAMPLE_SHARE: '1',
    SHEAF_EMBEDDER__DEFAULT: 'far',
    SHEAF_EMBEDDER__INSTANCES: `[{key: far, type: openai, url: "${endpoint.url}", model: m, dim: 4}]`,
    ...env,
  };
  const server = await startTestServer(settings, tuning);
  return { ...server, collector, endpoint, spans: async () => (await server.stop(), spansIn(collector)) };
}

test('a search goes on with the trace of its caller, with a span for each phase, and the endpoint is told', async (t) => {
  const server = await startTraced(t);
  await server.call('POST', `${docs}/documents`, { docid: 'a', text: 'wind and waves' });
  server.endpoint.requests.length = 0;
  const answer = await server.call(
    'POST',
    `${docs}/search`,
    { q: 'wind', k: 1, mode: 'hybrid' },
    { ...traceparent('01'), 'x-request-id': 'mine' },
  );
  assert.equal(answer.status, 200, answer.text);
  const sent = sentTo(server.endpoint);
  const ours = (await server.spans()).filter(({ traceId }) => traceId === TRACE);
  const [request] = ours.filter(({ parentSpanId }) => parentSpanId === PARENT);
  assert.ok(request);
  assert.deepEqual([request.name, request.kind], ['POST /v1/collections/{tenant}/{name}/search', 2]);
  assert.deepEqual(attributesOf(request), {
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'http.route': '/v1/collections/{tenant}/{name}/search',
    'sheaf.request_id': 'mine',
    'sheaf.result': 'answered',
    'sheaf.tenant': 'acme',
  });
  const below = (parent: string): string[] =>
    ours.filter(({ parentSpanId }) => parentSpanId === parent).map(({ name }) => name);
  assert.deepEqual(below(request.spanId).sort(), ['embed', 'filter', 'hydrate', 'search']);
  assert.deepEqual(below(ours.find(({ name }) => name === 'search')?.spanId as string).sort(), [
    'lexical_search',
    'vector_search',
  ]);
  for (const { startTimeUnixNano, endTimeUnixNano, name } of ours) {
    assert.ok(
      BigInt(startTimeUnixNano) >= BigInt(request.startTimeUnixNano) &&
        BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano),
      name,
    );
  }
  assert.deepEqual(sent, [`00-${TRACE}-${request.spanId}-01`]);
});

test('an ingest has its phases, and its texts reach the endpoint with its trace', async (t) => {
  const server = await startTraced(t);
  await server.call('POST', docs);
  server.endpoint.requests.length = 0;
  await server.call('POST', `${docs}/documents`, { docid: 'a', text: 'wind and waves' }, traceparent('01'));
  const sent = sentTo(server.endpoint);
  const ours = (await server.spans()).filter(({ traceId }) => traceId === TRACE);
  assert.deepEqual(ours.map(({ name }) => name).sort(), [
    'POST /v1/collections/{tenant}/{collection}/documents',
    'embed',
    'prepare',
    'store',
  ]);
  assert.deepEqual(
    sent.map((header) => header.split('-')[1]),
    [TRACE],
  );
});

test('what an agent asks for reaches the endpoint with the trace of its message', async (t) => {
  const server = await startTraced(t);
  await server.call('POST', `${docs}/documents`, { docid: 'a', text: 'wind and waves' });
  server.endpoint.requests.length = 0;
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'search', arguments: { tenant: 'acme', collection: 'docs', query: 'wind' } },
  };
  const { status, text } = await server.call('POST', '/mcp', message, {
    ...traceparent('01'),
    accept: 'application/json, text/event-stream',
  });
  assert.equal(status, 200, text);
  assert.deepEqual(
    sentTo(server.endpoint).map((header) => header.split('-')[1]),
    [TRACE],
  );
  // The server stops before the collector, for which it would otherwise wait.
  await server.stop();
});

test('an error has its code; only a failure of the server makes the span an error', async (t) => {
  const server = await startTraced(t);
  await server.call('GET', `${docs}/documents/none`, undefined, traceparent('01'));
  const [request] = (await server.spans()).filter(({ traceId }) => traceId === TRACE);
  assert.equal(attributesOf(request as OtlpSpan)['error.type'], 'document_not_found');
  assert.equal((request as OtlpSpan).status.code, 0);
});

test('who decides what is traced: the caller, else the share', async (t) => {
  const server = await startTraced(t, { SHEAF_TRACING__SAMPLE_SHARE: '0' });
  await server.call('GET', '/health');
  await server.call('GET', '/health', undefined, traceparent('00'));
  await server.call('GET', '/health', undefined, traceparent('01'));
  await server.call('GET', '/health', undefined, { traceparent: 'nonsense' });
  assert.deepEqual(
    (await server.spans()).map(({ traceId }) => traceId),
    [TRACE],
  );
});

test('a collector that is broken harms nobody, and keeps no stop waiting', async (t) => {
  const server = await startTraced(t, {}, 500, { spansWaitingMax: 16, spansTimeoutMs: 1000 });
  for (let n = 0; n < 50; n++)
    assert.equal((await server.call('GET', '/health', undefined, traceparent('01'))).status, 200);
  await server.stop();
  assert.deepEqual(server.faults, []);
});

test('off by default: no header goes out', async (t) => {
  const server = await startTraced(t, { SHEAF_TRACING__ENABLED: 'false' });
  await server.call('POST', `${docs}/documents`, { docid: 'a', text: 'wind' }, traceparent('01'));
  await sleep(10);
  assert.deepEqual(
    [server.endpoint.requests.some(({ headers }) => 'traceparent' in headers), await server.spans()],
    [false, []],
  );
});
