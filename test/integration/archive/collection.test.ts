// Archives of a collection over a real socket: downloaded, restored as a new collection, restored in place of another,
// and only checked; with every field and status.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import JSZip from 'jszip';
import { contentsOf, download, manifestOf, upload } from '../../kit/archives.js';
import { startTestServer } from '../../kit/server.js';

const server = await startTestServer();
const { call } = server;
const other = await startTestServer({ SHEAF_STORAGE__PARTITIONS: '2' });

const SOURCE = '/v1/collections/acme/docs';

async function fill(path: string): Promise<void> {
  await call('POST', path, {
    display_name: 'Handbooks',
    chunking: { strategy: 'fixed', size: 200, overlap: 20 },
    language: 'german',
    search_mode: 'hybrid',
  });
  for (let n = 0; n < 20; n++) {
    const text = `Document ${n}. ${'Captain Nemo commands the Nautilus below the sea. '.repeat(1 + (n % 9))}`;
    await call('POST', `${path}/documents`, { docid: `D${n}`, text, metadata: { n, prio_boost: n === 3 ? 0.5 : 0 } });
  }
  await call('POST', `${path}/documents`, { docid: 'D1', text: 'Another version of the first.' });
  await call('POST', `${path}/documents`, { docid: 'Ünï/cødé “1”', text: 'Text with 😀 and äöü.' });
  await call('DELETE', `${path}/documents/D2`);
  await call('POST', `${path}/search`, { q: 'submarine captain', k: 3 });
  await call('POST', `${path}/search`, { q: 'another version', k: 2, filters: { n: { $gt: 3 } } });
}

await fill(SOURCE);
const { bytes: archive, status, headers } = await download(server, `${SOURCE}/archive`);
const original = (await contentsOf(server, 'acme', 'docs')) as Record<string, any>;

test('an archive is a zip with a manifest that vouches for each entry', async () => {
  assert.deepEqual(
    [status, headers.get('content-type'), headers.get('content-disposition')],
    [200, 'application/zip', 'attachment; filename="acme-docs.zip"'],
  );
  const manifest = await manifestOf(archive);
  assert.deepEqual(
    [manifest.format, manifest.format_version, manifest.service_version, manifest.schema_version],
    ['sheaf-collection', 1, '0.9.7', 1],
  );
  assert.deepEqual(
    [manifest.counts.documents, manifest.counts.queries, manifest.collection.display_name],
    [20, 2, 'Handbooks'],
  );
  const zip = await JSZip.loadAsync(archive, { checkCRC32: true });
  assert.deepEqual(Object.keys(zip.files).sort(), [
    'documents/00000.msgpack',
    'manifest.json',
    'queries/00000.msgpack',
  ]);
  for (const { name, bytes, sha256 } of manifest.entries) {
    const content = await (zip.file(name) as JSZip.JSZipObject).async('nodebuffer');
    assert.deepEqual([content.length, createHash('sha256').update(content).digest('hex')], [bytes, sha256]);
  }
});

test('a collection restored as a new one equals the first one, with versions, times, vectors and searches', async () => {
  const restored = await upload(server, 'POST', '/v1/collections/acme/copy/archive', archive);
  assert.deepEqual(
    [restored.status, restored.json.ok, restored.json.tenant, restored.json.collection],
    [200, true, 'acme', 'copy'],
    restored.text,
  );
  const before = original;
  const after = (await contentsOf(server, 'acme', 'copy')) as Record<string, any>;
  assert.deepEqual({ ...after, queries: 0 }, { ...before, queries: 0 });
  // The searches of a copy get new ids, since an id names one search of a server.
  const anonymous = (queries: Record<string, any>[]): unknown => queries.map(({ query_id: _, ...rest }) => rest);
  assert.deepEqual(anonymous(after.queries), anonymous(before.queries));
  assert.equal(new Set([...before.queries, ...after.queries].map(({ query_id }) => query_id)).size, 4);
  const search = { q: 'captain of a submarine', k: 8 };
  const [one, two] = await Promise.all(
    ['docs', 'copy'].map((name) => call('POST', `/v1/collections/acme/${name}/search`, search)),
  );
  const matches = (answer: typeof one): unknown =>
    answer?.json.matches.map(({ collection: _, ...match }: Record<string, unknown>) => match);
  assert.deepEqual(matches(two), matches(one));
  assert.equal((await call('POST', '/v1/collections/acme/copy/documents', { docid: 'D1', text: 'third' })).status, 201);
  assert.equal((await call('GET', '/v1/collections/acme/copy/documents/D1')).json.version, 3);
});

test('restored on a server with another number of shards, the collection is the same, and its searches keep their ids', async () => {
  const restored = await upload(other, 'POST', '/v1/collections/acme/docs/archive', archive);
  assert.equal(restored.status, 200, restored.text);
  assert.deepEqual(await contentsOf(other, 'acme', 'docs'), original);
});

test('an archive replaces a collection completely, and the query log stays', async () => {
  const path = '/v1/collections/acme/target';
  await call('POST', `${path}/documents`, { docid: 'OLD', text: 'What was there before.' });
  const { query_id: own } = (await call('POST', `${path}/search`, { q: 'before' })).json;
  const replaced = await upload(server, 'PUT', `${path}/archive`, archive);
  assert.equal(replaced.status, 200, replaced.text);
  assert.equal((await call('GET', `${path}/documents/OLD`)).status, 404);
  assert.equal((await call('GET', `${path}/detail`)).json.doc_count, 20);
  const { queries } = (await call('GET', `${path}/queries`)).json;
  assert.equal(queries.length, 3);
  assert.equal((await call('GET', `${path}/queries/${own}`)).status, 200);
  // Restored again: what came from the archive is there once.
  assert.equal((await upload(server, 'PUT', `${path}/archive`, archive)).status, 200);
  assert.equal((await call('GET', `${path}/queries`)).json.queries.length, 3);
});

test('creating rejects a name that exists, and replacing one that does not', async () => {
  const exists = await upload(server, 'POST', `${SOURCE}/archive`, archive);
  assert.deepEqual([exists.status, exists.json.code], [409, 'collection_exists']);
  const missing = await upload(server, 'PUT', '/v1/collections/acme/missing/archive', archive);
  assert.deepEqual([missing.status, missing.json.code], [404, 'collection_not_found']);
  const none = await download(server, '/v1/collections/acme/missing/archive');
  assert.equal(none.status, 404);
});

test('a dry run says what is in it, and changes nothing', async () => {
  const dry = await upload(server, 'POST', '/v1/collections/acme/dry/archive?dry_run=true', archive);
  assert.deepEqual([dry.status, dry.json.dry_run, dry.json.counts.documents], [200, true, 20], dry.text);
  assert.equal((await call('GET', '/v1/collections/acme/dry/detail')).status, 404);
  const wrong = await upload(server, 'POST', '/v1/collections/acme/dry/archive?dry_run=maybe', archive);
  assert.equal(wrong.status, 422);
});

test('a collection of vectors alone comes back, bit by bit', async () => {
  const path = '/v1/collections/acme/vectors';
  await call('POST', path, { embedder_type: 'identity', embedder_config: { dim: 3 }, precision: 'int8' });
  await call('POST', `${path}/documents`, { docid: 'p', vector: [0.1, -0.7, 3.25] });
  const first = await download(server, `${path}/archive`);
  assert.equal((await upload(server, 'POST', '/v1/collections/acme/vectors2/archive', first.bytes)).status, 200);
  const second = await download(server, '/v1/collections/acme/vectors2/archive');
  const [one, two] = [await manifestOf(first.bytes), await manifestOf(second.bytes)];
  assert.deepEqual(two.entries, one.entries);
});

test('an empty collection has an archive too', async () => {
  await call('POST', '/v1/collections/acme/empty');
  const { bytes } = await download(server, '/v1/collections/acme/empty/archive');
  assert.equal((await upload(server, 'POST', '/v1/collections/acme/empty2/archive', bytes)).status, 200);
  assert.equal((await call('GET', '/v1/collections/acme/empty2/detail')).json.doc_count, 0);
});

test('a second archive right after the first is another archive', async () => {
  const many = await Promise.all(Array.from({ length: 6 }, () => download(server, `${SOURCE}/archive`)));
  for (const { status: each, bytes } of many)
    assert.deepEqual([each, (await manifestOf(bytes)).counts.documents], [200, 20]);
});

test('an empty archive is reported as empty: no body, no byte in a chunk, a file of no bytes', async () => {
  const target = '/v1/collections/acme/none/archive';
  const type = { 'content-type': 'multipart/form-data; boundary=b' };
  const form = `--b\r\nContent-Disposition: form-data; name="file"; filename="a.zip"\r\n\r\n\r\n--b--\r\n`;
  for (const [method, path, body, code] of [
    ['POST', target, undefined, 'collection_archive_invalid'],
    ['POST', target, '', 'collection_archive_invalid'],
    ['POST', target, form, 'collection_archive_invalid'],
    ['PUT', `${SOURCE}/archive`, form, 'collection_archive_invalid'],
    ['PUT', '/v1/admin/archive', '', 'archive_invalid'],
    ['PUT', '/v1/admin/archive', form, 'archive_invalid'],
  ] as const) {
    const { status: refused, json } = await call(method, path, body, type);
    assert.deepEqual([refused, json.code, json.details.reason], [400, code, 'empty'], `${method} ${path} ${body}`);
  }
});

test('a restore without a file is refused', async () => {
  const form = new FormData();
  form.set('other', 'x');
  const { status: refused, json } = await call('POST', '/v1/collections/acme/none/archive', form);
  assert.deepEqual([refused, json.code], [400, 'missing_archive_file']);
});

test('no internal error was logged', () => assert.deepEqual([server.faults, other.faults], [[], []]));
