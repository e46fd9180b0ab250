// Expiring documents. From their second on they are gone from every answer, reclaimed or not: searches find what they
// find under a filter that the expired documents do not match, in every mode, with and without front threads, over
// restarts. In the background they are deleted, and what stays is what was never to expire.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPrng } from '../../../src/base/prng.js';
import { checkDirectory } from '../../../src/storage/check/check.js';
import { download, upload } from '../../kit/archives.js';
import { jobUntil, status } from '../../kit/reindex.js';
import { type TestServer, fileForm, refused, startTestServer } from '../../kit/server.js';
import { FILTERS, PATH, pick, randomDocument, sentence } from '../../kit/service/random-documents.js';
import { tempDirectory } from '../../kit/temp.js';
import { until } from '../../kit/until.js';

const SEED = 20_261_126;
const MODES = ['vector', 'boost', 'hybrid'] as const;
const HELD = { expiryLookMs: 3_600_000 };
const BASE = '/v1/collections/acme/docs';

const seconds = (fromNow: number): number => Math.ceil(Date.now() / 1000) + fromNow;
const isPast = (second: number): boolean => Date.now() >= 1000 * second;

/** The answer without what differs between two requests. */
function shown({ matches = [], facets, chunks }: Record<string, any>): unknown {
  return {
    matches: matches.map(({ id, score, group, context }: any) => ({ id, score, group, context })),
    facets,
    chunks,
  };
}

async function ask({ call }: TestServer, path: string, body: object): Promise<Record<string, any>> {
  const { json, status: answered } = await call('POST', path, body);
  assert.equal(answered, 200, JSON.stringify(json));
  return json;
}

/** `gone: false` holds for the documents that do not expire. */
async function assertHidden(servers: readonly TestServer[], prng: ReturnType<typeof createPrng>): Promise<void> {
  const assertSame = async (plain: object, among: object, i: number): Promise<void> => {
    for (const [n, server] of servers.entries()) {
      const what = `seed ${SEED}, search ${i}, server ${n}: ${JSON.stringify(plain)}`;
      assert.deepEqual(
        shown(await ask(server, `${PATH}/search`, plain)),
        shown(await ask(server, `${PATH}/search`, among)),
        what,
      );
    }
  };
  for (let i = 0; i < 36; i++) {
    const [{ filters, ...filter }] = pick(prng, FILTERS) as [Record<string, any>, unknown];
    const isSorted = prng.int(6) === 0;
    const body = {
      ...(isSorted
        ? { sort: { field: pick(prng, ['year', 'lang', 'docid']), order: pick(prng, ['asc', 'desc']) } }
        : { q: sentence(prng, 1 + prng.int(3)), mode: MODES[i % 3] }),
      k: pick(prng, [1, 5, 30, 500]),
      ...filter,
      ...(!isSorted && prng.int(4) === 0 && { group_by: pick(prng, ['docid', 'topic']), group_size: 2 }),
      ...(prng.int(4) === 0 && { offset: 3 }),
      ...(prng.int(4) === 0 && { context: 1 }),
    };
    await assertSame({ ...body, filters }, { ...body, filters: { ...filters, gone: false } }, i);
    if (i % 9 === 0) {
      const queries = [
        { q: sentence(prng, 2), mode: 'vector' },
        { q: sentence(prng, 2), mode: 'hybrid' },
      ];
      await assertSame({ queries, k: 20, filters }, { queries, k: 20, filters: { ...filters, gone: false } }, i);
    }
    const count = { ...filter, facets: [{ field: 'lang' }, { field: 'year' }] };
    for (const server of servers)
      assert.deepEqual(
        shown(await ask(server, `${PATH}/count`, { ...count, filters })),
        shown(await ask(server, `${PATH}/count`, { ...count, filters: { ...filters, gone: false } })),
      );
  }
}

test(`expired documents are gone from every answer, reclaimed or not; seed ${SEED}`, async () => {
  const prng = createPrng(SEED);
  const directories = ['0', '2'].map((fronts) => ({ SHEAF_SERVER__THREADS: fronts, SHEAF_DATA_DIR: tempDirectory() }));
  let servers = await Promise.all(directories.map((env) => startTestServer(env, HELD)));
  const at = seconds(6);
  const documents = Array.from({ length: 150 }, (_, i) => {
    const { docid, text, metadata } = randomDocument(prng, `D${i}`);
    const gone = prng.int(2) === 0;
    const expires_at = pick<unknown>(prng, [at, new Date(1000 * at).toISOString(), at - 0.5]);
    return { docid, text, metadata: { ...metadata, gone }, ...(gone && { expires_at }) };
  });
  const stay = documents.filter(({ metadata }) => !metadata.gone).map(({ docid }) => docid);
  for (const { call } of servers) {
    await call('POST', PATH, { chunking: { strategy: 'fixed', size: 80, overlap: 10 } });
    assert.equal((await call('POST', `${PATH}/documents:batch`, { documents })).json.succeeded, 150);
    if (!isPast(at - 1))
      assert.equal(
        (await ask({ call } as TestServer, `${PATH}/count`, { facets: [{ field: 'docid' }] })).facets[0].distinct,
        150,
      );
  }
  await until(() => isPast(at), 'the second does not come');
  await assertHidden(servers, prng);
  for (const server of servers) {
    const { json } = await server.call('GET', `${PATH}/documents`);
    assert.deepEqual(json.documents.map(({ docid }: { docid: string }) => docid).sort(), [...stay].sort());
    assert.equal((await server.call('GET', `${PATH}/detail`)).json.doc_count, stay.length);
    const gone = documents.find(({ metadata }) => metadata.gone) as { docid: string };
    await refused(server.call('GET', `${PATH}/documents/${gone.docid}`), 404, 'document_not_found');
    await refused(server.call('GET', `${PATH}/chunks/${gone.docid}::chunk_0`), 404, 'chunk_not_found');
    await refused(server.call('GET', `${PATH}/chunks/${gone.docid}::chunk_0/content`), 404, 'chunk_not_found');
    assert.deepEqual((await server.call('GET', `${PATH}/documents/${gone.docid}/chunks`)).json.chunks ?? [], []);
    await refused(server.call('PATCH', `${PATH}/documents/${gone.docid}`, { metadata: {} }), 404, 'document_not_found');
    await refused(server.call('POST', `${PATH}/search`, { like: { docids: [gone.docid] } }), 422, 'validation_error');
    const { json: deleted } = await server.call('POST', `${PATH}/documents:delete`, { filters: { gone: true } });
    assert.equal(deleted.documents, 0);
  }
  await Promise.all(servers.map(({ stop }) => stop()));
  servers = await Promise.all(directories.map((env) => startTestServer(env, HELD)));
  await assertHidden(servers, prng);
  for (const { parts } of servers) await parts.shards.kill(1);
  for (const server of servers)
    await until(async () => (await server.call('GET', '/health/ready')).status === 200, 'not ready again');
  await assertHidden(servers, prng);
  await Promise.all(servers.map(({ stop }) => stop()));

  servers = await Promise.all(directories.map((env) => startTestServer(env, { expiryLookMs: 50 })));
  for (const server of servers) await until(async () => (await expired(server)) === 150 - stay.length, 'not reclaimed');
  await assertHidden(servers, prng);
  for (const server of servers) {
    assert.deepEqual(server.faults, []);
    await server.stop();
    for await (const { what } of checkDirectory(server.dataDir)) assert.fail(what);
  }
});

async function expired({ call }: TestServer): Promise<number> {
  const { text } = await call('GET', '/metrics');
  return Number(/^sheaf_documents_expired_total (\d+)$/m.exec(text)?.[1] ?? 0);
}

test('an expiry can be set, moved and taken back in every way that documents are written', async () => {
  const server = await startTestServer({}, { expiryLookMs: 50 });
  const { call } = server;
  const far = '2090-01-01T00:00:00.000Z';
  const expiresAt = async (docid: string): Promise<string | undefined> =>
    (await call('GET', `${BASE}/documents/${docid}`)).json.expires_at;
  await call('POST', BASE, { ttl: 3600 });
  assert.equal((await call('GET', `${BASE}/detail`)).json.ttl, 3600);

  const before = Date.now();
  await call('POST', `${BASE}/documents`, { docid: 'ttl', text: 'whale' });
  const second = Date.parse((await expiresAt('ttl')) as string);
  assert(second >= before + 3_600_000 && second <= Date.now() + 3_601_000);
  await call('POST', `${BASE}/documents`, { docid: 'never', text: 'whale', expires_at: 'never' });
  assert.equal(await expiresAt('never'), undefined);
  await call('POST', `${BASE}/documents`, { docid: 'iso', text: 'whale', expires_at: '2090-01-01' });
  await call('POST', `${BASE}/documents`, fileForm('a.txt', 'whale', { docid: 'form', expires_at: far }));
  await call('POST', `${BASE}/documents:batch`, { documents: [{ docid: 'item', text: 'whale', expires_at: far }] });
  const line = `${JSON.stringify({ docid: 'line', text: 'whale', expires_at: Date.parse(far) / 1000 })}\n`;
  await call('POST', `${BASE}/documents:batch`, line, { 'content-type': 'application/x-ndjson' });
  for (const docid of ['iso', 'form', 'item', 'line']) assert.equal(await expiresAt(docid), far, docid);
  const { json: listed } = await call('GET', `${BASE}/documents`);
  assert.equal(listed.documents.find(({ docid }: { docid: string }) => docid === 'iso').expires_at, far);

  const { json: patched } = await call('PATCH', `${BASE}/documents/never`, { expires_at: far });
  assert.deepEqual([patched.version, await expiresAt('never')], [2, far]);
  await call('PATCH', `${BASE}/documents/never`, { metadata: { a: 1 } });
  assert.equal(await expiresAt('never'), far);
  await call('PATCH', `${BASE}/documents/never`, { expires_at: 'never', metadata: { a: 2 } });
  assert.equal(await expiresAt('never'), undefined);

  assert.equal((await call('PATCH', BASE, { ttl: null })).json.ttl, undefined);
  await call('POST', `${BASE}/documents`, { docid: 'stays', text: 'whale' });
  assert.equal(await expiresAt('stays'), undefined);
  assert.equal((await call('PATCH', BASE, { ttl: 60 })).json.ttl, 60);

  const { bytes } = await download(server, `${BASE}/archive`);
  assert.equal((await upload(server, 'POST', '/v1/collections/acme/copy/archive', bytes)).status, 200);
  const copied = (await call('GET', '/v1/collections/acme/copy/documents/iso')).json;
  assert.deepEqual([copied.expires_at, (await call('GET', '/v1/collections/acme/copy/detail')).json.ttl], [far, 60]);
  const { json: job } = await call('POST', `${BASE}/reindex`, { partitions: 1 });
  await jobUntil(server, job.job_id, status('succeeded'));
  assert.equal(await expiresAt('iso'), far);
  assert.equal((await call('GET', `${BASE}/detail`)).json.ttl, 60);

  for (const docid of ['iso', 'form', 'item'])
    await call('PATCH', `${BASE}/documents/${docid}`, { expires_at: '2001-01-01' });
  const { json: hits } = await call('POST', `${BASE}/search`, { q: 'whale', k: 50 });
  assert.deepEqual(hits.matches.map(({ id }: { id: string }) => id.split('::')[0]).sort(), [
    'line',
    'never',
    'stays',
    'ttl',
  ]);
  const { json: again } = await call('POST', `${BASE}/documents`, { docid: 'iso', text: 'sea', if_version: 0 });
  assert.equal(again.version, 1);
  await until(async () => (await expired(server)) >= 2, 'not reclaimed');
  const { json: bulk } = await call('POST', `${BASE}/documents:patch`, { docids: ['line', 'ttl'], expires_at: 1 });
  assert.equal(bulk.documents, 2);
  assert.equal((await call('GET', `${BASE}/detail`)).json.doc_count, 3);
  assert.deepEqual(server.faults, []);
});

test('times and settings that are none are refused, and change nothing', async () => {
  const { call } = await startTestServer();
  await call('POST', BASE);
  const document = { docid: 'a', text: 'whale' };
  for (const expires_at of ['', 'tomorrow', '2026-13-01', -1, 0, 4_294_967_296, 1e300, '2200-01-01']) {
    await refused(call('POST', `${BASE}/documents`, { ...document, expires_at }), 422, 'validation_error');
    await refused(call('PATCH', `${BASE}/documents/a`, { expires_at }), 422, 'validation_error');
    await refused(call('POST', `${BASE}/documents:patch`, { docids: ['a'], expires_at }), 422, 'validation_error');
    const { json } = await call('POST', `${BASE}/documents:batch`, { documents: [{ ...document, expires_at }] });
    assert.deepEqual([json.failed, json.documents[0].code], [1, 'invalid_item']);
  }
  for (const expires_at of [true, [], {}])
    await refused(call('POST', `${BASE}/documents`, { ...document, expires_at }), 400, 'invalid_document_json');
  for (const expires_at of ['tomorrow', 'null'])
    await refused(
      call('POST', `${BASE}/documents`, fileForm('a.txt', 'whale', { expires_at })),
      422,
      'validation_error',
    );
  for (const ttl of [0, -1, 1.5, 1_000_000_001, '60']) {
    await refused(call('PATCH', BASE, { ttl }), 422, 'validation_error');
    await refused(call('POST', '/v1/collections/acme/other', { ttl }), 422, 'validation_error');
  }
  await refused(call('PATCH', BASE, {}), 422, 'validation_error');
  await call('POST', '/v1/collections/acme/timed', { ttl: 60 });
  await refused(call('POST', '/v1/collections/acme/timed', { ttl: 61 }), 400, 'collection_settings_conflict');
  await refused(call('PATCH', `${BASE}/documents/a`, { replace: true, expires_at: 'never' }), 422, 'validation_error');
  assert.equal((await call('GET', `${BASE}/detail`)).json.doc_count, 0);
});
