// Archives with right digests whose contents no ingest and no search would have accepted: contents that would end a
// thread or the process, exceed the limits, or belong to somebody else. Each is rejected and changes nothing. A data
// directory that already has such records still starts, answers and stops.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type JSZip from 'jszip';
import type { CollectionId, DocId } from '../../../src/api/ids.js';
import { shardOf } from '../../../src/api/placement.js';
import type { LoggedQuery } from '../../../src/storage/query-log-commands.js';
import { packDocument } from '../../../src/text/prepared-document.js';
import { GrowingIds } from '../../../src/base/uuids.js';
import { refOf } from '../../../src/storage/catalog-commands.js';
import { QueryLogStore } from '../../../src/storage/query-log.js';
import { decodeQuery, encodeQuery, queryIdBytes } from '../../../src/storage/query-log-records.js';
import { encode } from '../../../src/storage/records.js';
import { download, rewritten, upload, withManifest, withRecords } from '../../kit/archives.js';
import { startTestServer, type TestServer } from '../../kit/server.js';
import { tempDirectory } from '../../kit/temp.js';
import { loggedQuery } from '../../kit/records.js';

const DOCUMENTS = 'documents/00000.msgpack';
const QUERIES = 'queries/00000.msgpack';
const TARGET = '/v1/collections/mallory/target';

const server = await startTestServer();
const { call } = server;
await call('POST', '/v1/collections/acme/docs/documents', { docid: 'D', text: 'Captain Nemo.', metadata: { a: 1 } });
await call('POST', '/v1/collections/acme/docs/search', { q: 'captain', filters: { a: 1 } });
await call('GET', '/v1/collections/acme/docs/queries');
const { bytes: good } = await download(server, '/v1/collections/acme/docs/archive');
await call('POST', '/v1/collections/acme/rows', { embedder_type: 'identity', embedder_config: { dim: 2 } });
await call('POST', '/v1/collections/acme/rows/documents', { docid: 'V', vector: [1, 0] });
const { bytes: rows } = await download(server, '/v1/collections/acme/rows/archive');

const nested = (levels: number, open = '{"a":', close = '}'): string =>
  `${open.repeat(levels)}1${close.repeat(levels)}`;

async function assertRefused(archive: Uint8Array, reason: string): Promise<void> {
  const { status, json } = await upload(server, 'POST', `${TARGET}/archive`, archive);
  assert.deepEqual([status, json.code, json.details?.reason], [400, 'collection_archive_invalid', reason], json.error);
  assert.equal((await call('GET', `${TARGET}/detail`)).status, 404);
  assert.equal((await call('POST', '/v1/collections/acme/docs/search', { q: 'captain' })).json.matches.length, 1);
}

/** The nested value is inserted as text, because `JSON.stringify` recurses and would exhaust the stack. */
async function withDeepConfig(levels: number): Promise<Uint8Array> {
  const archive = await withManifest(good, (manifest) => (manifest.collection.embedder_config = 'HERE'));
  return rewritten(archive, async (zip) => {
    const json = await (zip.file('manifest.json') as JSZip.JSZipObject).async('string');
    zip.file('manifest.json', json.replace('"HERE"', nested(levels)));
  });
}

for (const levels of [150, 1500, 2000, 2500, 3000, 200_000])
  test(`a manifest ${levels} levels deep is refused`, async () =>
    assertRefused(await withDeepConfig(levels), 'manifest_invalid'));

test('settings that no collection can have are refused', async () => {
  for (const [field, value] of [
    ['created_at', 'x'.repeat(100)],
    ['created_at', '+275760-01-01T00:00:00Z'],
    ['priority_key', ''],
    ['display_name', 'x'.repeat(121)],
    ['priority_key', 'x'.repeat(100_000)],
    ['chunking', { strategy: 'fixed', size: 16, overlap: 5 }],
  ] as const)
    await assertRefused(await withManifest(good, ({ collection }) => (collection[field] = value)), 'settings_invalid');
});

test('a restore takes only settings from a manifest: not the query log of another collection, nor its id', async () => {
  const victim = server.parts.catalog.find('acme' as never, 'docs' as never);
  const archive = await withManifest(good, (manifest) => {
    Object.assign(manifest.collection, { log_id: victim?.id, id: victim?.id, generation: 7, service_version: 'x' });
    manifest.entries = manifest.entries.filter(({ name }: { name: string }) => name !== QUERIES);
    manifest.counts.queries = 0;
  });
  const alone = await rewritten(archive, (zip) => void zip.remove(QUERIES));
  const { status } = await upload(server, 'POST', '/v1/collections/mallory/stolen/archive', alone);
  assert.equal(status, 200);
  const { json } = await call('GET', '/v1/collections/mallory/stolen/queries');
  assert.equal(json.count, 0, JSON.stringify(json));
  const { json: detail } = await call('GET', '/v1/collections/mallory/stolen/detail');
  assert.deepEqual([detail.service_version, detail.doc_count], ['0.9.7', 1]);
  assert.equal((await call('DELETE', '/v1/collections/mallory/stolen')).status, 200);
  assert.ok((await call('GET', '/v1/collections/acme/docs/queries')).json.count > 0);
});

const chunk = (change: object) => (document: Record<string, any>) => ({
  ...document,
  chunks: [{ ...document.chunks[0], ...change }],
});
const document = (change: object) => (record: Record<string, any>) => ({ ...record, ...change });
const metadata = (json: string) => document({ metadata: json });

const badDocuments: [string, (record: Record<string, any>) => object][] = [
  ['metadata 101 levels deep', metadata(nested(101))],
  ['metadata 2,000 levels deep', metadata(nested(2000))],
  ['metadata 200,000 levels deep', metadata(nested(200_000))],
  ['metadata in lists 200,000 levels deep', metadata(`{"a":${nested(200_000, '[', ']')}}`)],
  ['metadata of 20 MB', metadata(JSON.stringify({ a: 'x'.repeat(20_000_000) }))],
  ['metadata just over the limit', metadata(JSON.stringify({ a: 'x'.repeat(64 * 1024) }))],
  ['metadata with another docid', metadata('{"docid":"other"}')],
  ['metadata with another time', metadata('{"ingested_at":"2001-01-01T00:00:00Z"}')],
  ['metadata with a number that no double holds', metadata('{"id":9007199254740993}')],
  ['metadata with an infinite number', metadata('{"id":1e400}')],
  ['metadata of a chunk 101 levels deep', chunk({ meta: nested(101) })],
  ['metadata of a chunk 3,000 levels deep', chunk({ meta: nested(3000) })],
  ['metadata of a chunk 200,000 levels deep', chunk({ meta: nested(200_000) })],
  ['metadata of a chunk of 20 MB', chunk({ meta: JSON.stringify({ a: 'x'.repeat(20_000_000) }) })],
  ['a chunk of 30 MB', chunk({ text: 'x'.repeat(30_000_000) })],
  ['a chunk with a character too many', chunk({ text: '\u{1f40b}'.repeat(32_769) })],
  ['a path with a chunk id in it', chunk({ path: 'a::b' })],
  ['a path of control characters', chunk({ path: 'a\u0000b' })],
  ['a path of 10,000 characters', chunk({ path: 'x'.repeat(10_000) })],
  ['the time 1e300', document({ ingested_at_ms: 1e300 })],
  ['the time 8.64e15 and one', document({ ingested_at_ms: 8.64e15 + 2 })],
  ['a time of NaN', document({ ingested_at_ms: Number.NaN })],
  ['a version of NaN', document({ version: Number.NaN })],
  ['a priority of 1e300', document({ priority: 1e300 })],
  ['the id .', document({ docid: '.' })],
  ['the id ..', document({ docid: '..' })],
];
for (const [what, change] of badDocuments)
  test(`a document with ${what} is refused`, async () =>
    assertRefused(
      await withRecords(good, DOCUMENTS, ([first]) => [change(first as Record<string, any>)]),
      'document_invalid',
    ));

test('a document as large as an ingest allows is taken', async () => {
  const large = chunk({ text: '\u{1f40b}'.repeat(32_768), meta: nested(100) });
  const archive = await withRecords(good, DOCUMENTS, ([first]) => [
    metadata(JSON.stringify({ ...JSON.parse(first?.metadata), a: 'x'.repeat(64 * 1024 - 8) }))(
      large(first as Record<string, any>) as Record<string, any>,
    ),
  ]);
  const { status, text } = await upload(server, 'POST', '/v1/collections/mallory/large/archive', archive);
  assert.equal(status, 200, text);
  assert.equal((await call('POST', '/v1/collections/mallory/large/search', { q: 'whale' })).json.matches.length, 1);
});

test('of vectors alone: texts and zeros are refused', async () => {
  for (const change of [chunk({ text: 'a text' }), document({ vectors: Buffer.alloc(8) })])
    await assertRefused(
      await withRecords(rows, DOCUMENTS, ([first]) => [change(first as Record<string, any>)]),
      'document_invalid',
    );
});

const QUERY = loggedQuery('captain', Date.now(), { k: 5 });
const restOf = (json: string): string => `{"timing":${JSON.stringify(QUERY.rest.timing)},${json}}`;

/** A record of a logged search in bytes, since an object could not express much of it. */
const queryRecord = (change: Partial<Record<keyof LoggedQuery | 'restJson', unknown>>): Buffer => {
  const { text, k, executedAtMs, latencyMs, replayOf, requestId, actor, mode, resultIds, rest } = QUERY;
  const record = { text, k, executedAtMs, latencyMs, replayOf, requestId, actor, mode, resultIds };
  const vector = Buffer.alloc(0);
  return encode(Object.values({ ...record, restJson: JSON.stringify(rest), vector, ...change }));
};
const nots = (levels: number): string => `${'{"$not":'.repeat(levels)}{"a":1}${'}'.repeat(levels)}`;

const badQueries: [string, Buffer][] = [
  ['filters 9 $not deep', queryRecord({ restJson: restOf(`"filters":${nots(9)}`) })],
  ['filters 2,000 $not deep', queryRecord({ restJson: restOf(`"filters":${nots(2000)}`) })],
  ['filters 200,000 $not deep', queryRecord({ restJson: restOf(`"filters":${nots(200_000)}`) })],
  ['filters of a key 2,000 $not deep', queryRecord({ restJson: restOf(`"embedded_filters":${nots(2000)}`) })],
  ['filters with an unknown operator', queryRecord({ restJson: restOf('"filters":{"a":{"$like":1}}') })],
  ['an unknown content filter', queryRecord({ restJson: restOf('"content_filter":{"op":"exact","value":""}') })],
  ['a reranking of a million', queryRecord({ restJson: restOf('"rerank":{"instance":"r","depth":1000000}') })],
  ['a breadth of a million', queryRecord({ restJson: restOf('"ef":1000000') })],
  ['k of NaN', queryRecord({ k: Number.NaN })],
  ['k of 0', queryRecord({ k: 0 })],
  ['k of 1.5', queryRecord({ k: 1.5 })],
  ['k of a million', queryRecord({ k: 1_000_000 })],
  ['the time 1e300', queryRecord({ executedAtMs: 1e300 })],
  ['a time of NaN', queryRecord({ executedAtMs: Number.NaN })],
  ['a latency of infinity', queryRecord({ latencyMs: Infinity })],
  ['an original that is no id', queryRecord({ replayOf: '../x' })],
  ['a request id of two lines', queryRecord({ requestId: 'a\r\nb' })],
  ['2,000 results', queryRecord({ resultIds: Array.from({ length: 2000 }, String) })],
  ['a vector that is not finite', queryRecord({ vector: Buffer.alloc(8, 0xff) })],
];
for (const [what, record] of badQueries)
  test(`a logged search with ${what} is refused`, async () =>
    assertRefused(await withRecords(good, QUERIES, ([first]) => [{ ...first, record }]), 'query_invalid'));

test('a logged search whose id has no time is refused', async () =>
  assertRefused(
    await withRecords(good, QUERIES, ([first]) => [{ ...first, id: Buffer.alloc(16, 0xff) }]),
    'query_invalid',
  ));

test('the server has stayed whole', () => {
  assert.deepEqual(server.faults, []);
});

test('a data directory that has poisoned records already starts, answers and stops', async () => {
  const directory = tempDirectory();
  const before = await startTestServer({ SHEAF_DATA_DIR: directory });
  const id = await poisonShard(before);
  await before.stop();
  poisonLog(join(before.dataDir, 'query-log'), id);

  const after = await startTestServer({ SHEAF_DATA_DIR: directory });
  const at = '/v1/collections/mallory/docs';
  const { status, json } = await after.call('GET', `${at}/queries`);
  assert.deepEqual([status, json.queries.map((query: { query_text: string }) => query.query_text)], [200, ['captain']]);
  for (const path of ['documents/DEEP', 'documents/DEEP/chunks', 'chunks/DEEP%3A%3Achunk_0'])
    assert.equal((await after.call('GET', `${at}/${path}`)).status, 200, path);
  assert.equal((await after.call('POST', `${at}/search`, { q: 'deep' })).json.matches.length, 2);
  assert.equal((await after.call('POST', `${at}/search`, { q: 'deep', filters: { b: 1 } })).json.matches.length, 1);
  await after.call('POST', '/v1/collections/acme/docs/documents', { docid: 'D', text: 'Beside it.' });
  assert.equal((await after.call('GET', '/v1/collections/acme/docs/documents/D')).status, 200);
  const { bytes } = await download(after, `${at}/archive`);
  const { json: refused } = await upload(after, 'POST', '/v1/collections/mallory/copy/archive', bytes);
  assert.equal(refused.details?.reason, 'document_invalid', 'an archive of it is whole, and not restored');
  assert.equal((await after.call('DELETE', `${at}/documents/DEEP`)).json.chunks_deleted, 1);
  const { bytes: healed } = await download(after, `${at}/archive`);
  assert.equal((await upload(after, 'POST', '/v1/collections/mallory/copy/archive', healed)).status, 200);
  await after.stop();
  assert.deepEqual(after.faults, []);
});

/** Stores a document as archives once brought it: 200,000 levels deep, under a name that chunks use too. */
async function poisonShard({ call: ask, parts }: TestServer): Promise<CollectionId> {
  await ask('POST', '/v1/collections/mallory/docs/documents', { docid: 'D', text: 'deep', metadata: { b: 1 } });
  const collection = parts.catalog.find('mallory' as never, 'docs' as never);
  assert.ok(collection);
  await parts.shards.request(shardOf('DEEP', collection, parts.shards.size), 'put', {
    collection: refOf(collection),
    document: packDocument({
      docid: 'DEEP' as DocId,
      ingestedAtMs: Date.now(),
      metadataJson: `{"offset":${nested(200_000)}}`,
      priority: 0,
      chunks: [{ path: 'chunk_0', metaJson: '{"offset":0}', text: 'deep' }],
    }),
    vectors: new Float32Array(collection.dim).fill(1),
  });
  return collection.id;
}

function poisonLog(directory: string, collection: CollectionId): void {
  const ids = new GrowingIds();
  const store = QueryLogStore.open(directory, false);
  const records = [
    encodeQuery(QUERY),
    ...badQueries.slice(1, 4).map(([, record]) => record),
    queryRecord({ k: Number.NaN }),
    queryRecord({ executedAtMs: 1e300 }),
  ];
  assert.equal(decodeQuery(records[0] as Buffer).k, 5);
  store.append(
    records.map((record) => ({ collection, id: queryIdBytes(ids.next(Date.now())), record })),
    { entriesMax: Infinity, bytesMax: Infinity },
  );
  store.close();
}
