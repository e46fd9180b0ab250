// Metrics over a real socket: the JSON object, the Prometheus text, the reset, and who may read them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer, type TestServer } from '../../kit/server.js';

const server = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '3' });
const { call } = server;
const docs = '/v1/collections/acme/docs';

/** The second is the name in earlier releases, which goes in 0.11.0. */
const ERRORS = ['sheaf_http_errors_total', 'sheaf_refusals_total'];

const jsonOf = async (): Promise<Record<string, any>> => (await call('GET', '/health/metrics')).json;

/** The values of the text by name and labels. */
async function samples(from: TestServer = server, headers = {}): Promise<Map<string, number>> {
  const { text } = await from.call('GET', '/metrics', undefined, headers);
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

test('before anything happened: every counter is there and 0, percentiles are absent', async () => {
  const json = await jsonOf();
  const counters = [
    'search_total',
    'matches_total',
    'documents_indexed_total',
    'documents_deleted_total',
    'chunks_indexed_total',
    'collections_created_total',
    'collections_deleted_total',
  ];
  for (const name of [
    ...counters,
    'search_latency_count',
    'ingest_latency_count',
    'tenant_count',
    'collection_count',
    'doc_count',
    'chunk_count',
  ])
    assert.equal(json[name], 0, name);
  assert.ok(!('search_latency_p50_ms' in json) && !('ingest_latency_p99_ms' in json));
  assert.deepEqual([json.ok, json.version], [true, '0.9.7']);
  assert.ok(json.hw_cores >= 1 && json.hw_ram_gb > 0 && json.uptime_seconds >= 0);
  assert.ok(typeof json.hw_cpu === 'string' && typeof json.hw_os === 'string');
});

test('what is done is counted, once', async () => {
  const before = await jsonOf();
  await call('POST', `${docs}/documents`, { docid: 'A', text: 'one' });
  await call('POST', `${docs}/documents`, { docid: 'A', text: 'one again' });
  await call('POST', `${docs}/documents`, { docid: 'B', text: 'x '.repeat(1500) });
  await call('POST', docs);
  await call('POST', '/v1/collections/other/gone');
  await call('DELETE', '/v1/collections/other/gone');
  await call('GET', `${docs}/search?q=one&k=2`);
  await call('POST', `${docs}/search`, { q: 'one', k: 1 });
  await call('DELETE', `${docs}/documents/A`);
  await call('DELETE', `${docs}/documents/A`);
  await call('GET', '/nowhere');
  const after = await jsonOf();
  const gained = (name: string): number => after[name] - before[name];
  const { chunk_count: chunks } = (await call('GET', `${docs}/detail`)).json;
  assert.deepEqual(
    [
      'search_total',
      'matches_total',
      'documents_indexed_total',
      'documents_deleted_total',
      'collections_created_total',
      'collections_deleted_total',
      'errors_total',
      'requests_total',
    ].map(gained),
    [2, 3, 3, 1, 2, 1, 1, 12],
  );
  assert.deepEqual(
    [after.search_latency_count, after.ingest_latency_count, after.chunks_indexed_total],
    [2, 3, chunks + 2],
  );
  assert.deepEqual([after.tenant_count, after.collection_count, after.doc_count, after.chunk_count], [1, 1, 1, chunks]);
  assert.ok(
    after.search_latency_p50_ms > 0 &&
      after.search_latency_p50_ms <= after.search_latency_p95_ms &&
      after.search_latency_p95_ms <= after.search_latency_p99_ms,
  );
});

test('the Prometheus text has the same counters, with HELP and TYPE, by route template and no tenant', async () => {
  const { status, headers, text } = await call('GET', '/metrics');
  assert.deepEqual([status, headers.get('content-type')], [200, 'text/plain; version=0.0.4; charset=utf-8']);
  const found = await samples();
  const json = await jsonOf();
  const pairs = {
    sheaf_searches_total: 'search_total',
    sheaf_search_matches_total: 'matches_total',
    sheaf_documents_indexed_total: 'documents_indexed_total',
    sheaf_collections_created_total: 'collections_created_total',
    sheaf_documents: 'doc_count',
    sheaf_chunks: 'chunk_count',
    sheaf_tenants: 'tenant_count',
    sheaf_collections: 'collection_count',
  };
  for (const [name, field] of Object.entries(pairs)) assert.equal(found.get(name), json[field], name);
  assert.equal(
    found.get('sheaf_http_requests_total{method="GET",route="/v1/collections/{tenant}/{name}/search",status="200"}'),
    1,
  );
  assert.equal(found.get('sheaf_http_requests_total{method="GET",route="none",status="404"}'), 1);
  assert.equal(
    found.get('sheaf_http_request_duration_seconds_count{route="/v1/collections/{tenant}/{name}/search"}'),
    2,
  );
  for (const phase of ['embed', 'filter', 'search', 'hydrate'])
    assert.equal(found.get(`sheaf_search_phase_seconds_count{phase="${phase}"}`), 2, phase);
  assert.equal(found.get('sheaf_ingest_duration_seconds_count'), 3);
  const ofDocuments = '{embedder="builtin",kind="documents"}';
  assert.deepEqual(
    [
      found.get(`sheaf_embedder_call_seconds_count${ofDocuments}`),
      found.get(`sheaf_embedder_call_texts_sum${ofDocuments}`),
    ],
    [3, json.chunks_indexed_total],
  );
  assert.ok((found.get('sheaf_embedder_call_texts_sum{embedder="builtin",kind="queries"}') ?? 0) >= 2);
  assert.equal(found.get('sheaf_embedder_usable{embedder="builtin"}'), 1);
  assert.ok((found.get('process_resident_memory_bytes') ?? 0) > 0);
  assert.match(text, /sheaf_build_info\{version="0\.9\.7",node="v/);
  assert.doesNotMatch(text, /acme|other/);
  const names = [
    ...new Set([...found.keys()].map((key) => key.replace(/\{.*/, '').replace(/_(bucket|sum|count)$/, ''))),
  ];
  for (const name of names)
    assert.match(text, new RegExp(`# HELP ${name} .+\n# TYPE ${name} (counter|gauge|histogram|summary)\n`), name);
});

test('the query log counts what it writes', async () => {
  await call('GET', `${docs}/queries`);
  const found = await samples();
  assert.deepEqual(
    [
      found.get('sheaf_query_log_appended_total'),
      found.get('sheaf_query_log_sampled_out_total'),
      ...['full', 'failed', 'died'].map((reason) => found.get(`sheaf_query_log_dropped_total{reason="${reason}"}`)),
      found.get('sheaf_query_log_waiting_bytes'),
    ],
    [2, 0, 0, 0, 0, 0],
  );
});

test('what all threads do is told: commits, queues, shards, memory, caches', async () => {
  const found = await samples();
  const sum = (name: string): number =>
    [...found].filter(([key]) => key.startsWith(`${name}{`)).reduce((total, [, value]) => total + value, 0);
  const chunks = found.get('sheaf_chunks') ?? 0;
  assert.deepEqual([sum('sheaf_shard_chunks'), sum('sheaf_shard_documents')], [chunks, found.get('sheaf_documents')]);
  for (const store of ['catalog', 'query-log'])
    assert.ok((found.get(`sheaf_store_commit_seconds_count{store="${store}"}`) ?? 0) > 0, store);
  const ofShards = [0, 1, 2].map((shard) => found.get(`sheaf_store_commit_seconds_count{store="shard-${shard}"}`) ?? 0);
  // Three documents, and a deleted one.
  assert.ok(ofShards.reduce((total, count) => total + count, 0) >= 4);
  assert.ok(
    sum('sheaf_store_used_bytes') > 0 && sum('sheaf_store_used_bytes') < (found.get('sheaf_store_map_bytes') ?? 0),
  );
  assert.equal(sum('sheaf_store_commit_failures_total'), 0);
  for (const writer of [
    'pool="shard",queue="writes",lane="writes"',
    'pool="search",queue="searches",lane="searches"',
    'pool="embed",queue="queries",lane="queries"',
    'pool="batch",queue="light",lane="light"',
    'pool="log",queue="commands",lane="commands"',
  ]) {
    const [waits, messages] = ['wait_seconds', 'message_requests'].map(
      (what) => found.get(`sheaf_queue_${what}_count{${writer}}`) ?? 0,
    ) as [number, number];
    assert.ok(waits >= messages && messages > 0, writer);
    assert.equal(found.get(`sheaf_queue_message_requests_sum{${writer}}`), waits, writer);
    assert.equal(found.get(`sheaf_queue_waiting{${writer}}`), 0, writer);
  }
  for (const pool of ['shard', 'search', 'embed', 'batch', 'log'])
    assert.ok(
      (found.get(`sheaf_pool_threads{pool="${pool}"}`) ?? 0) > 0 &&
        (found.get(`sheaf_pool_busy_seconds_total{pool="${pool}"}`) ?? 0) > 0,
      pool,
    );
  assert.equal(found.get('sheaf_pool_threads{pool="shard"}'), 3);
  assert.ok(
    (found.get('sheaf_memory_bytes{component="shard_arenas"}') ?? 0) >= sum('sheaf_shard_memory_used_bytes') &&
      sum('sheaf_shard_memory_used_bytes') > 0,
  );
  assert.equal(
    (found.get('sheaf_hit_cache_hits_total') ?? 0) + (found.get('sheaf_hit_cache_misses_total') ?? 0) >= 3,
    true,
  );
  assert.deepEqual(
    ['sheaf_jobs{status="running"}', ...ERRORS.map((name) => `${name}{code="not_found"}`)].map((key) => found.get(key)),
    [0, 1, 1],
  );
  assert.ok((found.get('sheaf_requests_under_way') ?? 0) >= 1 && found.get('sheaf_request_bodies_bytes') === 0);
  for (const phase of ['prepare', 'embed', 'store'])
    assert.equal(found.get(`sheaf_ingest_phase_seconds_count{phase="${phase}"}`), 3, phase);
});

test('a reset zeroes what counts requests, not what there is', async () => {
  const startedMs = Date.now();
  const { status, json } = await call('DELETE', '/v1/admin/metrics');
  assert.deepEqual([status, Object.keys(json).sort()], [200, ['latency_ms', 'ok', 'request_id', 'reset_at']]);
  assert.ok(json.reset_at >= startedMs / 1000 && json.reset_at <= Date.now() / 1000);
  const after = await jsonOf();
  assert.deepEqual(
    [after.requests_total, after.search_total, after.errors_total, after.search_latency_count],
    [1, 0, 0, 0],
  );
  assert.deepEqual([after.doc_count, 'search_latency_p50_ms' in after], [1, false]);
  const found = await samples();
  assert.equal(found.get('sheaf_http_requests_total{method="GET",route="none",status="404"}'), undefined);
  assert.equal(found.get('sheaf_embedder_call_seconds_count{embedder="builtin",kind="documents"}'), undefined);
  await call('GET', `${docs}/search?q=x`);
  assert.equal((await samples()).get('sheaf_search_phase_seconds_count{phase="embed"}'), 1);
});

test('tenants have labels only where the operator wants them, and only so many', async () => {
  const named = await startTestServer({ SHEAF_METRICS__TENANT_LABELS: '2' });
  for (const tenant of ['one', 'two', 'three', 'four', 'one'])
    await named.call('POST', `/v1/collections/${tenant}/docs`);
  const found = await samples(named);
  const requests = (tenant: string, status: number): number | undefined =>
    found.get(`sheaf_tenant_requests_total{tenant="${tenant}",status="${status}"}`);
  assert.deepEqual(
    [requests('one', 201), requests('two', 201), requests('(others)', 201), requests('three', 201)],
    [2, 1, 2, undefined],
  );
});

test('the history comes where it is asked for, and ends with the present counters', async () => {
  const { status, json } = await call('GET', '/health/metrics?history=true');
  assert.equal(status, 200);
  const { at, search_total: searches, search_latency_p99_ms: p99 } = json.history.at(-1);
  assert.ok(Math.abs(at - Date.now() / 1000) < 60);
  assert.deepEqual([searches, p99], [json.search_total, json.search_latency_p99_ms]);
  assert.equal((await jsonOf()).history, undefined);
  assert.equal((await call('GET', '/health/metrics?history=maybe')).status, 422);
});

test('while a shard is away, the metrics still answer', async () => {
  const before = await jsonOf();
  await server.parts.shards.kill(1);
  const { status, json } = await call('GET', '/health/metrics');
  assert.deepEqual([status, json.doc_count], [200, before.doc_count]);
  assert.equal((await call('GET', '/metrics')).status, 200);
});

test('with keys, metrics want the admin key', async () => {
  const keyed = await startTestServer({
    SHEAF_AUTH__MODE: 'static',
    SHEAF_AUTH__ADMIN_KEY: 'boss',
    SHEAF_AUTH__KEYS: '[{name: web, tenant: acme, key: tenant-key}]',
  });
  for (const [method, path] of [
    ['GET', '/metrics'],
    ['GET', '/health/metrics'],
    ['DELETE', '/v1/admin/metrics'],
  ] as const) {
    const none = await keyed.call(method, path);
    assert.deepEqual([none.status, none.json.code], [401, 'auth_invalid'], path);
    const tenant = await keyed.call(method, path, undefined, { authorization: 'Bearer tenant-key' });
    assert.deepEqual([tenant.status, tenant.json.code], [403, 'admin_required'], path);
    assert.equal((await keyed.call(method, path, undefined, { authorization: 'Bearer boss' })).status, 200, path);
  }
});
